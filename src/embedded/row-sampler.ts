/**
 * Samples message_record in the file: from a random tenant, conversation and bucket on, a few rows of each place, and
 * where that brings nothing new any more the rest in the file's order: a small table is sampled whole. On disk: the pages of the table by its rows, expired ones that were not swept yet included. Fails with STORE_UNAVAILABLE
 * or STORE_CORRUPT.
 */
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES, tenantIdOf } from '../domain/ids.js';
import type { Clock } from '../domain/ports.js';
import type { DiskMeasure, RowSample, RowSampler, SampledRow } from '../domain/row-sampling.js';
import type { Environment } from './environment.js';
import { readRecord, writtenAt } from './record-row.js';
import { decodeRow } from './row-codec.js';
import { seqOfKey } from './row-key.js';

const ROWS_PER_PLACE = 64;
const STALE_PLACES_MAX = 16;
const CONVERSATION_BYTES = 2 * ID_BYTES;
const KEY_BYTES = CONVERSATION_BYTES + 16;

interface StoredRow {
  readonly key: Buffer;
  readonly value: Buffer;
}

export class EmbeddedRowSampler implements RowSampler {
  readonly #environment: Environment;
  readonly #clock: Clock;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
  }

  async sampleRows(rowsMax: number, random: () => number): Promise<RowSample> {
    const nowS = Math.floor(this.#clock.epochMs() / 1000);
    const rows = new Map<string, SampledRow>();
    const take = ({ key, value }: StoredRow): void => {
      const sampled = rows.size < rowsMax ? sampledRow(key, value, nowS) : undefined;
      if (sampled !== undefined) rows.set(key.toString('latin1'), sampled);
    };
    let stale = 0;
    while (rows.size < rowsMax && stale < STALE_PLACES_MAX) {
      const before = rows.size;
      for (const row of this.#rowsSomewhere(random)) take(row);
      stale = rows.size === before ? stale + 1 : 0;
    }
    if (rows.size < rowsMax) for (const row of this.#firstRows(2 * rowsMax)) take(row);
    return { rows: [...rows.values()], disk: this.#disk() };
  }

  /** As many as bring a sample to its full size, unless expired ones lie among them. */
  #firstRows(limit: number): readonly StoredRow[] {
    return this.#environment.read(() => [...this.#environment.records.getRange({ limit })]);
  }

  #rowsSomewhere(random: () => number): readonly StoredRow[] {
    const { records } = this.#environment;
    return this.#environment.read(() => {
      const from = (start: Buffer, limit: number): StoredRow[] => [...records.getRange({ start, limit })];
      // A random key lies before some tenant's first row, nearly always; so tenant, conversation and seq are drawn in turn.
      const start = Buffer.alloc(KEY_BYTES);
      const nearest = (): Buffer | undefined => (from(start, 1)[0] ?? from(Buffer.alloc(0), 1)[0])?.key;
      fillRandom(start, 0, ID_BYTES, random);
      nearest()?.copy(start, 0, 0, ID_BYTES);
      fillRandom(start, ID_BYTES, CONVERSATION_BYTES, random);
      nearest()?.copy(start, 0, 0, CONVERSATION_BYTES);
      const [last] = records.getKeys({
        start: Buffer.concat([start.subarray(0, CONVERSATION_BYTES), Buffer.alloc(16, 0xff)]),
        limit: 1,
        reverse: true,
      });
      const lastSeq = last === undefined ? 0n : seqOfKey(last);
      const seq = (lastSeq * BigInt(Math.floor(random() * 2 ** 32))) >> 32n;
      start.writeBigUInt64BE(seq >> 12n, CONVERSATION_BYTES);
      start.writeBigUInt64BE(seq, CONVERSATION_BYTES + 8);
      return from(start, ROWS_PER_PLACE);
    });
  }

  #disk(): DiskMeasure | undefined {
    const stats: unknown = this.#environment.read(() => this.#environment.records.getStats());
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages, entryCount } = stats as Record<
      string,
      number | undefined
    >; // lmdb leaves the type open
    const pages = (treeBranchPageCount ?? 0) + (treeLeafPageCount ?? 0) + (overflowPages ?? 0);
    if (pageSize === undefined || entryCount === undefined || entryCount === 0) return undefined;
    const basis = `${pages} pages of ${pageSize} bytes by ${entryCount} rows`;
    return { bytesPerRow: (pages * pageSize) / entryCount, basis };
  }
}

function sampledRow(key: Buffer, value: Buffer, nowS: number): SampledRow | undefined {
  const row = decodeRow(value);
  const record = readRecord(seqOfKey(key), row, nowS);
  if (record === undefined) return undefined;
  const tenantId = tenantIdOf(key.subarray(0, ID_BYTES));
  if (tenantId === undefined) throw new MailjoinError('STORE_CORRUPT', 'the key of a row is cut');
  return { tenantId, record, ...writtenAt(row) };
}

function fillRandom(bytes: Buffer, from: number, to: number, random: () => number): void {
  for (let at = from; at < to; at++) bytes[at] = Math.floor(random() * 256);
}
