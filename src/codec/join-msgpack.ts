/**
 * The MessagePack form: maps with the field names of proto/mailjoin.proto, ids as bin, 64-bit numbers as integers,
 * results and kinds as their numbers (kinds also by name), bodies as bin with the same bytes as in the protobuf form.
 */
import { Packr, Unpackr } from 'msgpackr';
import { MailjoinError } from '../domain/errors.js';
import { ResultCode } from '../domain/result.js';
import type { JoinOutcome } from './join-outcome.js';
import { CONTRACT_VERSION, type JoinRequest } from './join-request.js';
import { type Dialect, fieldsOf, requestOf } from './loose-request.js';
import { MSGPACK_WORDS, receiptFields } from './receipt.js';

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'bigint' });

function binOf(value: unknown): Uint8Array | undefined {
  return value instanceof Uint8Array ? value : undefined;
}

/** How MessagePack writes ids and numbers. */
export const MSGPACK_DIALECT: Dialect = {
  uuid: binOf,
  id: binOf,
  integer(value) {
    if (typeof value === 'bigint') return value;
    return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
  },
  isBody: (value) =>
    value instanceof Uint8Array || typeof value === 'string' || fieldsOf(value) !== undefined,
};

/** Decodes the MessagePack form of JoinRequest. Throws what decodeJoinRequest throws. */
export function decodeJoinRequestMsgpack(bytes: Uint8Array): JoinRequest {
  return requestOf(parseMsgpack(bytes), MSGPACK_DIALECT);
}

/** The value of one MessagePack message, or REQUEST_MALFORMED. */
export function parseMsgpack(bytes: Uint8Array): unknown {
  try {
    return unpackr.unpack(bytes);
  } catch (error) {
    throw new MailjoinError('REQUEST_MALFORMED', 'not one MessagePack value', { cause: error });
  }
}

/** A value as MessagePack. */
export function packMsgpack(value: Record<string, unknown>): Buffer {
  return packr.pack(value);
}

/** Encodes the MessagePack form of JoinResponse. */
export function encodeJoinResponseMsgpack(outcome: JoinOutcome): Buffer {
  const { entries, bodies } = outcome;
  const results = Array.from({ length: entries.count }, (_, index) => {
    const result = entries.code[index] as number;
    const body = entries.body[index] as number;
    if (result === ResultCode.INVALID) return { result, reason: entries.reason[index] as number };
    return body === 0 ? { result } : { result, body };
  });
  return packMsgpack({
    contract_version: CONTRACT_VERSION,
    results,
    bodies: bodies.views(),
    ...(outcome.wantReceipt ? { receipt: receiptFields(outcome.receipt, MSGPACK_WORDS) } : {}),
  });
}
