/**
 * Bytes → LogRecord (proto/log.proto). The bytes come from outside: all that is malformed is LOG_CORRUPT, whatever it
 * is, and nothing is allocated for what a length claims. Byte fields are views on the input.
 *
 * Malformed: bytes that are no protobuf; a known field of another wire type; an id that has not 16 bytes; a seq or
 * version with bit 63 set (R1.1); text that is not UTF-8; a field that the body cannot do without. When a field is
 * repeated the last one counts.
 */
import { MailjoinError } from '../domain/errors.js';
import {
  type ActivityId,
  activityIdOf,
  conversationIdOf,
  type MessageId,
  messageIdOf,
  tenantIdOf,
  type UserId,
  userIdOf,
} from '../domain/ids.js';
import { type DekId, type MessageRecord, MessageState } from '../domain/message.js';
import { isSeq } from '../domain/seq.js';
import { bigintOf, bytesOf, fixed64Of, int32Of, textOf, zigzagOf } from './field-reading.js';
import type { LogEdit, LogMessage, LogReactions, LogRecall, LogRecord, LogTarget } from './log-record.js';
import { WireError, WireReader } from './wire.js';

/** The record; undefined when it has no body, or one that this version does not know. LOG_CORRUPT. */
export function decodeLogRecord(bytes: Uint8Array): LogRecord | undefined {
  try {
    return readRecord(bytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new MailjoinError('LOG_CORRUPT', error.message, { cause: error });
  }
}

type InConversation = 'tenantId' | 'conversationId' | 'appendedAtMs';
type ConversationBody =
  | Omit<LogMessage, InConversation>
  | Omit<LogRecall, InConversation>
  | Omit<LogEdit, InConversation>
  | Omit<LogReactions, InConversation>;

/** The bodies that belong to a conversation, by their field. */
const BODY_READERS: ReadonlyMap<number, (bytes: Uint8Array) => ConversationBody> = new Map<
  number,
  (bytes: Uint8Array) => ConversationBody
>([
  [4, readMessage],
  [5, readRecall],
  [6, readEdit],
  [7, readReactions],
]);
const KEY_DESTROYED = 8;
const EMPTY = new Uint8Array(0);

function readRecord(bytes: Uint8Array): LogRecord | undefined {
  let tenant: Uint8Array = EMPTY;
  let conversation: Uint8Array = EMPTY;
  let appendedAtMs = 0n;
  let bodyField = 0;
  let body: Uint8Array = EMPTY;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const field = tag >>> 3;
    if (field === 1) tenant = bytesOf(reader, tag);
    else if (field === 2) conversation = bytesOf(reader, tag);
    else if (field === 3) appendedAtMs = int64Of(reader, tag);
    else if (field === KEY_DESTROYED || BODY_READERS.has(field)) {
      bodyField = field;
      body = bytesOf(reader, tag);
    } else reader.skip(tag);
  }
  if (bodyField === KEY_DESTROYED) {
    return { kind: 'keyDestroyed', appendedAtMs, dekId: readKeyDestroyed(body) };
  }
  const readBody = BODY_READERS.get(bodyField);
  if (readBody === undefined) return undefined;
  const tenantId = required(tenantIdOf(tenant), 'tenant_id');
  const conversationId = required(conversationIdOf(conversation), 'conversation_id');
  return { tenantId, conversationId, appendedAtMs, ...readBody(body) };
}

function readMessage(bytes: Uint8Array): Omit<LogMessage, InConversation> {
  let seq = 0n;
  let messageId: MessageId | undefined;
  let lastActivityId: ActivityId | undefined;
  let senderId: UserId | undefined;
  let senderDeviceId: UserId | undefined;
  let clientMessageId: string | undefined;
  let messageType: number | undefined;
  let customType: string | undefined;
  let schemaVersion: number | undefined;
  let payload: Uint8Array | undefined;
  let mediaMetadata: Uint8Array | undefined;
  let replyToSeq: bigint | undefined;
  let mentionTargets: Uint8Array | undefined;
  let createdAtMs = 0n;
  let retentionClass = 0;
  let dekId: DekId | undefined;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag >>> 3) {
      case 1:
        seq = seqOf(reader, tag);
        break;
      case 2:
        messageId = messageIdOf(bytesOf(reader, tag));
        break;
      case 3:
        lastActivityId = optionalId(bytesOf(reader, tag), activityIdOf, 'last_activity_id');
        break;
      case 4:
        senderId = optionalId(bytesOf(reader, tag), userIdOf, 'sender_id');
        break;
      case 5:
        senderDeviceId = optionalId(bytesOf(reader, tag), userIdOf, 'sender_device_id');
        break;
      case 6:
        clientMessageId = textOf(reader, tag);
        break;
      case 7:
        messageType = zigzagOf(reader, tag);
        break;
      case 8:
        customType = textOf(reader, tag);
        break;
      case 9:
        schemaVersion = zigzagOf(reader, tag);
        break;
      case 10:
        payload = bytesOf(reader, tag);
        break;
      case 11:
        mediaMetadata = bytesOf(reader, tag);
        break;
      case 12:
        replyToSeq = seqOf(reader, tag);
        break;
      case 13:
        mentionTargets = bytesOf(reader, tag);
        break;
      case 14:
        createdAtMs = int64Of(reader, tag);
        break;
      case 15:
        retentionClass = int32Of(reader, tag);
        break;
      case 16:
        dekId = readDekId(bytesOf(reader, tag));
        break;
      default:
        reader.skip(tag);
    }
  }
  const record: MessageRecord = {
    seq,
    messageId: required(messageId, 'message_id'),
    lastActivityId,
    senderId,
    senderDeviceId,
    clientMessageId,
    messageType,
    customType,
    schemaVersion,
    payload,
    mediaMetadata,
    replyToSeq,
    mentionTargets,
    state: MessageState.NORMAL,
    recallEventSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs,
    retentionClass,
    dekId,
    ttlSeconds: undefined,
  };
  return { kind: 'message', record };
}

