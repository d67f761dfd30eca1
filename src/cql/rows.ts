/**
 * Rows of the driver to domain objects, and back to bound values. Bytes cross as they are: a uuid's 16 bytes are in
 * network order on both sides (B41). Nothing is copied: byte fields are views on the driver's buffers.
 */
import { types } from 'cassandra-driver';
import { activityIdOf, messageIdOf, type UserId, userIdOf } from '../domain/ids.js';
import type { Coordinates, DekId, MessageRecord, ReactionSummary } from '../domain/message.js';
import { bucketOf } from '../domain/seq.js';
import type { CqlRow, CqlValue } from './session.js';

/** The columns of RECORD_SELECTION (message-statements.ts) as the driver decodes their types. */
interface RecordRow {
  readonly conversation_seq: bigint;
  readonly message_id: Buffer | null;
  readonly last_activity_id: Buffer | null;
  readonly sender_id: types.Uuid | null;
  readonly sender_device_id: types.Uuid | null;
  readonly client_message_id: string | null;
  readonly message_type: number | null;
  readonly custom_type: string | null;
  readonly schema_version: number | null;
  readonly payload_or_ciphertext: Buffer | null;
  readonly media_metadata: Buffer | null;
  readonly reply_to_conversation_seq: bigint | null;
  readonly mention_targets: Buffer | null;
  readonly state: number | null;
  readonly recall_event_conversation_seq: bigint | null;
  readonly edited_at_activity_id: Buffer | null;
  readonly created_at: bigint | null;
  readonly retention_class: number | null;
  readonly dek_id: types.Tuple | null;
  readonly created_ttl: number | null;
  readonly payload_ttl: number | null;
  readonly state_ttl: number | null;
}

/** The columns of SUMMARY_SELECTION as the driver decodes their types. */
interface SummaryRow {
  readonly conversation_seq: bigint;
  readonly counts: ReadonlyMap<string, number | null> | null;
  readonly summary_version: bigint | null;
  readonly updated_at: bigint | null;
}

/** The seq of a row of either table; a clustering column is never null. */
export function seqOf(row: CqlRow): bigint {
  return (row as unknown as RecordRow).conversation_seq; // both selections begin with it
}

/** The 16 bytes of a uuid column. */
export function userOf(uuid: types.Uuid | null): UserId | undefined {
  return uuid === null ? undefined : userIdOf(uuid.getBuffer());
}

/** A tuple with a null member names no key: it becomes a key id that no provider knows, never "unsealed" (D22). */
function dekIdOf(tuple: types.Tuple | null): DekId | undefined {
  if (tuple === null) return undefined;
  const scope: unknown = tuple.get(0);
  const id: unknown = tuple.get(1);
  const version: unknown = tuple.get(2);
  return {
    scope: typeof scope === 'string' ? scope : '',
    id: typeof id === 'string' ? id : '',
    version: typeof version === 'number' ? version : 0,
  };
}

function leastTtl(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}

/**
 * A row of message_record, or undefined for an incomplete one, which counts as absent: columns of an expiring row
 * are gone in the second it expires (B12), and an update after expiry leaves a ghost of the rest (B15). Without its
 * state a row is incomplete too: the recall that wrote it may have expired before the content did. A message_id of
 * another length than 16 cannot be asked for by anybody and counts as absent.
 */
export function recordOf(cqlRow: CqlRow): MessageRecord | undefined {
  const row = cqlRow as unknown as RecordRow; // the selection and the schema fix the types
  if (row.message_id === null || row.created_at === null || row.state === null) return undefined;
  const messageId = messageIdOf(row.message_id);
  if (messageId === undefined) return undefined;
  return {
    seq: row.conversation_seq,
    messageId,
    lastActivityId: row.last_activity_id === null ? undefined : activityIdOf(row.last_activity_id),
    senderId: userOf(row.sender_id),
    senderDeviceId: userOf(row.sender_device_id),
    clientMessageId: row.client_message_id ?? undefined,
    messageType: row.message_type ?? undefined,
    customType: row.custom_type ?? undefined,
    schemaVersion: row.schema_version ?? undefined,
    payload: row.payload_or_ciphertext ?? undefined,
    mediaMetadata: row.media_metadata ?? undefined,
    replyToSeq: row.reply_to_conversation_seq ?? undefined,
    mentionTargets: row.mention_targets ?? undefined,
    state: row.state,
    recallEventSeq: row.recall_event_conversation_seq ?? undefined,
    editedAtActivityId:
      row.edited_at_activity_id === null ? undefined : activityIdOf(row.edited_at_activity_id),
    createdAtMs: row.created_at,
    retentionClass: row.retention_class ?? undefined,
    dekId: dekIdOf(row.dek_id),
    ttlSeconds: leastTtl(leastTtl(row.created_ttl, row.payload_ttl), row.state_ttl) ?? undefined,
    lastsInPart: lastsInPart(row) ? true : undefined,
  };
}

/** Whether some of the columns whose TTLs are read expire and others do not; an absent payload has none. */
function lastsInPart({ created_ttl, state_ttl, payload_ttl, payload_or_ciphertext }: RecordRow): boolean {
  const expires = created_ttl !== null;
  if ((state_ttl !== null) !== expires) return true;
  return payload_or_ciphertext !== null && (payload_ttl !== null) !== expires;
}

/** A row of message_reaction_summary, or undefined without a version: nothing could say what it supersedes (D19). */
export function summaryOf(cqlRow: CqlRow): ReactionSummary | undefined {
  const row = cqlRow as unknown as SummaryRow; // the selection and the schema fix the types
  if (row.summary_version === null) return undefined;
  const counts: (readonly [string, number])[] = [];
  // 0 and the empty key stand for "gone" (D19); null and negative counts come from foreign writers (B47).
  for (const [key, count] of row.counts ?? []) {
    if (key !== '' && count !== null && count > 0) counts.push([key, count]);
  }
  return {
    seq: row.conversation_seq,
    counts,
    version: row.summary_version,
    updatedAtMs: row.updated_at ?? undefined,
  };
}

/** Bytes as the driver takes them: a Buffer over the same memory. */
export function bound(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function boundOrUnset(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes === undefined ? undefined : bound(bytes);
}

/** dek_id as a bound tuple. */
export function boundDekId(dekId: DekId | undefined): types.Tuple | undefined {
  return dekId === undefined ? undefined : new types.Tuple(dekId.scope, dekId.id, dekId.version);
}

/** tenant_id, conversation_id, seq_bucket, conversation_seq: the key of a row in either table. */
export function boundKey(where: Coordinates): CqlValue[] {
  return [bound(where.tenantId), bound(where.conversationId), bucketOf(where.seq), where.seq];
}

/** The values of INSERT_COLUMNS in their order; undefined is bound as unset (D18). */
export function boundRecord(record: MessageRecord): CqlValue[] {
  return [
    bound(record.messageId),
    boundOrUnset(record.lastActivityId),
    boundOrUnset(record.senderId),
    boundOrUnset(record.senderDeviceId),
    record.clientMessageId,
    record.messageType,
    record.customType,
    record.schemaVersion,
    boundOrUnset(record.payload),
    boundOrUnset(record.mediaMetadata),
    record.replyToSeq,
    boundOrUnset(record.mentionTargets),
    record.state,
    record.recallEventSeq,
    boundOrUnset(record.editedAtActivityId),
    record.createdAtMs,
    record.retentionClass,
    boundDekId(record.dekId),
  ];
}
