/**
 * Decodes JoinRequest (proto/mailjoin.proto) from the one buffer that the batch owns.
 *
 * Two passes: the first counts the entries, so that the columns are allocated once; the second fills them. A field
 * of a known number with another wire type is malformed; unknown fields are skipped (B45). What is wrong with one
 * entry makes that entry INVALID (D6, B41); only an unreadable request fails as a whole.
 */
import { ABSENT, EntryColumns, RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES, type TenantId, tenantIdOf } from '../domain/ids.js';
import {
  DEADLINE_MS_DEFAULT,
  DEADLINE_MS_MAX,
  ENTRIES_MAX,
  RESPONSE_BYTES_DEFAULT,
  RESPONSE_BYTES_MAX,
} from '../domain/limits.js';
import { InvalidReason, ResultCode } from '../domain/result.js';
import { tagOf, WireError, WireReader, WireType } from './wire.js';

/** The contract version served; 0 on the wire means 1. */
export const CONTRACT_VERSION = 1;

/** A decoded request: all that a join needs. */
export interface JoinRequest {
  readonly kind: RequestKind;
  readonly tenantId: TenantId;
  readonly entries: EntryColumns;
  /** From the request's arrival; 1 … DEADLINE_MS_MAX. */
  readonly deadlineMs: number;
  /** Bytes of bodies in the response; the first body is always sent. */
  readonly responseBytesMax: number;
  readonly wantReceipt: boolean;
}

const TAG = {
  CONTRACT_VERSION: tagOf(1, WireType.VARINT),
  KIND: tagOf(2, WireType.VARINT),
  TENANT_ID: tagOf(3, WireType.BYTES),
  ENTRIES: tagOf(4, WireType.BYTES),
  DEADLINE_MS: tagOf(5, WireType.VARINT),
  RESPONSE_BYTES_MAX: tagOf(6, WireType.VARINT),
  WANT_RECEIPT: tagOf(7, WireType.VARINT),
} as const;
const FIELD_MAX = 7;

const ENTRY_TAG = {
  CONVERSATION_ID: tagOf(1, WireType.BYTES),
  CONVERSATION_SEQ: tagOf(2, WireType.VARINT),
  MESSAGE_ID: tagOf(3, WireType.BYTES),
  MAILBOX_SEQ: tagOf(4, WireType.VARINT),
  FLOOR_LAST_ACTIVITY_ID: tagOf(5, WireType.BYTES),
  FLOOR_SUMMARY_VERSION: tagOf(6, WireType.VARINT),
  INLINE_BODY: tagOf(7, WireType.BYTES),
} as const;
const ENTRY_FIELD_MAX = 7;

/**
 * Decodes a request. `bytes` belongs to the result from then on: ids stay offsets into it.
 * Throws REQUEST_MALFORMED, CONTRACT_VERSION, KIND_UNKNOWN, TENANT_MISSING or ENTRIES_TOO_MANY.
 */
export function decodeJoinRequest(bytes: Uint8Array): JoinRequest {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof WireError) {
      throw new MailjoinError('REQUEST_MALFORMED', error.message, { cause: error });
    }
    throw error;
  }
}

function decode(bytes: Uint8Array): JoinRequest {
  const reader = new WireReader(bytes);
  let version = 0;
  let kind = 0;
  let tenantId: TenantId | undefined;
  let entryCount = 0;
  let deadlineMs = 0;
  let responseBytesMax = 0n;
  let wantReceipt = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case TAG.CONTRACT_VERSION:
        version = reader.uint32();
        break;
      case TAG.KIND:
        kind = reader.uint32();
        break;
      case TAG.TENANT_ID:
        tenantId = tenantIdOf(reader.view());
        break;
      case TAG.ENTRIES:
        entryCount++;
        reader.passBytes();
        break;
      case TAG.DEADLINE_MS:
        deadlineMs = reader.uint32();
        break;
      case TAG.RESPONSE_BYTES_MAX:
        reader.uint64();
        responseBytesMax = reader.value64;
        break;
      case TAG.WANT_RECEIPT:
        wantReceipt = reader.uint32() !== 0;
        break;
      default:
        skipUnknown(reader, tag, FIELD_MAX);
    }
  }
  const settings = joinSettings(version, kind, tenantId, entryCount, deadlineMs, responseBytesMax);
  const entries = new EntryColumns(bytes, entryCount);
  fillEntries(reader, entries);
  return { ...settings, entries, wantReceipt };
}