function readRecall(bytes: Uint8Array): Omit<LogRecall, InConversation> {
  const { payload: _, dekId: __, ...event } = readEvent(bytes, false);
  return { kind: 'recall', ...event };
}

function readEdit(bytes: Uint8Array): Omit<LogEdit, InConversation> {
  return { kind: 'edit', ...readEvent(bytes, true) };
}

/** Recall and edit have the same fields; an edit has two more, which are unknown ones in a recall. */
function readEvent(bytes: Uint8Array, isEdit: boolean): Omit<LogEdit, InConversation | 'kind'> {
  let eventId = 0n;
  let seq = 0n;
  let target: LogTarget | undefined;
  let lastActivityId: ActivityId | undefined;
  let payload: Uint8Array = EMPTY;
  let dekId: DekId | undefined;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const field = tag >>> 3;
    if (field === 1) eventId = fixed64Of(reader, tag);
    else if (field === 2) seq = seqOf(reader, tag);
    else if (field === 3) target = readTarget(bytesOf(reader, tag));
    else if (field === 4) lastActivityId = activityIdOf(bytesOf(reader, tag));
    else if (field === 5 && isEdit) payload = bytesOf(reader, tag);
    else if (field === 6 && isEdit) dekId = readDekId(bytesOf(reader, tag));
    else reader.skip(tag);
  }
  return {
    eventId,
    seq,
    target: required(target, 'target'),
    lastActivityId: required(lastActivityId, 'last_activity_id'),
    payload,
    dekId,
  };
}

function readReactions(bytes: Uint8Array): Omit<LogReactions, InConversation> {
  let target: LogTarget | undefined;
  let summaryVersion = 0n;
  let updatedAtMs = 0n;
  // As in every protobuf map, the last value of a key counts.
  const counts = new Map<string, number>();
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const field = tag >>> 3;
    if (field === 1) target = readTarget(bytesOf(reader, tag));
    else if (field === 2) summaryVersion = seqOf(reader, tag);
    else if (field === 3) counts.set(...readCount(bytesOf(reader, tag)));
    else if (field === 4) updatedAtMs = int64Of(reader, tag);
    else reader.skip(tag);
  }
  return {
    kind: 'reactions',
    target: required(target, 'target'),
    summaryVersion,
    counts: [...counts],
    updatedAtMs,
  };
}

function readCount(bytes: Uint8Array): [string, number] {
  let key = '';
  let count = 0;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag >>> 3 === 1) key = textOf(reader, tag);
    else if (tag >>> 3 === 2) count = int32Of(reader, tag) >>> 0;
    else reader.skip(tag);
  }
  return [key, count];
}

function readTarget(bytes: Uint8Array): LogTarget {
  let seq = 0n;
  let messageId: MessageId | undefined;
  let createdAtMs = 0n;
  let retentionClass: number | undefined;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag >>> 3 === 1) seq = seqOf(reader, tag);
    else if (tag >>> 3 === 2) messageId = messageIdOf(bytesOf(reader, tag));
    else if (tag >>> 3 === 3) createdAtMs = int64Of(reader, tag);
    else if (tag >>> 3 === 4) retentionClass = int32Of(reader, tag);
    else reader.skip(tag);
  }
  return { seq, messageId: required(messageId, 'target.message_id'), createdAtMs, retentionClass };
}

function readKeyDestroyed(bytes: Uint8Array): DekId {
  let dekId: DekId | undefined;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag >>> 3 === 1) dekId = readDekId(bytesOf(reader, tag));
    else reader.skip(tag);
  }
  return required(dekId, 'dek_id');
}

function readDekId(bytes: Uint8Array): DekId {
  let scope = '';
  let id = '';
  let version = 0;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag >>> 3 === 1) scope = textOf(reader, tag);
    else if (tag >>> 3 === 2) id = textOf(reader, tag);
    else if (tag >>> 3 === 3) version = int32Of(reader, tag);
    else reader.skip(tag);
  }
  return { scope, id, version };
}

/** A number that must not have bit 63 set (R1.1). */
function seqOf(reader: WireReader, tag: number): bigint {
  const value = bigintOf(reader, tag);
  if (!isSeq(value)) throw new WireError(`field ${tag >>> 3} has bit 63 set`);
  return value;
}

function int64Of(reader: WireReader, tag: number): bigint {
  return BigInt.asIntN(64, bigintOf(reader, tag));
}

/** An id that a row may lack: no bytes stand for its absence, as in every proto3 field. */
function optionalId<T>(
  bytes: Uint8Array,
  idOf: (bytes: Uint8Array) => T | undefined,
  name: string,
): T | undefined {
  return bytes.length === 0 ? undefined : required(idOf(bytes), name);
}

function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new WireError(`${name} is missing or malformed`);
  return value;
}
