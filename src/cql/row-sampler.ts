/**
 * Samples message_record on Cassandra or ScyllaDB: the rows that follow random tokens, a few of each place, so that the
 * whole ring is seen with bounded reads. Partitions behind wide gaps of the ring are met a little more often. Where that
 * brings nothing new any more, the rest follows in the ring's order: a small table is sampled whole.
 *
 * On disk: both stores keep `system.size_estimates`, the mean size of a partition as the answering node has it, written
 * every few minutes from flushed data, before compression. Divided by the rows of the partitions that were sampled.
 */
import type { types } from 'cassandra-driver';
import { MailjoinError } from '../domain/errors.js';
import { idKeyAt, tenantIdOf } from '../domain/ids.js';
import type { DiskMeasure, RowSample, RowSampler, SampledRow } from '../domain/row-sampling.js';
import { RECORD_SELECTION } from './message-statements.js';
import { quotedKeyspace } from './options.js';
import { recordOf } from './rows.js';
import { type CqlRow, type CqlSession, type CqlValue, eachRow } from './session.js';
import type { CqlStatement } from './statement.js';

const TABLE = 'message_record';
const PARTITION_COLUMNS = 'tenant_id, conversation_id, seq_bucket';
const TOKEN = `token(${PARTITION_COLUMNS})`;
/** Rows read behind one token: few, so that one large partition does not stand for all. */
const ROWS_PER_PLACE = 64;
/** Places in a row that bring nothing new before the rest is read in order. */
const STALE_PLACES_MAX = 16;
/** Partitions whose rows are counted. */
const COUNTED_PARTITIONS_MAX = 64;
const TOKEN_MIN = -(2n ** 63n);

interface Estimate {
  readonly mean_partition_size: bigint | null;
  readonly partitions_count: bigint | null;
}

/** What a sample selects beside RECORD_SELECTION, as the driver decodes the types. */
interface PlaceRow {
  readonly tenant_id: types.Uuid;
  readonly conversation_id: types.Uuid;
  readonly seq_bucket: bigint;
  readonly created_written: bigint | null;
  readonly payload_written: bigint | null;
  readonly state_written: bigint | null;
}

export class CqlRowSampler implements RowSampler {
  readonly #session: CqlSession;
  readonly #keyspace: string;
  readonly #from: CqlStatement;
  readonly #all: CqlStatement;
  readonly #count: CqlStatement;

