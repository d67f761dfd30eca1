/**
 * Encodes JoinResponse (proto/mailjoin.proto). The bodies stand framed in the outcome's buffer already; results and
 * receipt are written behind them, so the response is that one buffer and no body is touched again.
 */
import { ResultCode } from '../domain/result.js';
import type { JoinOutcome } from './join-outcome.js';
import { CONTRACT_VERSION } from './join-request.js';
import { encodeReceiptField, receiptBytesMax } from './receipt.js';
import { tagOf, WireType, writeVarint } from './wire.js';

const VERSION_TAG = tagOf(1, WireType.VARINT);
const RESULTS_TAG = tagOf(3, WireType.BYTES);
const RECEIPT_FIELD = 4;
const RESULT_TAG = tagOf(1, WireType.VARINT);
const BODY_TAG = tagOf(2, WireType.VARINT);
const REASON_TAG = tagOf(3, WireType.VARINT);
/** tag + length + (tag + result) + (tag + body) + (tag + reason). */
const RESULT_BYTES_MAX = 2 + 2 + 6 + 2;

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
  if (outcome.wantReceipt) {
    const receipt = encodeReceiptField(RECEIPT_FIELD, outcome.receipt);
    target.set(receipt, at);
    at += receipt.length;
  }
  return target.subarray(0, at);
}

/** Bytes that results and receipt take behind the bodies, at most: the tail that a batch keeps free in its BodyList. */
export function responseTailBytes(entryCount: number, wantReceipt: boolean): number {
  return 2 + entryCount * RESULT_BYTES_MAX + (wantReceipt ? receiptBytesMax(entryCount) : 0);
}
