/**
 * Encodes a whole HTTP request with its JoinRequest (proto/mailjoin.proto) by hand, into a buffer that is used again.
 *
 *     | free | head, ending with an empty line | JoinRequest |
 *            ^ from                            ^ HEAD_ROOM_BYTES
 *
 * The body is written first, since the head names its length; the head is then set right before it. The offset of
 * each entry's message_id is noted, so that the response's bodies can be held against it (B39). Requests come here
 * checked (join-request.ts), so nothing here fails but for their size.
 */

import { CONTRACT_VERSION } from '../codec/join-request.js';
import { tagOf, WireType, writeVarint, writeVarint64 } from '../codec/wire.js';
import { RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES, parseIdHex, parseUuid } from '../domain/ids.js';
import { DEADLINE_MS_MAX, REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX } from '../domain/limits.js';
import type { JoinEntry, PreparedJoin } from './join-request.js';
import { type RequestBuffer, reserveRequest } from './request-buffer.js';

const { VARINT, BYTES } = WireType;
const TAG = {
  CONTRACT_VERSION: tagOf(1, VARINT),
  KIND: tagOf(2, VARINT),
  TENANT_ID: tagOf(3, BYTES),
  ENTRIES: tagOf(4, BYTES),
  DEADLINE_MS: tagOf(5, VARINT),
  RESPONSE_BYTES_MAX: tagOf(6, VARINT),
  WANT_RECEIPT: tagOf(7, VARINT),
} as const;
const ENTRY_TAG = {
  CONVERSATION_ID: tagOf(1, BYTES),
  CONVERSATION_SEQ: tagOf(2, VARINT),
  MESSAGE_ID: tagOf(3, BYTES),
  MAILBOX_SEQ: tagOf(4, VARINT),
  FLOOR_LAST_ACTIVITY_ID: tagOf(5, BYTES),
  FLOOR_SUMMARY_VERSION: tagOf(6, VARINT),
  INLINE_BODY: tagOf(7, BYTES),
} as const;

const HEAD_START =
  'POST /v1/join HTTP/1.1\r\nHost: mailjoin\r\nContent-Type: application/x-protobuf\r\nContent-Length: ';