/** Checks and completes what stands beside the entries; the same for every media type. */
export function joinSettings(
  version: number,
  kind: number,
  tenantId: TenantId | undefined,
  entryCount: number,
  deadlineMs: number,
  responseBytesMax: bigint,
): Pick<JoinRequest, 'kind' | 'tenantId' | 'deadlineMs' | 'responseBytesMax'> {
  if (version !== 0 && version !== CONTRACT_VERSION)
    throw new MailjoinError('CONTRACT_VERSION', String(version));
  if (kind !== RequestKind.MAILBOX_BATCH && kind !== RequestKind.PUSH_EVENTS) {
    throw new MailjoinError('KIND_UNKNOWN', String(kind));
  }
  if (tenantId === undefined) throw new MailjoinError('TENANT_MISSING');
  if (entryCount > ENTRIES_MAX) {
    throw new MailjoinError('ENTRIES_TOO_MANY', `${entryCount} entries, at most ${ENTRIES_MAX}`);
  }
  const deadlineDefaultMs =
    kind === RequestKind.MAILBOX_BATCH ? DEADLINE_MS_DEFAULT.MAILBOX_BATCH : DEADLINE_MS_DEFAULT.PUSH_EVENTS;
  const bytesMax = responseBytesMax === 0n ? BigInt(RESPONSE_BYTES_DEFAULT) : responseBytesMax;
  return {
    kind,
    tenantId,
    deadlineMs: Math.min(deadlineMs === 0 ? deadlineDefaultMs : deadlineMs, DEADLINE_MS_MAX),
    responseBytesMax: bytesMax > BigInt(RESPONSE_BYTES_MAX) ? RESPONSE_BYTES_MAX : Number(bytesMax),
  };
}

function skipUnknown(reader: WireReader, tag: number, fieldMax: number): void {
  if (tag >>> 3 <= fieldMax) throw new WireError(`field ${tag >>> 3} has another wire type`);
  reader.skip(tag);
}

function fillEntries(reader: WireReader, entries: EntryColumns): void {
  const messageEnd = reader.end;
  reader.at = 0;
  let index = 0;
  while (reader.at < messageEnd) {
    const tag = reader.tag();
    if (tag !== TAG.ENTRIES) {
      reader.skip(tag);
      continue;
    }
    const length = reader.length();
    reader.end = reader.at + length;
    fillEntry(reader, entries, index++);
    reader.end = messageEnd;
  }
}

function fillEntry(reader: WireReader, entries: EntryColumns, index: number): void {
  let conversationBytes = 0;
  let messageBytes = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case ENTRY_TAG.CONVERSATION_ID:
        conversationBytes = reader.length();
        entries.conversationAt[index] = reader.at;
        reader.at += conversationBytes;
        break;
      case ENTRY_TAG.CONVERSATION_SEQ:
        reader.uint64();
        entries.seqHi[index] = reader.hi;
        entries.seqLo[index] = reader.lo;
        if (reader.hi > 0x7fff_ffff) entries.invalidate(index, InvalidReason.SEQ_RANGE);
        break;
      case ENTRY_TAG.MESSAGE_ID:
        messageBytes = reader.length();
        entries.messageAt[index] = reader.at;
        reader.at += messageBytes;
        break;
      case ENTRY_TAG.MAILBOX_SEQ:
        reader.uint64();
        if (reader.hi > 0x7fff_ffff) entries.invalidate(index, InvalidReason.MAILBOX_SEQ_RANGE);
        break;
      case ENTRY_TAG.FLOOR_LAST_ACTIVITY_ID: {
        const length = reader.length();
        entries.floorAt[index] = length === ID_BYTES ? reader.at : ABSENT;
        if (length !== ID_BYTES && length !== 0) entries.invalidate(index, InvalidReason.FLOOR_MALFORMED);
        reader.at += length;
        break;
      }
      case ENTRY_TAG.FLOOR_SUMMARY_VERSION:
        reader.uint64();
        entries.floorVersion[index] = reader.value64;
        if (reader.hi > 0x7fff_ffff) entries.invalidate(index, InvalidReason.FLOOR_MALFORMED);
        break;
      case ENTRY_TAG.INLINE_BODY:
        reader.passBytes();
        if (entries.code[index] === ResultCode.PENDING) entries.code[index] = ResultCode.INLINE;
        break;
      default:
        skipUnknown(reader, tag, ENTRY_FIELD_MAX);
    }
  }
  if (conversationBytes !== ID_BYTES) entries.invalidate(index, InvalidReason.CONVERSATION_ID_LENGTH);
  else if (messageBytes !== ID_BYTES) entries.invalidate(index, InvalidReason.MESSAGE_ID_LENGTH);
}
