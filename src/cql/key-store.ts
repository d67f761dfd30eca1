/**
 * Wrapped DEKs beside the messages (domain KeyStore). One partition per (key_scope, key_id), one row per version.
 *
 * Inserts and destructions are conditional, both, so that two creators never overwrite each other's key and no plain
 * write from a clock that is ahead can shadow a conditional one (D2 tells how that looks). A destroyed key's row
 * stays as the marker (D12); its wrapped bytes are overwritten by none rather than deleted (R3.2). What an SSTable
 * still holds of them goes with its next compaction.
 *
 * mailjoin_dek_destroyed lists destructions by the UTC day of their recording, for `destroyedSince`. The row is
 * changed first, the list second: a crash between them leaves a destruction that was not acknowledged, and its
 * repetition lists it.
 *
 * The KEK's check value stands in mailjoin_meta, in hexadecimal.
 *
 * Fails with STORE_UNAVAILABLE or STORE_REFUSED. Retries nothing.
 */
import { strict as assert } from 'node:assert';
import { type DekId, dekKey } from '../domain/message.js';
import type { Clock, KeyStore, StoredKey } from '../domain/ports.js';
import { applied } from './conditional.js';
import { recordedMeta, recordMeta } from './meta.js';
import { quotedKeyspace } from './options.js';
import { bound } from './rows.js';
import { type CqlRow, type CqlSession, eachRow } from './session.js';
import type { CqlStatement, StatementShape } from './statement.js';

const DAY_MS = 86_400_000;
/** Days read one by one; a caller that asks for more has all of the list read at once. */
const DAYS_MAX = 32;
const NO_BYTES = Buffer.alloc(0);
const KEK_CHECK_VALUE = 'kek_check_value';
const KEY = 'mailjoin_dek';
const DESTROYED = 'mailjoin_dek_destroyed';
const KEY_COLUMNS = 'key_scope, key_id, key_version, wrapped, created_at, destroyed_at';
const DESTROYED_COLUMNS = 'recorded_at, key_scope, key_id, key_version';

interface KeyRow {
  readonly key_scope: string;
  readonly key_id: string;
  readonly key_version: number;
  readonly wrapped: Buffer | null;
  readonly created_at: bigint | null;
  readonly destroyed_at: bigint | null;
}

interface DestroyedRow {
  readonly recorded_at: bigint;
  readonly key_scope: string;
  readonly key_id: string;
  readonly key_version: number;
}

function storedKeyOf(cqlRow: CqlRow): StoredKey {
  const row = cqlRow as unknown as KeyRow; // KEY_COLUMNS and the schema fix the types
  const destroyed = row.destroyed_at !== null;
  return {
    dekId: { scope: row.key_scope, id: row.key_id, version: row.key_version },
    wrapped: destroyed || row.wrapped === null ? undefined : row.wrapped,
    createdAtEpochMs: Number(row.created_at ?? 0n),
    destroyedAtEpochMs: destroyed ? Number(row.destroyed_at) : undefined,
  };
}

function dayOf(epochMs: number): number {
  return Math.floor(epochMs / DAY_MS);
}

/** A time as a bigint column holds it; clocks may give fractions of a millisecond. */
function wholeMs(epochMs: number): bigint {
  return BigInt(Math.floor(epochMs));
}

/** Ids of one (key_scope, key_id) together, since they are one partition and one read. */
function byPartition(ids: readonly DekId[]): readonly DekId[][] {
  const groups = new Map<string, DekId[]>();
  for (const id of ids) {
    const partition = dekKey({ ...id, version: 0 });
    const group = groups.get(partition);
    if (group === undefined) groups.set(partition, [id]);
    else group.push(id);
  }
  return [...groups.values()];
}

function statementsOf(keyspaceName: string) {
  const keyspace = quotedKeyspace(keyspaceName);
  const statement = (
    cql: string,
    table: string,
    shape: StatementShape,
    access: CqlStatement['access'],
  ): CqlStatement => ({ cql, table, shape, access });
  const one = 'key_scope = ? AND key_id = ? AND key_version = ?';
  return {
    versions: statement(
      `SELECT ${KEY_COLUMNS} FROM ${keyspace}.${KEY} WHERE key_scope = ? AND key_id = ? AND key_version IN ?`,
      KEY,
      'in',
      'read',
    ),
    ofId: statement(
      `SELECT ${KEY_COLUMNS} FROM ${keyspace}.${KEY} WHERE key_scope = ? AND key_id = ?`,
      KEY,
      'select',
      'read',
    ),
    all: statement(`SELECT ${KEY_COLUMNS} FROM ${keyspace}.${KEY}`, KEY, 'select', 'read'),
    insert: statement(
      `INSERT INTO ${keyspace}.${KEY} (key_scope, key_id, key_version, wrapped, created_at) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS`,
      KEY,
      'insert',
      'conditional',
    ),
    // created_at is in every row that was ever inserted: the condition keeps a ghost row from being made.
    destroy: statement(
      `UPDATE ${keyspace}.${KEY} SET wrapped = ?, destroyed_at = ? WHERE ${one} IF created_at != null AND destroyed_at = null`,
      KEY,
      'update',
      'conditional',
    ),
    record: statement(
      `INSERT INTO ${keyspace}.${DESTROYED} (day, recorded_at, key_scope, key_id, key_version) VALUES (?, ?, ?, ?, ?)`,
      DESTROYED,
      'insert',
      'write',
    ),
    destroyedOnDay: statement(
      `SELECT ${DESTROYED_COLUMNS} FROM ${keyspace}.${DESTROYED} WHERE day = ? AND recorded_at >= ?`,
      DESTROYED,
      'select',
      'read',
    ),
    allDestroyed: statement(
      `SELECT ${DESTROYED_COLUMNS} FROM ${keyspace}.${DESTROYED}`,
      DESTROYED,
      'select',
      'read',
    ),
  };
}

