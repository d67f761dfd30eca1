/**
 * What one message of the demo is: what is written to the store, in which order, and what a join must answer for it.
 */
import type { MessageBody } from '../client/index.js';
import type { ResultName } from '../client/join-result.js';
import type { ActivityId, ConversationId, TenantId } from '../domain/ids.js';
import type { Coordinates, DekId, MessageRecord, ReactionSummary } from '../domain/message.js';

/** Plaintext, and how it is sealed before it is written. */
export interface DemoContent {
  readonly plaintext: Uint8Array;
  /** Undefined: it is written as it is (TAMPERED, D22). */
  readonly dekId: DekId | undefined;
  /** The seq it is sealed for; another than the row's own is a ciphertext that was moved (TAMPERED, R6.1). */
  readonly sealSeq: bigint;
}

export interface DemoEdit {
  readonly content: DemoContent;
  readonly activityId: ActivityId;
  readonly timestampMicros: bigint;
}

export interface DemoRecall {
  readonly recallEventSeq: bigint;
  readonly activityId: ActivityId;
  readonly timestampMicros: bigint;
}

/** What a join must answer for an entry. */
export interface DemoExpectation {
  readonly result: ResultName;
  /** Only with INVALID. */
  readonly invalidReason?: string;
  /** Only with OK and RECALLED: the body, field by field. */
  readonly body?: MessageBody;
  /** Only with INLINE: the caller's own bytes. */
  readonly inlineBody?: Uint8Array;
}

export interface DemoMessage {
  readonly where: Coordinates;
  /** The row as first written, without its payload. */
  readonly record: MessageRecord;
  readonly content: DemoContent;
  /** What remains of its life; undefined = no TTL. */
  readonly ttlSeconds: number | undefined;
  readonly edit: DemoEdit | undefined;
  readonly recall: DemoRecall | undefined;
  /** In the order in which they are written, which need not be the order of their versions. */
  readonly summaries: readonly ReactionSummary[];
  readonly expected: DemoExpectation;
}

export interface DemoConversation {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly kind: 'group' | 'direct';
  /** By ascending seq. */
  readonly messages: readonly DemoMessage[];
  /** Its data keys, versions ascending. */
  readonly dekIds: readonly DekId[];
}

/** The body that a message without recall or deletion has, with its newest content. */
export function bodyOf(
  record: MessageRecord,
  conversationId: ConversationId,
  content: DemoContent,
  edit: DemoEdit | undefined,
  reactions: MessageBody['reactions'],
): MessageBody {
  return {
    messageId: record.messageId,
    conversationId,
    conversationSeq: record.seq,
    lastActivityId: edit?.activityId ?? record.lastActivityId,
    senderId: record.senderId,
    senderDeviceId: record.senderDeviceId,
    clientMessageId: record.clientMessageId,
    messageType: record.messageType,
    customType: record.customType,
    schemaVersion: record.schemaVersion,
    state: edit === undefined ? 0 : 2,
    recallEventConversationSeq: undefined,
    editedAtActivityId: edit?.activityId,
    createdAtMs: record.createdAtMs,
    replyToConversationSeq: record.replyToSeq,
    mediaMetadata: record.mediaMetadata,
    mentionTargets: record.mentionTargets,
    payload: edit?.content.plaintext ?? content.plaintext,
    reactions,
  };
}

/** The body once it is recalled: no payload, media_metadata or mention_targets (D12). */
export function recalledBody(body: MessageBody, recall: DemoRecall): MessageBody {
  return {
    ...body,
    lastActivityId: recall.activityId,
    state: 1,
    recallEventConversationSeq: recall.recallEventSeq,
    mediaMetadata: undefined,
    mentionTargets: undefined,
    payload: undefined,
  };
}

/** The reactions that remain when all of these summaries were written, in whatever order (D19). */
export function reactionsOf(summaries: readonly ReactionSummary[]): MessageBody['reactions'] {
  const byVersion = [...summaries].sort((a, b) => Number(a.version - b.version));
  const newest = byVersion.at(-1);
  if (newest === undefined) return undefined;
  const counts = new Map<string, number>();
  for (const { counts: written } of byVersion) for (const [key, count] of written) counts.set(key, count);
  for (const [key, count] of counts) if (count === 0) counts.delete(key);
  return { counts, summaryVersion: newest.version, updatedAtMs: newest.updatedAtMs };
}