const HEAD_END = '\r\n\r\n';
/** The head with a length of ten digits. */
const HEAD_ROOM_BYTES = HEAD_START.length + 10 + HEAD_END.length;
/** Everything beside entries: version, kind, tenant, deadline, response limit, receipt. */
const FIXED_BYTES_MAX = 64;
/** An entry's tags and lengths and its three varints of ten bytes; its ids are counted apart. */
const ENTRY_BYTES_MAX = 2 * 6 + 3 * 11 + 3 * 6 + 2;
/** A text id takes its 16 bytes; a text that is none takes none. */
const EMPTY = new Uint8Array(0);
const U64_MAX = 0xffff_ffff_ffff_ffffn;
const scratch64 = new BigUint64Array(1);
/** Halves of scratch64; which of them is the low one is the machine's byte order. */
const scratch32 = new Uint32Array(scratch64.buffer);
scratch64[0] = 1n;
const LOW = scratch32[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** What the request can take at most; its buffer is reserved for that. */
function requestBytesMax(prepared: PreparedJoin): number {
  return FIXED_BYTES_MAX + prepared.request.entries.length * ENTRY_BYTES_MAX + prepared.idBytes;
}

/**
 * Encodes the entries of `indexes`, or all of them; `messageAt[i]` becomes the offset in `buffer.bytes` of the
 * message_id of the i-th entry sent, or −1 where it is not 16 bytes long. Returns the bytes to send.
 */
export function encodeJoinRequest(
  buffer: RequestBuffer,
  prepared: PreparedJoin,
  indexes: readonly number[] | undefined,
  deadlineMs: number,
  messageAt: Int32Array,
): Uint8Array {
  const { request } = prepared;
  const bytes = reserveRequest(buffer, HEAD_ROOM_BYTES + requestBytesMax(prepared));
  let at = HEAD_ROOM_BYTES;
  bytes[at++] = TAG.CONTRACT_VERSION;
  bytes[at++] = CONTRACT_VERSION;
  bytes[at++] = TAG.KIND;
  bytes[at++] = RequestKind[request.kind];
  at = writeId(bytes, at, TAG.TENANT_ID, prepared.tenantId);
  bytes[at++] = TAG.DEADLINE_MS;
  at = writeVarint(bytes, at, Math.min(deadlineMs, DEADLINE_MS_MAX));
  if (request.responseBytesMax !== undefined) {
    bytes[at++] = TAG.RESPONSE_BYTES_MAX;
    at = writeVarint(bytes, at, Math.min(Math.max(1, request.responseBytesMax), RESPONSE_BYTES_MAX));
  }
  if (request.wantReceipt === true) {
    bytes[at++] = TAG.WANT_RECEIPT;
    bytes[at++] = 1;
  }
  const count = indexes === undefined ? request.entries.length : indexes.length;
  for (let index = 0; index < count; index++) {
    const entry = request.entries[indexes === undefined ? index : (indexes[index] as number)] as JoinEntry;
    bytes[at] = TAG.ENTRIES;
    const end = writeEntry(bytes, at + 2, entry, messageAt, index);
    at = closeEntry(bytes, at + 1, end, messageAt, index);
  }
  return placeHead(bytes, at);
}

/** Writes one entry's fields; returns the offset behind them. */
function writeEntry(
  bytes: Buffer,
  start: number,
  entry: JoinEntry,
  messageAt: Int32Array,
  index: number,
): number {
  const { floor, mailboxSeq } = entry;
  let at = writeId(bytes, start, ENTRY_TAG.CONVERSATION_ID, uuidBytes(entry.conversationId));
  at = writeSeq(bytes, at, ENTRY_TAG.CONVERSATION_SEQ, entry.seq);
  const messageId = hexBytes(entry.messageId);
  at = writeId(bytes, at, ENTRY_TAG.MESSAGE_ID, messageId);
  messageAt[index] = messageId.length === ID_BYTES ? at - ID_BYTES : -1;
  if (mailboxSeq !== undefined) at = writeSeq(bytes, at, ENTRY_TAG.MAILBOX_SEQ, mailboxSeq);
  if (floor?.lastActivityId !== undefined) {
    at = writeId(bytes, at, ENTRY_TAG.FLOOR_LAST_ACTIVITY_ID, floor.lastActivityId);
  }
  if (floor?.summaryVersion !== undefined) {
    at = writeSeq(bytes, at, ENTRY_TAG.FLOOR_SUMMARY_VERSION, floor.summaryVersion);
  }
  if (entry.inlineBody !== undefined) {
    // Present but empty: the sidecar reads nothing of it, and the caller gets its own bytes back.
    bytes[at++] = ENTRY_TAG.INLINE_BODY;
    bytes[at++] = 0;
  }
  return at;
}

/** Sets the entry's length; one byte is left for it, which only ids of wrong lengths can exceed. */
function closeEntry(
  bytes: Buffer,
  lengthAt: number,
  end: number,
  messageAt: Int32Array,
  index: number,
): number {
  const length = end - lengthAt - 1;
  if (length < 0x80) {
    bytes[lengthAt] = length;
    return end;
  }
  const contentAt = writeVarint(new Uint8Array(5), 0, length) + lengthAt;
  bytes.copyWithin(contentAt, lengthAt + 1, end);
  writeVarint(bytes, lengthAt, length);
  if (messageAt[index] !== -1) messageAt[index] = (messageAt[index] as number) + contentAt - lengthAt - 1;
  return contentAt + length;
}

/** A length-delimited field; 16 bytes are copied by hand, which is cheaper than a call for so few. */
function writeId(bytes: Uint8Array, start: number, tag: number, id: Uint8Array): number {
  bytes[start] = tag;
  const at = writeVarint(bytes, start + 1, id.length);
  if (id.length === ID_BYTES)
    for (let index = 0; index < ID_BYTES; index++) bytes[at + index] = id[index] as number;
  else bytes.set(id, at);
  return at + id.length;
}

/** A u64 as it is; a value that is none becomes 2^64 − 1, which the sidecar answers as out of range, too (D6). */
function writeSeq(bytes: Uint8Array, start: number, tag: number, value: bigint): number {
  bytes[start] = tag;
  scratch64[0] = value < 0n || value > U64_MAX ? U64_MAX : value;
  return writeVarint64(bytes, start + 1, scratch32[HIGH] as number, scratch32[LOW] as number);
}

function uuidBytes(id: Uint8Array | string): Uint8Array {
  return typeof id === 'string' ? (parseUuid(id) ?? EMPTY) : id;
}

function hexBytes(id: Uint8Array | string): Uint8Array {
  return typeof id === 'string' ? (parseIdHex(id) ?? EMPTY) : id;
}

/** Sets the head right before the body in [HEAD_ROOM_BYTES, end). */
function placeHead(bytes: Buffer, end: number): Uint8Array {
  const head = HEAD_START + String(end - HEAD_ROOM_BYTES) + HEAD_END;
  const from = HEAD_ROOM_BYTES - head.length;
  bytes.write(head, from, 'latin1');
  return bytes.subarray(from, end);
}

/** Refuses a request that the sidecar would refuse for its size; only ids of wrong lengths can make one so large. */
export function checkRequestBytes(prepared: PreparedJoin): void {
  if (requestBytesMax(prepared) > REQUEST_BYTES_MAX) throw new MailjoinError('REQUEST_TOO_LARGE');
}
