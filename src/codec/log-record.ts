/**
 * The records of the log (proto/log.proto) as the rest of the code sees them, one shape per body (R5.1 step 4, R5.4).
 *
 * encodeLogRecord gives the bytes of a record, decodeLogRecord reads them back: exact 64-bit numbers throughout.
 * Unknown fields are skipped; a record whose body this version does not know is `undefined`, to be passed over; all
 * that is malformed is LOG_CORRUPT.
 */
import type { ActivityId, ConversationId, MessageId, TenantId } from '../domain/ids.js';
import type { DekId, MessageRecord } from '../domain/message.js';

export { decodeLogRecord } from './log-record-decoder.js';
export { encodeLogRecord } from './log-record-encoder.js';

/** The message that an event changes. */
export interface LogTarget {
  readonly seq: bigint;
  readonly messageId: MessageId;
  /** Of the target, milliseconds since 1970: what its TTL and its writes' timestamps count from (D8, D14). */
  readonly createdAtMs: bigint;
  /** Of the target when the event was made: tells an archiver how long a row lives that it has not written yet. */
  readonly retentionClass?: number | undefined;
}

/** What every record about a conversation has. */
interface InConversation {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  /** Milliseconds since 1970 UTC of the append. */
  readonly appendedAtMs: bigint;
}

/**
 * A committed message: its whole row, sealed as it is stored. The row is new, so its state is NORMAL and it has neither
 * recall nor edit; these columns are not in the log. An absent retention_class is read back as 0, the default.
 */
export interface LogMessage extends InConversation {
  readonly kind: 'message';
  readonly record: MessageRecord;
}

/** CONTROL: a recall. */
export interface LogRecall extends InConversation {
  readonly kind: 'recall';
  /** Unsigned; see event-id.ts. */
  readonly eventId: bigint;
  /** The event's own conversation_seq. */
  readonly seq: bigint;
  readonly target: LogTarget;
  /** The recalled body's new revision. */
  readonly lastActivityId: ActivityId;
}

/** CONTROL: an edit. */
export interface LogEdit extends InConversation {
  readonly kind: 'edit';
  readonly eventId: bigint;
  readonly seq: bigint;
  readonly target: LogTarget;
  /** The edited body's new revision, and its edited_at_activity_id. */
  readonly lastActivityId: ActivityId;
  /** Sealed under dekId for the target's coordinates. */
  readonly payload: Uint8Array;
  readonly dekId: DekId | undefined;
}

/** A message's reaction summary changed: absolute counts, 0 for a key that is gone (D19). */
export interface LogReactions extends InConversation {
  readonly kind: 'reactions';
  readonly target: LogTarget;
  readonly summaryVersion: bigint;
  /** (reaction key, count) pairs; a pair list, since keys come from users (B47). */
  readonly counts: readonly (readonly [string, number])[];
  readonly updatedAtMs: bigint;
}

/** A data key was destroyed: everything under it is erased (D12). It belongs to no conversation. */
export interface LogKeyDestroyed {
  readonly kind: 'keyDestroyed';
  readonly appendedAtMs: bigint;
  readonly dekId: DekId;
}

export type LogRecord = LogMessage | LogRecall | LogEdit | LogReactions | LogKeyDestroyed;
