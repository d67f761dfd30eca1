/**
 * A history page over the socket: its request by hand (proto/mailjoin.proto), its response decoded without copying bodies.
 */

import { encodeFields, type FieldSink } from '../codec/field-sink.js';
import { CONTRACT_VERSION } from '../codec/join-request.js';
import { type Receipt, readReceipt } from '../codec/receipt.js';
import { tagOf, WireReader, WireType } from '../codec/wire.js';
import { MailjoinError } from '../domain/errors.js';
import {
  HistoryDirection,
  type HistoryHole,
  type HistoryStopName,
  historyStopName,
} from '../domain/history.js';
import { RESPONSE_BYTES_MAX } from '../domain/limits.js';
import { isSeq } from '../domain/seq.js';
import type { Message } from './call.js';
import { checkAmount } from './join-request.js';
import type { ResultName } from './join-result.js';
import { postMessage } from './post-message.js';
import { protocolError } from './protocol-error.js';
import {
  checkCount,
  hasBody,
  leftMs,
  responseId,
  settledName,
  tenantBytes,
  uuidBytes,
} from './request-fields.js';

export interface HistoryRequest {
  /** uuid: 16 bytes in network order, or its text form. */
  readonly tenantId: Uint8Array | string;
  readonly conversationId: Uint8Array | string;
  /** 'older' (the default): highest seq first, below the anchor; 'newer': lowest first, above it. */
  readonly direction?: 'older' | 'newer' | undefined;
  /** Exclusive. None: the newest page, or with 'newer' the first. */
  readonly anchor?: bigint | undefined;
  /** Messages, 1 to 200. Default 50. */
  readonly limit?: number | undefined;
  /** Milliseconds after which the sidecar answers with what it has, or with STORE_UNAVAILABLE. Default 5,000. */
  readonly deadlineMs?: number | undefined;
  /** Bytes of bodies; what is beyond is DEFERRED, and a join brings it. Default 16 MiB, at most 64 MiB. */
  readonly responseBytesMax?: number | undefined;
  readonly wantReceipt?: boolean | undefined;
}

/** One message of a page. */
export interface HistoryEntry {
  readonly seq: bigint;
  readonly messageId: Uint8Array;
  /** As in a join. */
  readonly result: ResultName;
  /** The encoded MessageBody, a view on the response; only with OK and RECALLED. */
  readonly body: Uint8Array | undefined;
}

export interface HistoryPage {
  /** In the page's order. */
  readonly entries: readonly HistoryEntry[];
  /** Whether a further message exists in this direction; true as well when the deadline cut the page short. */
  readonly hasMore: boolean;
  /** The anchor of the next page, never the one that was asked for; exactly with `hasMore`. */
  readonly nextAnchor: bigint | undefined;
  readonly stop: HistoryStopName;
  /** With HOLE: where it began, and the anchor to go on with deliberately. */
  readonly hole: HistoryHole | undefined;
  readonly receipt: Receipt | undefined;
}

interface Prepared {
  readonly request: HistoryRequest;
  readonly tenantId: Uint8Array;
  readonly conversationId: Uint8Array;
}

/** Throws TENANT_MISSING, REQUEST_MALFORMED, SEQ_RANGE, or a TypeError for a value of a wrong type. */
function prepare(request: HistoryRequest): Prepared {
  const tenantId = tenantBytes(request.tenantId);
  const conversationId = uuidBytes(request.conversationId, 'conversationId');
  const { anchor, direction = 'older' } = request;
  // JavaScript may say anything, and a page of the wrong direction looks like a right one.
  if (direction !== 'older' && direction !== 'newer') {
    throw new TypeError("direction must be 'older' or 'newer'");
  }
  if (anchor !== undefined && typeof anchor !== 'bigint') throw new TypeError('anchor must be a bigint');
  if (anchor !== undefined && !isSeq(anchor)) throw new MailjoinError('SEQ_RANGE', 'anchor');
  checkCount(request.limit, 'limit');
  checkAmount(request.deadlineMs, 'deadlineMs');
  checkAmount(request.responseBytesMax, 'responseBytesMax');
  return { request, tenantId, conversationId };
}