export class CqlKeyStore implements KeyStore {
  readonly #session: CqlSession;
  readonly #keyspace: string;
  readonly #clock: Clock;
  readonly #statements: ReturnType<typeof statementsOf>;

  /** The session belongs to the caller and is not closed here. */
  constructor(session: CqlSession, keyspace: string, clock: Clock) {
    this.#session = session;
    this.#keyspace = keyspace;
    this.#clock = clock;
    this.#statements = statementsOf(keyspace);
  }

  async fetch(ids: readonly DekId[]): Promise<readonly (StoredKey | undefined)[]> {
    const found = new Map<string, StoredKey>();
    const reads = byPartition(ids).map(async (group) => {
      const first = group[0] as DekId; // a group has at least the id that made it
      const versions = [...new Set(group.map((id) => id.version))];
      for await (const row of eachRow(this.#session, this.#statements.versions, [
        first.scope,
        first.id,
        versions,
      ])) {
        const key = storedKeyOf(row);
        found.set(dekKey(key.dekId), key);
      }
    });
    await Promise.all(reads);
    return ids.map((id) => found.get(dekKey(id)));
  }

  async insert(key: StoredKey): Promise<boolean> {
    const { dekId, wrapped, createdAtEpochMs } = key;
    assert(wrapped !== undefined && key.destroyedAtEpochMs === undefined, 'a destroyed key is not inserted');
    const page = await this.#session.execute(this.#statements.insert, [
      dekId.scope,
      dekId.id,
      dekId.version,
      bound(wrapped),
      wholeMs(createdAtEpochMs),
    ]);
    return applied(page.rows);
  }

  async destroy(dekId: DekId, epochMs: number): Promise<boolean> {
    const page = await this.#session.execute(this.#statements.destroy, [
      NO_BYTES,
      wholeMs(epochMs),
      dekId.scope,
      dekId.id,
      dekId.version,
    ]);
    // Not applied: either there is no such key, or an earlier call destroyed it; then it is listed once more.
    if (!applied(page.rows) && (await this.fetch([dekId]))[0] === undefined) return false;
    await this.#session.execute(this.#statements.record, [
      dayOf(epochMs),
      wholeMs(epochMs),
      dekId.scope,
      dekId.id,
      dekId.version,
    ]);
    return true;
  }

  async *list(scope?: string, id?: string): AsyncIterable<StoredKey> {
    const rows =
      scope !== undefined && id !== undefined
        ? eachRow(this.#session, this.#statements.ofId, [scope, id])
        : eachRow(this.#session, this.#statements.all, []);
    for await (const row of rows) {
      const key = storedKeyOf(row);
      if ((scope ?? key.dekId.scope) === key.dekId.scope && (id ?? key.dekId.id) === key.dekId.id) yield key;
    }
  }

  async destroyedSince(epochMs: number): Promise<readonly DekId[]> {
    const first = dayOf(epochMs);
    // One day on, for recorders whose clock is ahead; the day asked for is read in any case.
    const last = Math.max(first, dayOf(this.#clock.epochMs())) + 1;
    if (last - first > DAYS_MAX) return this.#listed(this.#statements.allDestroyed, [], epochMs);
    const days = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const lists = await Promise.all(
      days.map((day) => this.#listed(this.#statements.destroyedOnDay, [day, wholeMs(epochMs)], epochMs)),
    );
    return lists.flat();
  }

  async kekCheckValue(): Promise<Uint8Array | undefined> {
    const recorded = await recordedMeta(this.#session, this.#keyspace, KEK_CHECK_VALUE);
    return recorded === undefined ? undefined : Buffer.from(recorded, 'hex');
  }

  async recordKekCheckValue(value: Uint8Array): Promise<Uint8Array> {
    const hex = Buffer.from(value).toString('hex');
    return Buffer.from(await recordMeta(this.#session, this.#keyspace, KEK_CHECK_VALUE, hex), 'hex');
  }

  async #listed(
    statement: CqlStatement,
    values: readonly (number | bigint)[],
    sinceEpochMs: number,
  ): Promise<DekId[]> {
    const ids: DekId[] = [];
    for await (const cqlRow of eachRow(this.#session, statement, values)) {
      const row = cqlRow as unknown as DestroyedRow; // DESTROYED_COLUMNS and the schema fix the types
      if (row.recorded_at < wholeMs(sinceEpochMs)) continue;
      ids.push({ scope: row.key_scope, id: row.key_id, version: row.key_version });
    }
    return ids;
  }
}
