/**
 * A message's body as the contract has it (proto: MessageBody), in two blocks that concatenate to one message:
 *
 *     block A: every field but the reaction summary; the payload is its last field
 *     block B: the reaction summary, one submessage; no bytes at all where the row has none
 *
 * Sizes are known before the payload is opened, so the caller reserves exactly that much and the fields are written
 * once, in place. `withContent` is false for RECALLED bodies (D12): no payload, media_metadata or mention_targets.
 * Text of unpaired surrogates is written as U+FFFD, like every UTF-8 encoder does.
 */
import type { ConversationId } from '../domain/ids.js';
import { effectiveState, type MessageRecord, type ReactionSummary } from '../domain/message.js';
import { tagOf, varint64Bytes, varintBytes, WireType, writeVarint, writeVarintBig } from './wire.js';

const { VARINT, BYTES } = WireType;
const TAG = {
  MESSAGE_ID: tagOf(1, BYTES),
  CONVERSATION_ID: tagOf(2, BYTES),
  CONVERSATION_SEQ: tagOf(3, VARINT),
  LAST_ACTIVITY_ID: tagOf(4, BYTES),
  SENDER_ID: tagOf(5, BYTES),
  SENDER_DEVICE_ID: tagOf(6, BYTES),
  CLIENT_MESSAGE_ID: tagOf(7, BYTES),
  MESSAGE_TYPE: tagOf(8, VARINT),
  CUSTOM_TYPE: tagOf(9, BYTES),
  SCHEMA_VERSION: tagOf(10, VARINT),
  STATE: tagOf(11, VARINT),
  RECALL_EVENT_SEQ: tagOf(12, VARINT),
  EDITED_AT_ACTIVITY_ID: tagOf(13, BYTES),
  CREATED_AT: tagOf(14, VARINT),
  REPLY_TO_SEQ: tagOf(15, VARINT),
  MEDIA_METADATA: tagOf(16, BYTES),
  MENTION_TARGETS: tagOf(17, BYTES),
  PAYLOAD: tagOf(18, BYTES),
  REACTIONS: tagOf(19, BYTES),
} as const;
const SUMMARY_TAG = {
  COUNTS: tagOf(1, BYTES),
  VERSION: tagOf(2, VARINT),
  UPDATED_AT: tagOf(3, VARINT),
} as const;
const COUNT_TAG = { KEY: tagOf(1, BYTES), VALUE: tagOf(2, VARINT) } as const;

/** Bytes of block A when the opened payload has `payloadBytes` bytes; −1 = no payload field. */
export function blockABytes(record: MessageRecord, withContent: boolean, payloadBytes: number): number {
  let bytes = bytesField(TAG.MESSAGE_ID, record.messageId.length) + bytesField(TAG.CONVERSATION_ID, 16);
  bytes += bigField(TAG.CONVERSATION_SEQ, record.seq);
  if (record.lastActivityId !== undefined)
    bytes += bytesField(TAG.LAST_ACTIVITY_ID, record.lastActivityId.length);
  if (record.senderId !== undefined) bytes += bytesField(TAG.SENDER_ID, record.senderId.length);
  if (record.senderDeviceId !== undefined)
    bytes += bytesField(TAG.SENDER_DEVICE_ID, record.senderDeviceId.length);
  if (record.clientMessageId !== undefined) {
    bytes += bytesField(TAG.CLIENT_MESSAGE_ID, textBytes(record.clientMessageId));
  }
  if (record.messageType !== undefined) bytes += intField(TAG.MESSAGE_TYPE, record.messageType);
  if (record.customType !== undefined) bytes += bytesField(TAG.CUSTOM_TYPE, textBytes(record.customType));
  if (record.schemaVersion !== undefined) bytes += intField(TAG.SCHEMA_VERSION, record.schemaVersion);
  bytes += intField(TAG.STATE, effectiveState(record));
  if (record.recallEventSeq !== undefined) bytes += bigField(TAG.RECALL_EVENT_SEQ, record.recallEventSeq);
  if (record.editedAtActivityId !== undefined) {
    bytes += bytesField(TAG.EDITED_AT_ACTIVITY_ID, record.editedAtActivityId.length);
  }
  bytes += bigField(TAG.CREATED_AT, record.createdAtMs);
  if (record.replyToSeq !== undefined) bytes += bigField(TAG.REPLY_TO_SEQ, record.replyToSeq);
  if (!withContent) return bytes;
  if (record.mediaMetadata !== undefined)
    bytes += bytesField(TAG.MEDIA_METADATA, record.mediaMetadata.length);
  if (record.mentionTargets !== undefined)
    bytes += bytesField(TAG.MENTION_TARGETS, record.mentionTargets.length);
  return payloadBytes < 0 ? bytes : bytes + bytesField(TAG.PAYLOAD, payloadBytes);
}

/**
 * Writes block A at `at`, up to and including the payload's length; returns the offset where its `payloadBytes` bytes
 * belong (the end of block A when there is no payload).
 */
