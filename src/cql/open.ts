/**
 * Opens the stores on a keyspace that must be ready: connected, its tables there, its W ours (D11). A process that
 * cannot work is refused here, before it serves anything: SCHEMA_MISSING, BUCKET_WIDTH, CONFIG_INVALID, STORE_*.
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

async function requireTables(session: CqlSession, keyspace: string): Promise<void> {
  const live = new Set((await liveTables(session, keyspace)).map((table) => table.name));
  if (live.size === 0) throw new MailjoinError('SCHEMA_MISSING', `keyspace ${keyspace}`);
  const missing = TABLES.filter((table) => !live.has(table.name)).map((table) => table.name);
  if (missing.length > 0) {
    throw new MailjoinError('SCHEMA_MISSING', `keyspace ${keyspace}, ${missing.join(', ')}`);
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