/** The page's request and how its response is read. `deadlineAtMs`: on performance.now(), for the sidecar. */
export function historyMessage(request: HistoryRequest, deadlineAtMs: number): Message<HistoryPage> {
  const prepared = prepare(request);
  return postMessage(
    '/v1/history',
    () => encodeFields({ ...prepared, deadlineMs: leftMs(deadlineAtMs) }, writeRequest),
    readPage,
  );
}

function writeRequest(sink: FieldSink, prepared: Prepared & { readonly deadlineMs: number }): void {
  const { request } = prepared;
  const { limit, responseBytesMax } = request;
  sink.varint(1, CONTRACT_VERSION);
  sink.bytes(2, prepared.tenantId);
  sink.bytes(3, prepared.conversationId);
  if (request.direction === 'newer') sink.varint(4, HistoryDirection.NEWER);
  sink.varint(5, request.anchor);
  sink.varint(6, limit);
  sink.varint(7, prepared.deadlineMs);
  sink.varint(8, responseBytesMax && Math.floor(Math.min(responseBytesMax, RESPONSE_BYTES_MAX)));
  if (request.wantReceipt === true) sink.varint(9, 1);
}

const { VARINT, BYTES } = WireType;

function readPage(bytes: Uint8Array): HistoryPage {
  const reader = new WireReader(bytes);
  const bodies: Uint8Array[] = [];
  const sent: ReturnType<typeof readEntry>[] = [];
  const page = { hasMore: false, stop: 0 };
  let nextAnchor: bigint | undefined;
  let hole: HistoryHole | undefined;
  let receipt: Receipt | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case tagOf(1, VARINT):
        if (reader.uint32() !== CONTRACT_VERSION) throw protocolError('another contract version');
        break;
      case tagOf(2, BYTES):
        bodies.push(reader.view());
        break;
      case tagOf(3, BYTES):
        sent.push(readEntry(new WireReader(reader.view())));
        break;
      case tagOf(4, BYTES):
        receipt = readReceipt(new WireReader(reader.view()));
        break;
      case tagOf(5, VARINT):
        page.hasMore = reader.uint32() !== 0;
        break;
      case tagOf(6, VARINT):
        nextAnchor = uint64(reader);
        break;
      case tagOf(7, VARINT):
        page.stop = reader.uint32();
        break;
      case tagOf(8, BYTES):
        hole = readHole(new WireReader(reader.view()));
        break;
      default:
        reader.skip(tag);
    }
  }
  const entries = sent.map((entry) => settled(entry, bodies));
  return { entries, hasMore: page.hasMore, nextAnchor, stop: historyStopName(page.stop), hole, receipt };
}

function readEntry(reader: WireReader) {
  const entry: { code: number; body: number; seq: bigint; messageId: Uint8Array } = {
    code: 0,
    body: 0,
    seq: 0n,
    messageId: new Uint8Array(0),
  };
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === tagOf(1, VARINT)) entry.code = reader.uint32();
    else if (tag === tagOf(2, VARINT)) entry.body = reader.uint32();
    else if (tag === tagOf(4, VARINT)) entry.seq = uint64(reader);
    else if (tag === tagOf(5, BYTES)) entry.messageId = reader.view();
    else reader.skip(tag);
  }
  return entry;
}

function settled(entry: ReturnType<typeof readEntry>, bodies: readonly Uint8Array[]): HistoryEntry {
  const result = settledName(entry.code);
  if (hasBody(entry.code) !== entry.body > 0) throw protocolError('an entry that is not settled');
  const body = entry.body > 0 ? bodies[entry.body - 1] : undefined;
  if (hasBody(entry.code) && body === undefined) throw protocolError('a body that is not there');
  return { seq: entry.seq, messageId: responseId(entry.messageId), result, body };
}

function readHole(reader: WireReader): HistoryHole {
  const hole = { beganAt: 0n, continueAnchor: 0n };
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === tagOf(1, VARINT)) hole.beganAt = uint64(reader);
    else if (tag === tagOf(2, VARINT)) hole.continueAnchor = uint64(reader);
    else reader.skip(tag);
  }
  return hole;
}

function uint64(reader: WireReader): bigint {
  reader.uint64();
  return reader.value64;
}
