/**
 * Encodes JoinResponse (proto/mailjoin.proto). The bodies stand framed in the outcome's buffer already; results and
 * receipt are written behind them, so the response is that one buffer and no body is touched again.
 */
import { ResultCode } from '../domain/result.js';
import type { JoinOutcome, Receipt } from './join-outcome.js';
import { CONTRACT_VERSION } from './join-request.js';
import { tagOf, WireType, writeVarint, writeVarint64 } from './wire.js';

const VERSION_TAG = tagOf(1, WireType.VARINT);
const RESULTS_TAG = tagOf(3, WireType.BYTES);
const RECEIPT_TAG = tagOf(4, WireType.BYTES);
const RESULT_TAG = tagOf(1, WireType.VARINT);
const BODY_TAG = tagOf(2, WireType.VARINT);
const REASON_TAG = tagOf(3, WireType.VARINT);
/** tag + length + (tag + result) + (tag + body) + (tag + reason). */
const RESULT_BYTES_MAX = 2 + 2 + 6 + 2;
const RECEIPT_BYTES_MAX = 19 * 12 + 8;

/** Fields of Receipt in the order of their numbers, from 1. */
export const RECEIPT_FIELDS: readonly (keyof Receipt)[] = [
  'entries',
  'messages',
  'cacheHits',
  'flightsJoined',
  'groups',
  'rangeStatements',
  'coveringStatements',
  'inStatements',
  'summaryStatements',
  'furtherPages',
  'rows',
  'rowBytes',
  'bodyBytes',
  'decodeMicros',
  'planMicros',
  'readMicros',
  'keyMicros',
  'openMicros',
  'totalMicros',
];

/** The response's bytes: a view on the outcome's own buffer, valid as long as the outcome is. */
export function encodeJoinResponse(outcome: JoinOutcome): Buffer {
  const { entries, bodies } = outcome;
  const target = bodies.buffer;
  let at = bodies.used;
  target[at++] = VERSION_TAG;
  target[at++] = CONTRACT_VERSION;
  for (let index = 0; index < entries.count; index++) {
    const code = entries.code[index] as number;
    const body = entries.body[index] as number;
    target[at++] = RESULTS_TAG;
    const lengthAt = at++;
    target[at++] = RESULT_TAG;
    target[at++] = code;
    if (body !== 0) {
      target[at++] = BODY_TAG;
      at = writeVarint(target, at, body);
    }
    if (code === ResultCode.INVALID) {
      target[at++] = REASON_TAG;
      target[at++] = entries.reason[index] as number;
    }
    target[lengthAt] = at - lengthAt - 1;
  }
  if (outcome.wantReceipt) at = writeReceipt(target, at, outcome.receipt);
  return target.subarray(0, at);
}

function writeReceipt(target: Uint8Array, start: number, receipt: Receipt): number {
  let at = start;
  target[at++] = RECEIPT_TAG;
  // The length is written as two bytes, padded, so that it can be filled in afterwards.
  const lengthAt = at;
  at += 2;
  for (let field = 0; field < RECEIPT_FIELDS.length; field++) {
    const value = Math.round(receipt[RECEIPT_FIELDS[field] as keyof Receipt]);
    if (value === 0) continue;
    at = writeVarint(target, at, tagOf(field + 1, WireType.VARINT));
    at = writeVarint64(target, at, Math.floor(value / 2 ** 32), value >>> 0);
  }
  const length = at - lengthAt - 2;
  target[lengthAt] = (length & 0x7f) | 0x80;
  target[lengthAt + 1] = length >>> 7;
  return at;
}

/** Bytes that results and receipt take behind the bodies, at most: the tail that a batch keeps free in its BodyList. */
export function responseTailBytes(entryCount: number): number {
  return 2 + entryCount * RESULT_BYTES_MAX + RECEIPT_BYTES_MAX;
}
