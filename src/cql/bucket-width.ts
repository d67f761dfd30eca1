/**
 * The bucket width as recorded in the keyspace (D11). A keyspace made with another W holds its rows in other
 * partitions: reading it with ours would silently find nothing, so every start checks it.
 */
import { MailjoinError } from '../domain/errors.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import { recordedMeta, recordMeta } from './meta.js';
import type { CqlSession } from './session.js';

const NAME = 'bucket_width';

/** What the keyspace says W is, as text; undefined when nothing is recorded. */
export function recordedBucketWidth(session: CqlSession, keyspace: string): Promise<string | undefined> {
  return recordedMeta(session, keyspace, NAME);
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
  requireOurs(recorded);
}

/** Records W unless one is recorded already; of two that apply the schema at once, one wins and both compare. */
export async function recordBucketWidth(session: CqlSession, keyspace: string): Promise<void> {
  const recorded = await recordedBucketWidth(session, keyspace);
  requireOurs(recorded ?? (await recordMeta(session, keyspace, NAME, String(BUCKET_WIDTH))));
}

function requireOurs(recorded: string): void {
  if (recorded === String(BUCKET_WIDTH)) return;
  throw new MailjoinError('BUCKET_WIDTH', `${recorded} is recorded, ${BUCKET_WIDTH} is configured`);
}
