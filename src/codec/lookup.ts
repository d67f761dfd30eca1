/**
 * Where a message_id lies (R2.2): LookupRequest and LookupResponse (proto/mailjoin.proto) in the three media types. What
 * is wrong with the question is an error of the whole: REQUEST_MALFORMED, CONTRACT_VERSION or TENANT_MISSING.
 */
import { formatUuid, type MessageId, type TenantId } from '../domain/ids.js';
import { DEADLINE_MS_DEFAULT, DEADLINE_MS_MAX } from '../domain/limits.js';
import { resultName } from '../domain/result.js';
import { bucketOf } from '../domain/seq.js';
import type { IndexEntry } from '../domain/write-ports.js';
import { bigintOf, bytesOf } from './field-reading.js';
import { encodeFields, type FieldSink } from './field-sink.js';
import { bodyJson, JSON_DIALECT, parseJson } from './join-json.js';
import { MSGPACK_DIALECT, packMsgpack, parseMsgpack } from './join-msgpack.js';
import { CONTRACT_VERSION } from './join-request.js';
import { type Dialect, requestFields } from './loose-request.js';
import {
  checkVersion,
  decodeFields,
  lowered,
  requiredMessage,
  requiredTenant,
  unsignedOf,
} from './request-checks.js';
import type { WireReader } from './wire.js';

export interface LookupRequest {
  readonly tenantId: TenantId;
  readonly messageId: MessageId;
  /** From the request's arrival; 1 … DEADLINE_MS_MAX. */
  readonly deadlineMs: number;
  readonly wantBody: boolean;
}

export interface LookupOutcome {
  /** What message_index says; undefined when it has no such message_id. */
  readonly entry: IndexEntry | undefined;
  /** ResultCode of a join at these coordinates; NOT_FOUND without any. */
  readonly result: number;
  /** The encoded MessageBody; where it was asked for, with OK and RECALLED only. */
  readonly body: Uint8Array | undefined;
}

/** The fields as a media type brings them, unchecked; absent numbers are 0. */
interface LookupFields {
  version: bigint;
  tenantId?: Uint8Array | undefined;
  messageId?: Uint8Array | undefined;
  deadlineMs: bigint;
  wantBody: boolean;
}

export function decodeLookupRequest(bytes: Uint8Array): LookupRequest {
  const fields: LookupFields = { version: 0n, deadlineMs: 0n, wantBody: false };
  return requestOf(decodeFields(bytes, fields, readField));
}

function readField(reader: WireReader, tag: number, fields: LookupFields): void {
  const field = tag >>> 3;
  if (field === 1) fields.version = bigintOf(reader, tag);
  else if (field === 2) fields.tenantId = bytesOf(reader, tag);
  else if (field === 3) fields.messageId = bytesOf(reader, tag);
  else if (field === 4) fields.deadlineMs = bigintOf(reader, tag);
  else if (field === 5) fields.wantBody = bigintOf(reader, tag) !== 0n;
  else reader.skip(tag);
}

export function decodeLookupRequestJson(bytes: Uint8Array): LookupRequest {
  return looseRequest(parseJson(bytes), JSON_DIALECT);
}

export function decodeLookupRequestMsgpack(bytes: Uint8Array): LookupRequest {
  return looseRequest(parseMsgpack(bytes), MSGPACK_DIALECT);
}

function looseRequest(value: unknown, dialect: Dialect): LookupRequest {
  const sent = requestFields(value);
  return requestOf({
    version: unsignedOf(sent, 'contract_version', dialect),
    tenantId: dialect.uuid(sent.tenant_id),
    messageId: dialect.id(sent.message_id),
    deadlineMs: unsignedOf(sent, 'deadline_ms', dialect),
    wantBody: sent.want_body === true,
  });
}

function requestOf(fields: LookupFields): LookupRequest {
  checkVersion(fields.version);
  return {
    tenantId: requiredTenant(fields.tenantId),
    messageId: requiredMessage(fields.messageId),
    deadlineMs: lowered(fields.deadlineMs, DEADLINE_MS_DEFAULT.MAILBOX_BATCH, DEADLINE_MS_MAX),
    wantBody: fields.wantBody,
  };
}

export function encodeLookupResponse(outcome: LookupOutcome): Buffer {
  const bytes = encodeFields(outcome, writeResponse);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeResponse(sink: FieldSink, { entry, result, body }: LookupOutcome): void {
  sink.varint(1, CONTRACT_VERSION);
  sink.bytes(2, body);
  sink.varint(3, result);
  if (entry === undefined) return;
  sink.varint(4, 1);
  sink.bytes(5, entry.conversationId);
  sink.varint(6, entry.seq);
  sink.varint(7, bucketOf(entry.seq));
}

export function encodeLookupResponseJson(outcome: LookupOutcome): Buffer {
  const { result, body } = outcome;
  const response = {
    contract_version: CONTRACT_VERSION,
    ...placeFields(outcome, formatUuid, String),
    result: resultName(result),
    ...(body === undefined ? {} : { body: bodyJson(body) }),
  };
  return Buffer.from(JSON.stringify(response));
}

export function encodeLookupResponseMsgpack(outcome: LookupOutcome): Buffer {
  const { result, body } = outcome;
  const same = <T>(value: T): T => value;
  return packMsgpack({
    contract_version: CONTRACT_VERSION,
    ...placeFields(outcome, same, same),
    result,
    ...(body === undefined ? {} : { body }),
  });
}

function placeFields(
  { entry }: LookupOutcome,
  uuidForm: (uuid: Uint8Array) => unknown,
  integerForm: (integer: bigint) => unknown,
): Record<string, unknown> {
  if (entry === undefined) return { found: false };
  return {
    found: true,
    conversation_id: uuidForm(entry.conversationId),
    conversation_seq: integerForm(entry.seq),
    seq_bucket: integerForm(bucketOf(entry.seq)),
  };
}
