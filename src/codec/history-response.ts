/**
 * Encodes HistoryResponse (proto/mailjoin.proto). The bodies stand framed as its field 2 in the outcome's buffer already
 * and are copied once, before entries and page.
 */
import type { HistoryHole } from '../domain/history.js';
import { ID_BYTES } from '../domain/ids.js';
import { encodeFields, type FieldSink } from './field-sink.js';
import type { HistoryOutcome } from './history-outcome.js';
import { CONTRACT_VERSION } from './join-request.js';
import { writeReceipt } from './receipt.js';

export function encodeHistoryResponse(outcome: HistoryOutcome): Buffer {
  const { bodies } = outcome;
  const rest = encodeFields(outcome, writeRest);
  // Not from a pool: the response keeps its whole buffer alive until its reader has taken it.
  const response = Buffer.allocUnsafeSlow(bodies.used + rest.length);
  bodies.buffer.copy(response, 0, 0, bodies.used);
  response.set(rest, bodies.used);
  return response;
}

function writeRest(sink: FieldSink, outcome: HistoryOutcome): void {
  sink.varint(1, CONTRACT_VERSION);
  for (let index = 0; index < outcome.entries.count; index++) {
    sink.message(3, { outcome, index }, writeEntry);
  }
  if (outcome.wantReceipt) sink.message(4, outcome.receipt, writeReceipt);
  if (outcome.hasMore) sink.varint(5, 1);
  sink.varint(6, outcome.nextAnchor);
  sink.varint(7, outcome.stop);
  sink.message(8, outcome.hole, writeHole);
}

function writeEntry(sink: FieldSink, at: { outcome: HistoryOutcome; index: number }): void {
  const { entries } = at.outcome;
  const { index } = at;
  const body = entries.body[index] as number;
  const messageAt = entries.messageAt[index] as number;
  sink.varint(1, entries.code[index]);
  if (body !== 0) sink.varint(2, body);
  sink.varint(4, entries.seq(index));
  sink.bytes(5, entries.bytes.subarray(messageAt, messageAt + ID_BYTES));
}

function writeHole(sink: FieldSink, hole: HistoryHole): void {
  sink.varint(1, hole.beganAt);
  sink.varint(2, hole.continueAnchor);
}
