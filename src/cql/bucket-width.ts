/**
 * The bucket width as recorded in the keyspace (D11). A keyspace made with another W holds its rows in other
 * partitions: reading it with ours would silently find nothing, so every start checks it.
 */
import { MailjoinError } from '../domain/errors.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import { quotedKeyspace } from './options.js';
import type { CqlSession } from './session.js';
import type { CqlStatement } from './statement.js';

const NAME = 'bucket_width';

function selectWidth(keyspace: string): CqlStatement {
  const cql = `SELECT value FROM ${quotedKeyspace(keyspace)}.mailjoin_meta WHERE name = ?`;
  return { cql, table: 'mailjoin_meta', shape: 'select', access: 'read' };
}

function insertWidth(keyspace: string): CqlStatement {
  const cql = `INSERT INTO ${quotedKeyspace(keyspace)}.mailjoin_meta (name, value) VALUES (?, ?) IF NOT EXISTS`;
  return { cql, table: 'mailjoin_meta', shape: 'insert', access: 'conditional' };
}

/** What the keyspace says W is, as text; undefined when nothing is recorded. */
export async function recordedBucketWidth(
  session: CqlSession,
  keyspace: string,
): Promise<string | undefined> {
  const page = await session.execute(selectWidth(keyspace), [NAME]);
  const value = page.rows[0]?.value;
  return typeof value === 'string' ? value : undefined;
}

/** Refuses a keyspace of another width (BUCKET_WIDTH), or of none (SCHEMA_MISSING). */
export async function requireBucketWidth(session: CqlSession, keyspace: string): Promise<void> {
  const recorded = await recordedBucketWidth(session, keyspace);
  if (recorded === undefined) {
    throw new MailjoinError(
      'SCHEMA_MISSING',
      `keyspace ${keyspace} records no bucket width: apply the schema`,
    );
  }
  if (recorded !== String(BUCKET_WIDTH)) {
    throw new MailjoinError('BUCKET_WIDTH', `${recorded} is recorded, ${BUCKET_WIDTH} is configured`);
  }
}

/** Records W unless one is recorded already; of two that apply the schema at once, one wins and both compare. */
export async function recordBucketWidth(session: CqlSession, keyspace: string): Promise<void> {
  if ((await recordedBucketWidth(session, keyspace)) === undefined) {
    await session.execute(insertWidth(keyspace), [NAME, String(BUCKET_WIDTH)]);
  }
  await requireBucketWidth(session, keyspace);
}
