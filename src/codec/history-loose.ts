/**
 * History pages in the two self-describing media types: JSON for people, MessagePack for programs. Field names are those
 * of proto/mailjoin.proto; ids and numbers are written as in the join's forms.
 */
import { historyStopName } from '../domain/history.js';
import { formatHex, ID_BYTES } from '../domain/ids.js';
import { resultName } from '../domain/result.js';
import type { HistoryOutcome } from './history-outcome.js';
import { type HistoryRequest, historyRequestOf, noHistoryFields } from './history-request.js';
import { bodyJson, JSON_DIALECT, parseJson } from './join-json.js';
import { MSGPACK_DIALECT, packMsgpack, parseMsgpack } from './join-msgpack.js';
import { CONTRACT_VERSION } from './join-request.js';
import { type Dialect, requestFields } from './loose-request.js';
import { JSON_WORDS, MSGPACK_WORDS, receiptFields } from './receipt.js';
import { unsignedOf } from './request-checks.js';

export function decodeHistoryRequestJson(bytes: Uint8Array): HistoryRequest {
  return requestOf(parseJson(bytes), JSON_DIALECT);
}

export function decodeHistoryRequestMsgpack(bytes: Uint8Array): HistoryRequest {
  return requestOf(parseMsgpack(bytes), MSGPACK_DIALECT);
}

function requestOf(value: unknown, dialect: Dialect): HistoryRequest {
  const sent = requestFields(value);
  const unsigned = (name: string): bigint => unsignedOf(sent, name, dialect);
  return historyRequestOf({
    ...noHistoryFields(),
    version: unsigned('contract_version'),
    tenantId: dialect.uuid(sent.tenant_id),
    conversationId: dialect.uuid(sent.conversation_id),
    direction: sent.direction === 'NEWER' ? 1n : sent.direction === 'OLDER' ? 0n : unsigned('direction'),
    anchor: sent.anchor === undefined ? undefined : unsigned('anchor'),
    limit: unsigned('limit'),
    deadlineMs: unsigned('deadline_ms'),
    responseBytesMax: unsigned('response_bytes_max'),
    wantReceipt: sent.want_receipt === true,
  });
}

export function encodeHistoryResponseJson(outcome: HistoryOutcome): Buffer {
  const { nextAnchor, hole } = outcome;
  const response = {
    contract_version: CONTRACT_VERSION,
    entries: entriesOf(outcome, String, formatHex, resultName),
    has_more: outcome.hasMore,
    ...(nextAnchor === undefined ? {} : { next_anchor: String(nextAnchor) }),
    stop: historyStopName(outcome.stop),
    ...(hole === undefined
      ? {}
      : { hole: { began_at: String(hole.beganAt), continue_anchor: String(hole.continueAnchor) } }),
    bodies: outcome.bodies.views().map(bodyJson),
    ...(outcome.wantReceipt ? { receipt: receiptFields(outcome.receipt, JSON_WORDS) } : {}),
  };
  return Buffer.from(JSON.stringify(response));
}

export function encodeHistoryResponseMsgpack(outcome: HistoryOutcome): Buffer {
  const { nextAnchor, hole } = outcome;
  const same = <T>(value: T): T => value;
  return packMsgpack({
    contract_version: CONTRACT_VERSION,
    entries: entriesOf(outcome, same, same, same),
    has_more: outcome.hasMore,
    ...(nextAnchor === undefined ? {} : { next_anchor: nextAnchor }),
    stop: outcome.stop,
    ...(hole === undefined ? {} : { hole: { began_at: hole.beganAt, continue_anchor: hole.continueAnchor } }),
    bodies: outcome.bodies.views(),
    ...(outcome.wantReceipt ? { receipt: receiptFields(outcome.receipt, MSGPACK_WORDS) } : {}),
  });
}

function entriesOf(
  { entries }: HistoryOutcome,
  seqForm: (seq: bigint) => unknown,
  idForm: (id: Uint8Array) => unknown,
  codeForm: (code: number) => unknown,
): Record<string, unknown>[] {
  return Array.from({ length: entries.count }, (_, index) => {
    const messageAt = entries.messageAt[index] as number;
    const body = entries.body[index] as number;
    return {
      conversation_seq: seqForm(entries.seq(index)),
      message_id: idForm(entries.bytes.subarray(messageAt, messageAt + ID_BYTES)),
      result: codeForm(entries.code[index] as number),
      ...(body === 0 ? {} : { body }),
    };
  });
}
