/**
 * One message in detail (R4.5): MessageRequest and MessageResponse (proto/mailjoin.proto) in the three media types. What is
 * wrong with the question is an error of the whole: REQUEST_MALFORMED, CONTRACT_VERSION, TENANT_MISSING or SEQ_RANGE (D6).
 */
import { MailjoinError } from '../domain/errors.js';
import {
  type ConversationId,
  conversationIdOf,
  type MessageId,
  messageIdOf,
  type TenantId,
  tenantIdOf,
  type UserId,
  userIdOf,
} from '../domain/ids.js';
import { DEADLINE_MS_DEFAULT, DEADLINE_MS_MAX } from '../domain/limits.js';
import { resultName } from '../domain/result.js';
import { isSeq } from '../domain/seq.js';
import { bigintOf, bytesOf } from './field-reading.js';
import { encodeFields, type FieldSink } from './field-sink.js';
import { bodyJson, JSON_DIALECT, parseJson } from './join-json.js';
import { MSGPACK_DIALECT, packMsgpack, parseMsgpack } from './join-msgpack.js';
import { CONTRACT_VERSION } from './join-request.js';
import { type Dialect, fieldsOf } from './loose-request.js';
import { WireError, WireReader } from './wire.js';

export interface DetailRequest {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  readonly messageId: MessageId;
  /** Who asks; undefined = nobody's reactions are looked up. */
  readonly userId: UserId | undefined;
  /** From the request's arrival; 1 … DEADLINE_MS_MAX. */
  readonly deadlineMs: number;
}

export interface DetailOutcome {
  /** ResultCode, as in a join. */
  readonly result: number;
  /** The encoded MessageBody; with OK and RECALLED only. */
  readonly body: Uint8Array | undefined;
  /** What the asking user reacted with: none or one (D19). */
  readonly selfReactionKeys: readonly string[];
}

/** The fields as a media type brings them, unchecked. */
interface DetailFields {
  version: bigint;
  tenantId?: Uint8Array | undefined;
  conversationId?: Uint8Array | undefined;
  seq: bigint;
  messageId?: Uint8Array | undefined;
  userId?: Uint8Array | undefined;
  deadlineMs: bigint;
}

export function decodeDetailRequest(bytes: Uint8Array): DetailRequest {
  const fields: DetailFields = { version: 0n, seq: 0n, deadlineMs: 0n };
  try {
    const reader = new WireReader(bytes);
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) readField(reader, tag, fields);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new MailjoinError('REQUEST_MALFORMED', error.message, { cause: error });
  }
  return requestOf(fields);
}

function readField(reader: WireReader, tag: number, fields: DetailFields): void {
  const field = tag >>> 3;
  if (field === 1) fields.version = bigintOf(reader, tag);
  else if (field === 2) fields.tenantId = bytesOf(reader, tag);
  else if (field === 3) fields.conversationId = bytesOf(reader, tag);
  else if (field === 4) fields.seq = bigintOf(reader, tag);
  else if (field === 5) fields.messageId = bytesOf(reader, tag);
  else if (field === 6) fields.userId = bytesOf(reader, tag);
  else if (field === 7) fields.deadlineMs = bigintOf(reader, tag);
  else reader.skip(tag);
}

export function decodeDetailRequestJson(bytes: Uint8Array): DetailRequest {
  return looseRequest(parseJson(bytes), JSON_DIALECT);
}

export function decodeDetailRequestMsgpack(bytes: Uint8Array): DetailRequest {
  return looseRequest(parseMsgpack(bytes), MSGPACK_DIALECT);
}

function looseRequest(value: unknown, dialect: Dialect): DetailRequest {
  const sent = fieldsOf(value);
  if (sent === undefined) throw malformed('the request is no map');
  const unsigned = (name: string): bigint => {
    const integer = sent[name] === undefined ? 0n : dialect.integer(sent[name]);
    if (integer === undefined || integer < 0n) throw malformed(`${name} is no unsigned integer`);
    return integer;
  };
  if (sent.user_id !== undefined && dialect.uuid(sent.user_id) === undefined) {
    throw malformed('user_id is no uuid');
  }
  return requestOf({
    version: unsigned('contract_version'),
    tenantId: dialect.uuid(sent.tenant_id),
    conversationId: dialect.uuid(sent.conversation_id),
    seq: unsigned('conversation_seq'),
    messageId: dialect.id(sent.message_id),
    userId: dialect.uuid(sent.user_id),
    deadlineMs: unsigned('deadline_ms'),
  });
}

function requestOf(fields: DetailFields): DetailRequest {
  const { version, seq, deadlineMs } = fields;
  if (version !== 0n && version !== BigInt(CONTRACT_VERSION)) {
    throw new MailjoinError('CONTRACT_VERSION', String(version));
  }
  const tenantId = fields.tenantId && tenantIdOf(fields.tenantId);
  if (tenantId === undefined) throw new MailjoinError('TENANT_MISSING');
  const conversationId = fields.conversationId && conversationIdOf(fields.conversationId);
  if (conversationId === undefined) throw malformed('no conversation_id of 16 bytes');
  const messageId = fields.messageId && messageIdOf(fields.messageId);
  if (messageId === undefined) throw malformed('no message_id of 16 bytes');
  const userId = fields.userId && userIdOf(fields.userId);
  if (fields.userId !== undefined && userId === undefined) throw malformed('a user_id has 16 bytes');
  if (!isSeq(seq)) throw new MailjoinError('SEQ_RANGE', 'conversation_seq');
  const usualMs = DEADLINE_MS_DEFAULT.MAILBOX_BATCH;
  const askedMs = deadlineMs > BigInt(DEADLINE_MS_MAX) ? DEADLINE_MS_MAX : Number(deadlineMs);
  return { tenantId, conversationId, seq, messageId, userId, deadlineMs: askedMs === 0 ? usualMs : askedMs };
}

export function encodeDetailResponse(outcome: DetailOutcome): Buffer {
  const bytes = encodeFields(outcome, writeResponse);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeResponse(sink: FieldSink, { result, body, selfReactionKeys }: DetailOutcome): void {
  sink.varint(1, CONTRACT_VERSION);
  sink.bytes(2, body);
  sink.varint(3, result);
  for (const key of selfReactionKeys) sink.text(4, key);
}

export function encodeDetailResponseJson({ result, body, selfReactionKeys }: DetailOutcome): Buffer {
  const response = {
    contract_version: CONTRACT_VERSION,
    result: resultName(result),
    ...(body === undefined ? {} : { body: bodyJson(body) }),
    self_reaction_keys: selfReactionKeys,
  };
  return Buffer.from(JSON.stringify(response));
}

export function encodeDetailResponseMsgpack({ result, body, selfReactionKeys }: DetailOutcome): Buffer {
  return packMsgpack({
    contract_version: CONTRACT_VERSION,
    result,
    ...(body === undefined ? {} : { body }),
    self_reaction_keys: selfReactionKeys,
  });
}

function malformed(detail: string): MailjoinError {
  return new MailjoinError('REQUEST_MALFORMED', detail);
}
