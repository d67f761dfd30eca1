/**
 * The JSON form, for people: uuids as text, u128 ids as 32 hexadecimal digits, 64-bit numbers as decimal strings, bodies
 * decoded. Field names are those of proto/mailjoin.proto.
 */
import { isUtf8 } from 'node:buffer';
import protobuf from 'protobufjs';
import { MailjoinError } from '../domain/errors.js';
import { formatHex, formatUuid, parseUuid } from '../domain/ids.js';
import { invalidReasonName, ResultCode, resultName } from '../domain/result.js';
import type { JoinOutcome } from './join-outcome.js';
import { CONTRACT_VERSION, type JoinRequest } from './join-request.js';
import { type Dialect, fieldsOf, requestOf } from './loose-request.js';
import { decodeMessageBody, type Reactions } from './message-body.js';
import { JSON_WORDS, receiptFields } from './receipt.js';

const HEX = /^(?:[0-9a-f]{2})*$/i;
const INTEGER = /^-?[0-9]{1,20}$/;
/** A control character that is no white space. */
const CONTROL = /[^\P{Cc}\s]/u;

/** How JSON writes ids and numbers. */
export const JSON_DIALECT: Dialect = {
  uuid: (value) => (typeof value === 'string' ? parseUuid(value) : undefined),
  id: (value) => (typeof value === 'string' && HEX.test(value) ? Buffer.from(value, 'hex') : undefined),
  integer(value) {
    if (typeof value === 'string' && INTEGER.test(value)) return BigInt(value);
    return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
  },
  isBody: (value) => typeof value === 'string' || fieldsOf(value) !== undefined,
};

/** Decodes the JSON form of JoinRequest. Throws what decodeJoinRequest throws. */
export function decodeJoinRequestJson(bytes: Uint8Array): JoinRequest {
  return requestOf(parseJson(bytes), JSON_DIALECT);
}

/** The value of a JSON text, or REQUEST_MALFORMED. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new MailjoinError('REQUEST_MALFORMED', 'not JSON in UTF-8', { cause: error });
  }
}

/** Encodes the JSON form of JoinResponse. */
export function encodeJoinResponseJson(outcome: JoinOutcome): Buffer {
  const { entries, bodies } = outcome;
  const results = Array.from({ length: entries.count }, (_, index) => {
    const code = entries.code[index] as number;
    const body = entries.body[index] as number;
    return {
      result: resultName(code),
      ...(body === 0 ? {} : { body }),
      ...(code === ResultCode.INVALID ? { reason: invalidReasonName(entries.reason[index] as number) } : {}),
    };
  });
  const response = {
    contract_version: CONTRACT_VERSION,
    results,
    bodies: bodies.views().map(bodyJson),
    ...(outcome.wantReceipt ? { receipt: receiptFields(outcome.receipt, JSON_WORDS) } : {}),
  };
  return Buffer.from(JSON.stringify(response));
}

/** An encoded MessageBody as the JSON form shows it. Absent fields are left out. */
export function bodyJson(bytes: Uint8Array): Record<string, unknown> {
  const body = decodeMessageBody(bytes);
  return {
    message_id: formatHex(body.messageId),
    conversation_id: formatUuid(body.conversationId),
    conversation_seq: String(body.conversationSeq),
    last_activity_id: body.lastActivityId && formatHex(body.lastActivityId),
    sender_id: body.senderId && formatUuid(body.senderId),
    sender_device_id: body.senderDeviceId && formatUuid(body.senderDeviceId),
    client_message_id: body.clientMessageId,
    message_type: body.messageType,
    custom_type: body.customType,
    schema_version: body.schemaVersion,
    state: ['NORMAL', 'RECALLED', 'EDITED'][body.state] ?? body.state,
    recall_event_conversation_seq: body.recallEventConversationSeq?.toString(),
    edited_at_activity_id: body.editedAtActivityId && formatHex(body.editedAtActivityId),
    created_at: String(body.createdAtMs),
    reply_to_conversation_seq: body.replyToConversationSeq?.toString(),
    ...(body.mediaMetadata === undefined ? {} : mediaJson(body.mediaMetadata)),
    ...(body.mentionTargets === undefined ? {} : mentionsJson(body.mentionTargets)),
    ...(body.payload === undefined ? {} : bytesJson('payload', body.payload)),
    reactions: body.reactions && reactionsJson(body.reactions),
  };
}

function reactionsJson(reactions: Reactions): Record<string, unknown> {
  return {
    // fromEntries defines own properties, so that a key like __proto__ is just a key (B47).
    counts: Object.fromEntries(reactions.counts),
    summary_version: String(reactions.summaryVersion),
    updated_at: reactions.updatedAtMs?.toString(),
  };
}

/** Text where the bytes are UTF-8 text, else base64: payloads are opaque to the server. */
function bytesJson(name: string, bytes: Uint8Array): Record<string, string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  const isText = isUtf8(buffer) && !CONTROL.test(text);
  return isText ? { [`${name}_text`]: text } : { [`${name}_base64`]: buffer.toString('base64') };
}

let commonTypes: protobuf.Root | undefined;

/** Decodes a blob of common.proto (R5.3), or undefined when it is none. */
function decodeCommon(typeName: string, bytes: Uint8Array): protobuf.Message | undefined {
  commonTypes ??= protobuf.loadSync(new URL('../../proto/common.proto', import.meta.url).pathname);
  try {
    return commonTypes.lookupType(`mailjoin.common.v1.${typeName}`).decode(bytes);
  } catch {
    return undefined;
  }
}

function mediaJson(bytes: Uint8Array): Record<string, unknown> {
  const media = decodeCommon('MediaMetadata', bytes);
  if (media === undefined) return bytesJson('media_metadata', bytes);
  const fields = media.$type.toObject(media, { longs: String, bytes: String });
  return {
    media_metadata: Object.fromEntries(Object.entries(fields).map(([key, value]) => [snakeCase(key), value])),
  };
}

function mentionsJson(bytes: Uint8Array): Record<string, unknown> {
  const targets = decodeCommon('MentionTargets', bytes);
  if (targets === undefined) return bytesJson('mention_targets', bytes);
  const { userIds = [], atAll = false } = targets.$type.toObject(targets) as {
    userIds?: Uint8Array[];
    atAll?: boolean;
  };
  const user_ids = userIds.map((id) => (id.length === 16 ? formatUuid(id) : formatHex(id)));
  return { mention_targets: { user_ids, at_all: atAll } };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
