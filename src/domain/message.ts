/**
 * The rows of message_record and message_reaction_summary as the rest of the code sees them (R2, D9).
 *
 * Every field is present on every object, with undefined for an absent column, so that all rows share one
 * shape. Byte fields are owned by the row and are not mutated.
 */
import type { ActivityId, ConversationId, MessageId, TenantId, UserId } from './ids.js';

/** message_record.state (D9). */
export const MessageState = { NORMAL: 0, RECALLED: 1, EDITED: 2, DELETED: 3 } as const;

/** message_record.retention_class (D9, R3.1). */
export const RetentionClass = { DEFAULT: 0, EPHEMERAL_24H: 1, COMPLIANCE_HOLD: 2, TENANT_CUSTOM: 3 } as const;

/** The highest key_version: a CQL int, and 4 signed bytes of the AAD (D10). */
export const KEY_VERSION_MAX = 2 ** 31 - 1;

export function isKeyVersion(version: number): boolean {
  return Number.isInteger(version) && version >= 1 && version <= KEY_VERSION_MAX;
}

/** Names a data key: frozen<tuple<text,text,int>> (key_scope, key_id, key_version), R1. */
export interface DekId {
  readonly scope: string;
  readonly id: string;
  readonly version: number;
}

/** A DEK id as a Map key; unambiguous whatever the texts hold. */
export function dekKey(dek: DekId): string {
  return `${dek.scope.length}:${dek.scope}${dek.id.length}:${dek.id}${dek.version}`;
}

/** Where a message lies: the primary key of message_record without its bucket, which follows from the seq. */
export interface Coordinates {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
}

/** One row of message_record beside its partition key. */
export interface MessageRecord {
  readonly seq: bigint;
  readonly messageId: MessageId;
  /** The body's revision (D14); absent only in rows of foreign writers. */
  readonly lastActivityId: ActivityId | undefined;
  readonly senderId: UserId | undefined;
  readonly senderDeviceId: UserId | undefined;
  readonly clientMessageId: string | undefined;
  readonly messageType: number | undefined;
  readonly customType: string | undefined;
  readonly schemaVersion: number | undefined;
  /** The sealed envelope (D10), or unsealed bytes where there is no dekId (D22). */
  readonly payload: Uint8Array | undefined;
  /** Protobuf of common.proto, carried as stored (R5.3). */
  readonly mediaMetadata: Uint8Array | undefined;
  readonly replyToSeq: bigint | undefined;
  /** Protobuf of common.proto, carried as stored (R5.3). */
  readonly mentionTargets: Uint8Array | undefined;
  readonly state: number;
  readonly recallEventSeq: bigint | undefined;
  readonly editedAtActivityId: ActivityId | undefined;
  /** Milliseconds since 1970 UTC (D9). */
  readonly createdAtMs: bigint;
  readonly retentionClass: number | undefined;
  readonly dekId: DekId | undefined;
  /** What remains of the row's life in seconds, the least of its columns'; undefined = no TTL. Set by reads only. */
  readonly ttlSeconds: number | undefined;
  /** Some of its columns expire and others do not: a change met a hold that was placed or lifted (D20). Set by reads only. */
  readonly lastsInPart?: true | undefined;
}

/** One row of message_reaction_summary beside its partition key: absolute counts, all above 0 (R2.4, D19). */
export interface ReactionSummary {
  readonly seq: bigint;
  /** (reaction key, count) pairs in the store's order; a pair list, since keys come from users (B47). */
  readonly counts: readonly (readonly [string, number])[];
  readonly version: bigint;
  readonly updatedAtMs: bigint | undefined;
}

/** The state that a reader must honour: a non-null recall event means RECALLED, whatever state says (D14). */
export function effectiveState(record: MessageRecord): number {
  if (record.state === MessageState.DELETED) return MessageState.DELETED;
  return record.recallEventSeq !== undefined ? MessageState.RECALLED : record.state;
}

/** Bytes of what a record carries, each of any size: payload, media, mentions. */
export function contentBytes({ payload, mediaMetadata, mentionTargets }: MessageRecord): number {
  return (payload?.length ?? 0) + (mediaMetadata?.length ?? 0) + (mentionTargets?.length ?? 0);
}
