/**
 * Opens the stores on a keyspace that must be ready: connected, its tables there and without a TTL of their own (R2.1),
 * its W ours (D11). A process that cannot work is refused here, before it serves anything: SCHEMA_MISSING,
 * SCHEMA_MISMATCH, BUCKET_WIDTH, CONFIG_INVALID, STORE_*.
 */
import { MailjoinError } from '../domain/errors.js';
import type { Clock } from '../domain/ports.js';
import { CqlBucketReader } from './bucket-reader.js';
import { requireBucketWidth } from './bucket-width.js';
import { CqlKeyStore } from './key-store.js';
import { liveTables } from './live-schema.js';
import { CqlStore } from './message-store.js';
import { type CqlConnectOptions, quotedKeyspace } from './options.js';
import { CqlRowSampler } from './row-sampler.js';
import { type CqlSession, connectCql } from './session.js';
import { TABLES } from './tables.js';
import { CqlWriteStore } from './write-store.js';

export interface CqlOptions extends CqlConnectOptions {
  readonly keyspace: string;
  readonly clock: Clock;
}

/** The stores on one session; closing the message store closes the session. */
export interface CqlStores {
  readonly messages: CqlStore;
  readonly keys: CqlKeyStore;
  readonly writes: CqlWriteStore;
  readonly sampler: CqlRowSampler;
  readonly buckets: CqlBucketReader;
}

/** SCHEMA_MISSING, or SCHEMA_MISMATCH: a look at system_schema, once at the start. `schema verify` compares all of it. */
async function requireTables(session: CqlSession, keyspace: string): Promise<void> {
  const live = new Map((await liveTables(session, keyspace)).map((table) => [table.name, table]));
  if (live.size === 0) throw new MailjoinError('SCHEMA_MISSING', `keyspace ${keyspace}`);
  const missing = TABLES.filter((table) => !live.has(table.name)).map((table) => table.name);
  if (missing.length > 0) {
    throw new MailjoinError('SCHEMA_MISSING', `keyspace ${keyspace}, ${missing.join(', ')}`);
  }
  for (const { name, defaultTimeToLive } of TABLES) {
    const found = live.get(name)?.defaultTimeToLive;
    // S-5, R2.1: what is written without a TTL must stay, a row under a hold as much as a data key. client_dedup has a
    // TTL, whose length loses nothing that must stay.
    if (defaultTimeToLive !== 0 || found === 0) continue;
    const where = `keyspace ${keyspace}, ${name}: default_time_to_live is ${found}, not 0`;
    throw new MailjoinError('SCHEMA_MISMATCH', `${where}, so rows that must stay would expire (S-5)`);
  }
}

export async function openCqlStores(options: CqlOptions): Promise<CqlStores> {
  const { keyspace, clock } = options;
  quotedKeyspace(keyspace); // refuses a name that cannot be one, before anything is contacted
  const session = await connectCql(options);
  try {
    await requireTables(session, keyspace);
    await requireBucketWidth(session, keyspace);
  } catch (error) {
    await session.close();
    throw error;
  }
  return {
    messages: new CqlStore(session, keyspace, clock),
    keys: new CqlKeyStore(session, keyspace, clock),
    writes: new CqlWriteStore(session, keyspace),
    sampler: new CqlRowSampler(session, keyspace),
    buckets: new CqlBucketReader(session, keyspace, clock),
  };
}