  constructor(session: CqlSession, keyspace: string) {
    const table = `${quotedKeyspace(keyspace)}.${TABLE}`;
    const select = (cql: string): CqlStatement => ({ cql, table: TABLE, shape: 'select', access: 'read' });
    this.#session = session;
    this.#keyspace = keyspace;
    const columns = `${PARTITION_COLUMNS}, ${RECORD_SELECTION}, WRITETIME(created_at) AS created_written, WRITETIME(payload_or_ciphertext) AS payload_written, WRITETIME(state) AS state_written`;
    this.#all = select(`SELECT ${columns} FROM ${table}`);
    this.#from = select(`SELECT ${columns} FROM ${table} WHERE ${TOKEN} >= ? LIMIT ${ROWS_PER_PLACE}`);
    this.#count = select(
      `SELECT COUNT(*) AS row_count FROM ${table} WHERE tenant_id = ? AND conversation_id = ? AND seq_bucket = ?`,
    );
  }

  async sampleRows(rowsMax: number, random: () => number): Promise<RowSample> {
    const rows = new Map<string, SampledRow>();
    const partitions = new Map<string, readonly CqlValue[]>();
    let stale = 0;
    const take = (row: CqlRow): void => {
      const [key, partition, sampled] = placed(row);
      if (partitions.size < COUNTED_PARTITIONS_MAX) partitions.set(key, partition);
      if (sampled !== undefined) rows.set(`${key} ${sampled.record.seq}`, sampled);
    };
    while (rows.size < rowsMax && stale < STALE_PLACES_MAX) {
      const before = rows.size;
      for (const row of await this.#rowsBehind(randomToken(random))) if (rows.size < rowsMax) take(row);
      stale = rows.size === before ? stale + 1 : 0;
    }
    if (rows.size < rowsMax) {
      // As many as bring the sample to its full size, unless incomplete ones lie among them.
      let left = 2 * rowsMax;
      for await (const row of eachRow(this.#session, this.#all, [])) {
        take(row);
        if (rows.size === rowsMax || --left === 0) break;
      }
    }
    return { rows: [...rows.values()], disk: await this.#disk([...partitions.values()]) };
  }

  /** The ring goes on at its beginning. */
  async #rowsBehind(token: bigint): Promise<readonly CqlRow[]> {
    const { rows } = await this.#session.execute(this.#from, [token]);
    if (rows.length > 0) return rows;
    return (await this.#session.execute(this.#from, [TOKEN_MIN])).rows;
  }

  async #disk(partitions: readonly (readonly CqlValue[])[]): Promise<DiskMeasure | undefined> {
    const partitionBytes = await this.#meanPartitionBytes();
    let rows = 0;
    for (const partition of partitions) {
      const [counted] = (await this.#session.execute(this.#count, partition)).rows;
      rows += Number(counted?.row_count ?? 0);
    }
    if (partitionBytes === undefined || rows === 0) return undefined;
    const bytesPerRow = partitionBytes / (rows / partitions.length);
    const basis = `the server’s estimate of a partition, before compression, by ${(rows / partitions.length).toFixed(1)} rows of one`;
    return { bytesPerRow, basis };
  }

  async #meanPartitionBytes(): Promise<number | undefined> {
    const estimates: CqlStatement = {
      cql: 'SELECT mean_partition_size, partitions_count FROM system.size_estimates WHERE keyspace_name = ? AND table_name = ?',
      table: 'system.size_estimates',
      shape: 'select',
      access: 'read',
    };
    let bytes = 0;
    let partitions = 0;
    for await (const row of eachRow(this.#session, estimates, [this.#keyspace, TABLE])) {
      const { mean_partition_size: mean, partitions_count: count } = row as unknown as Estimate; // as selected
      bytes += Number(mean ?? 0n) * Number(count ?? 0n);
      partitions += Number(count ?? 0n);
    }
    return partitions === 0 || bytes === 0 ? undefined : bytes / partitions;
  }
}

/** Uniform over the ring as far as a double is; Murmur3's tokens are 64 signed bits. */
function randomToken(random: () => number): bigint {
  const high = BigInt(Math.floor(random() * 2 ** 32));
  const low = BigInt(Math.floor(random() * 2 ** 32));
  return BigInt.asIntN(64, (high << 32n) | low);
}

/** The partition's key as text and as values, and the row when it is whole. */
function placed(cqlRow: CqlRow): [string, readonly CqlValue[], SampledRow | undefined] {
  const row = cqlRow as unknown as PlaceRow; // the statement and the schema fix the types
  const [tenant, conversation] = [row.tenant_id.getBuffer(), row.conversation_id.getBuffer()];
  const tenantId = tenantIdOf(tenant);
  if (tenantId === undefined) throw new MailjoinError('STORE_CORRUPT', 'an id is not 16 bytes long');
  const key = `${idKeyAt(tenant, 0)}${idKeyAt(conversation, 0)}${row.seq_bucket}`;
  const record = recordOf(cqlRow);
  const insertedAtMicros = row.created_written;
  if (record === undefined || insertedAtMicros === null) {
    return [key, [tenant, conversation, row.seq_bucket], undefined];
  }
  let changedAtMicros = insertedAtMicros;
  for (const written of [row.payload_written, row.state_written]) {
    if (written !== null && written > changedAtMicros) changedAtMicros = written;
  }
  return [
    key,
    [tenant, conversation, row.seq_bucket],
    { tenantId, record, insertedAtMicros, changedAtMicros },
  ];
}