export function writeBlockA(
  target: Uint8Array,
  at: number,
  conversationId: ConversationId,
  record: MessageRecord,
  withContent: boolean,
  payloadBytes: number,
): number {
  let next = putBytes(target, at, TAG.MESSAGE_ID, record.messageId);
  next = putBytes(target, next, TAG.CONVERSATION_ID, conversationId);
  next = putBig(target, next, TAG.CONVERSATION_SEQ, record.seq);
  next = putBytes(target, next, TAG.LAST_ACTIVITY_ID, record.lastActivityId);
  next = putBytes(target, next, TAG.SENDER_ID, record.senderId);
  next = putBytes(target, next, TAG.SENDER_DEVICE_ID, record.senderDeviceId);
  next = putText(target, next, TAG.CLIENT_MESSAGE_ID, record.clientMessageId);
  next = putInt(target, next, TAG.MESSAGE_TYPE, record.messageType);
  next = putText(target, next, TAG.CUSTOM_TYPE, record.customType);
  next = putInt(target, next, TAG.SCHEMA_VERSION, record.schemaVersion);
  next = putInt(target, next, TAG.STATE, effectiveState(record));
  next = putBig(target, next, TAG.RECALL_EVENT_SEQ, record.recallEventSeq);
  next = putBytes(target, next, TAG.EDITED_AT_ACTIVITY_ID, record.editedAtActivityId);
  next = putBig(target, next, TAG.CREATED_AT, record.createdAtMs);
  next = putBig(target, next, TAG.REPLY_TO_SEQ, record.replyToSeq);
  if (!withContent) return next;
  next = putBytes(target, next, TAG.MEDIA_METADATA, record.mediaMetadata);
  next = putBytes(target, next, TAG.MENTION_TARGETS, record.mentionTargets);
  return payloadBytes < 0 ? next : writeVarint(target, writeVarint(target, next, TAG.PAYLOAD), payloadBytes);
}

/** Bytes of block B; 0 for an absent summary. One whose counts are all gone still carries its version. */
export function blockBBytes(summary: ReactionSummary | undefined): number {
  return summary === undefined ? 0 : bytesField(TAG.REACTIONS, summaryBytes(summary));
}

/** Writes block B at `at`; returns the offset behind it. */
export function writeBlockB(target: Uint8Array, at: number, summary: ReactionSummary | undefined): number {
  if (summary === undefined) return at;
  let next = writeVarint(target, writeVarint(target, at, TAG.REACTIONS), summaryBytes(summary));
  for (const [key, count] of summary.counts) {
    next = writeVarint(target, next, SUMMARY_TAG.COUNTS);
    next = writeVarint(target, next, countBytes(key, count));
    next = putText(target, next, COUNT_TAG.KEY, key);
    next = putInt(target, next, COUNT_TAG.VALUE, count);
  }
  next = putBig(target, next, SUMMARY_TAG.VERSION, summary.version);
  return putBig(target, next, SUMMARY_TAG.UPDATED_AT, summary.updatedAtMs);
}

function summaryBytes(summary: ReactionSummary): number {
  let bytes = bigField(SUMMARY_TAG.VERSION, summary.version);
  if (summary.updatedAtMs !== undefined) bytes += bigField(SUMMARY_TAG.UPDATED_AT, summary.updatedAtMs);
  for (const [key, count] of summary.counts) bytes += bytesField(SUMMARY_TAG.COUNTS, countBytes(key, count));
  return bytes;
}

function countBytes(key: string, count: number): number {
  return bytesField(COUNT_TAG.KEY, textBytes(key)) + intField(COUNT_TAG.VALUE, count);
}

function bytesField(tag: number, length: number): number {
  return varintBytes(tag) + varintBytes(length) + length;
}

function bigField(tag: number, value: bigint): number {
  return varintBytes(tag) + varint64Bytes(value);
}

/** An int32: negative values take ten bytes, as protobuf sign-extends them. */
function intField(tag: number, value: number): number {
  return varintBytes(tag) + (value < 0 ? 10 : varintBytes(value));
}

function textBytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

function putBytes(target: Uint8Array, at: number, tag: number, bytes: Uint8Array | undefined): number {
  if (bytes === undefined) return at;
  const next = writeVarint(target, writeVarint(target, at, tag), bytes.length);
  target.set(bytes, next);
  return next + bytes.length;
}

function putText(target: Uint8Array, at: number, tag: number, text: string | undefined): number {
  if (text === undefined) return at;
  const length = textBytes(text);
  const next = writeVarint(target, writeVarint(target, at, tag), length);
  if (length === text.length) {
    for (let index = 0; index < length; index++) target[next + index] = text.charCodeAt(index);
  } else target.set(Buffer.from(text, 'utf8'), next);
  return next + length;
}

function putBig(target: Uint8Array, at: number, tag: number, value: bigint | undefined): number {
  return value === undefined ? at : writeVarintBig(target, writeVarint(target, at, tag), value);
}

function putInt(target: Uint8Array, at: number, tag: number, value: number | undefined): number {
  if (value === undefined) return at;
  const next = writeVarint(target, at, tag);
  return value < 0 ? writeVarintBig(target, next, BigInt(value)) : writeVarint(target, next, value);
}
