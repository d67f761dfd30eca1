/**
 * Decodes HistoryRequest (proto/mailjoin.proto), and checks what every media type brings. A page is one question, so what
 * is wrong with it is an error of the whole: REQUEST_MALFORMED, CONTRACT_VERSION, TENANT_MISSING, or SEQ_RANGE for an
 * anchor with bit 63 set (D6).
 */
import { MailjoinError } from '../domain/errors.js';
import { HistoryDirection } from '../domain/history.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import {
  DEADLINE_MS_DEFAULT,
  DEADLINE_MS_MAX,
  HISTORY_LIMIT_DEFAULT,
  HISTORY_LIMIT_MAX,
  RESPONSE_BYTES_DEFAULT,
  RESPONSE_BYTES_MAX,
} from '../domain/limits.js';
import { isSeq } from '../domain/seq.js';
import { bigintOf, bytesOf } from './field-reading.js';
import {
  checkVersion,
  decodeFields,
  lowered,
  malformed,
  requiredConversation,
  requiredTenant,
} from './request-checks.js';
import type { WireReader } from './wire.js';

/** A decoded request: all that a page needs. */
export interface HistoryRequest {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly direction: HistoryDirection;
  /** Exclusive; undefined = the newest page, or for NEWER the first. */
  readonly anchor: bigint | undefined;
  /** 1 … HISTORY_LIMIT_MAX. */
  readonly limit: number;
  /** From the request's arrival; 1 … DEADLINE_MS_MAX. */
  readonly deadlineMs: number;
  /** Bytes of bodies in the response; the first body is always sent. */
  readonly responseBytesMax: number;
  readonly wantReceipt: boolean;
}

/** The fields as a media type brings them, unchecked; absent numbers are 0. */
export interface HistoryFields {
  version: bigint;
  tenantId: Uint8Array | undefined;
  conversationId: Uint8Array | undefined;
  direction: bigint;
  anchor: bigint | undefined;
  limit: bigint;
  deadlineMs: bigint;
  responseBytesMax: bigint;
  wantReceipt: boolean;
}

export function noHistoryFields(): HistoryFields {
  return {
    version: 0n,
    tenantId: undefined,
    conversationId: undefined,
    direction: 0n,
    anchor: undefined,
    limit: 0n,
    deadlineMs: 0n,
    responseBytesMax: 0n,
    wantReceipt: false,
  };
}

/** Decodes a request. `bytes` belongs to the result from then on: ids are views on it. */
export function decodeHistoryRequest(bytes: Uint8Array): HistoryRequest {
  return historyRequestOf(decodeFields(bytes, noHistoryFields(), readField));
}

function readField(reader: WireReader, tag: number, fields: HistoryFields): void {
  switch (tag >>> 3) {
    case 1:
      fields.version = bigintOf(reader, tag);
      break;
    case 2:
      fields.tenantId = bytesOf(reader, tag);
      break;
    case 3:
      fields.conversationId = bytesOf(reader, tag);
      break;
    case 4:
      fields.direction = bigintOf(reader, tag);
      break;
    case 5:
      fields.anchor = bigintOf(reader, tag);
      break;
    case 6:
      fields.limit = bigintOf(reader, tag);
      break;
    case 7:
      fields.deadlineMs = bigintOf(reader, tag);
      break;
    case 8:
      fields.responseBytesMax = bigintOf(reader, tag);
      break;
    case 9:
      fields.wantReceipt = bigintOf(reader, tag) !== 0n;
      break;
    default:
      reader.skip(tag);
  }
}

/** Checks and completes the fields; the same for every media type. */
export function historyRequestOf(fields: HistoryFields): HistoryRequest {
  const { version, direction, anchor } = fields;
  checkVersion(version);
  const tenantId = requiredTenant(fields.tenantId);
  const conversationId = requiredConversation(fields.conversationId);
  if (direction !== BigInt(HistoryDirection.OLDER) && direction !== BigInt(HistoryDirection.NEWER)) {
    throw malformed('the direction is neither OLDER nor NEWER');
  }
  if (anchor !== undefined && !isSeq(anchor)) throw new MailjoinError('SEQ_RANGE', 'anchor');
  return {
    tenantId,
    conversationId,
    direction: direction === 0n ? HistoryDirection.OLDER : HistoryDirection.NEWER,
    anchor,
    limit: lowered(fields.limit, HISTORY_LIMIT_DEFAULT, HISTORY_LIMIT_MAX),
    deadlineMs: lowered(fields.deadlineMs, DEADLINE_MS_DEFAULT.MAILBOX_BATCH, DEADLINE_MS_MAX),
    responseBytesMax: lowered(fields.responseBytesMax, RESPONSE_BYTES_DEFAULT, RESPONSE_BYTES_MAX),
    wantReceipt: fields.wantReceipt,
  };
}
