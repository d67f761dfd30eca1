/**
 * What every change of a stored row shares (D8, D14): the checks on the row that it names, the life of its update, and
 * when a change counts as shown.
 *
 * Nobody locks a row. A change is written with a revision strictly above the one that was read, then the row is read
 * back. If somebody changed it meanwhile so that the change is not shown, or was given the wrong life (a hold placed or
 * lifted in between), it is written again above what is there now. Whoever writes last reads a row with all changes in
 * it, so this ends with every change shown.
 */
import { MailjoinError } from '../domain/errors.js';
import { equalIdAt, type MessageId } from '../domain/ids.js';
import {
  type Coordinates,
  effectiveState,
  type MessageRecord,
  MessageState,
  RetentionClass,
} from '../domain/message.js';
import type { Clock, WriteLife } from '../domain/ports.js';
import type { WriteStore } from '../domain/write-ports.js';

/** The message that an operation is about; it names both so that a wrong seq is found out. */
export interface MessageTarget extends Coordinates {
  readonly messageId: MessageId;
}

/** A row, and when it was asked for: its ttlSeconds counts from there. */
export interface ReadRow {
  readonly record: MessageRecord;
  readonly readAtMs: number;
}

/** The row of a target. MESSAGE_NOT_FOUND when absent, expired or deleted, MESSAGE_MISMATCH for another message. */
export async function readTarget(
  writes: Pick<WriteStore, 'readRecord'>,
  clock: Pick<Clock, 'nowMs'>,
  target: MessageTarget,
): Promise<ReadRow> {
  const row = await readRow(writes, clock, target);
  if (row === undefined || effectiveState(row.record) === MessageState.DELETED) {
    throw new MailjoinError('MESSAGE_NOT_FOUND');
  }
  if (!equalIdAt(row.record.messageId, 0, target.messageId, 0)) throw new MailjoinError('MESSAGE_MISMATCH');
  return row;
}

export async function readRow(
  writes: Pick<WriteStore, 'readRecord'>,
  clock: Pick<Clock, 'nowMs'>,
  where: Coordinates,
): Promise<ReadRow | undefined> {
  const readAtMs = clock.nowMs();
  const record = await writes.readRecord(where);
  return record && { record, readAtMs };
}

/**
 * The TTL of an update: what remains of the row's own, rounded down, so that no updated column outlives the row (D8).
 * The row's, not the policy's: a policy that was lengthened since would leave columns without a row.
 */
export function updateTtl(
  { record, readAtMs }: ReadRow,
  clock: Pick<Clock, 'nowMs'>,
): number | undefined | 'expired' {
  // Of a held row a TTL is only what a change that had read it before the hold has left on its columns (D20).
  if (record.ttlSeconds === undefined || record.retentionClass === RetentionClass.COMPLIANCE_HOLD) {
    return undefined;
  }
  const remainingSeconds = record.ttlSeconds - Math.ceil((clock.nowMs() - readAtMs) / 1000);
  return remainingSeconds < 1 ? 'expired' : remainingSeconds;
}

/** updateTtl as a whole WriteLife. */
export function updateLife(
  row: ReadRow,
  clock: Pick<Clock, 'nowMs'>,
  timestampMicros: bigint,
): WriteLife | 'expired' {
  const ttlSeconds = updateTtl(row, clock);
  return ttlSeconds === 'expired' ? 'expired' : { ttlSeconds, timestampMicros };
}

/** True when a hold was neither placed nor lifted between two readings: what was written between had the right life. */
export function hasSameLife(before: MessageRecord, after: MessageRecord): boolean {
  return before.retentionClass === after.retentionClass;
}

/** A hold with columns that expire: a change met the hold, and its writer ended before it wrote it again (D20). */
export function isHeldInPart(record: MessageRecord): boolean {
  return record.retentionClass === RetentionClass.COMPLIANCE_HOLD && record.ttlSeconds !== undefined;
}

/** No hold, and yet columns that do not expire: a change met the hold's lifting, and its writer ended before it read that. */
export function isLiftedInPart(record: MessageRecord): boolean {
  return record.retentionClass !== RetentionClass.COMPLIANCE_HOLD && record.lastsInPart === true;
}

export function contended(): MailjoinError {
  return new MailjoinError('STORE_UNAVAILABLE', 'others keep changing the same row');
}
