/**
 * The part that the two self-describing media types share (JSON and MessagePack): from a decoded, untyped value to a
 * JoinRequest. Field names are those of proto/mailjoin.proto; unknown fields are skipped. What is wrong with one entry
 * makes it INVALID; what is wrong beside the entries is REQUEST_MALFORMED.
 */
import { EntryColumns, RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES, tenantIdOf } from '../domain/ids.js';
import { ENTRIES_MAX } from '../domain/limits.js';
import { InvalidReason, ResultCode } from '../domain/result.js';
import { isSeq } from '../domain/seq.js';
import { type JoinRequest, joinSettings } from './join-request.js';
import { malformed, unsignedOf } from './request-checks.js';

/** How a media type writes ids and 64-bit numbers. Each parser answers undefined for what it cannot read at all. */
export interface Dialect {
  /** Bytes of a uuid, of whatever length was sent. */
  uuid(value: unknown): Uint8Array | undefined;
  /** Bytes of a u128 id, of whatever length was sent. */
  id(value: unknown): Uint8Array | undefined;
  /** An integer, in range or not. */
  integer(value: unknown): bigint | undefined;
  /** Whether a value can be an inline body, which is not looked into. */
  isBody(value: unknown): boolean;
}

/** Bytes per entry in the columns' buffer: conversation_id, message_id, floor. */
const ENTRY_BYTES = 3 * ID_BYTES;

type Fields = { readonly [name: string]: unknown };

/** Throws REQUEST_MALFORMED, CONTRACT_VERSION, KIND_UNKNOWN, TENANT_MISSING or ENTRIES_TOO_MANY. */
export function requestOf(value: unknown, dialect: Dialect): JoinRequest {
  const fields = requestFields(value);
  const list = fields.entries ?? [];
  if (!Array.isArray(list)) throw malformed('entries is no list');
  if (list.length > ENTRIES_MAX) {
    throw new MailjoinError('ENTRIES_TOO_MANY', `${list.length} entries, at most ${ENTRIES_MAX}`);
  }
  const tenant = fields.tenant_id === undefined ? undefined : dialect.uuid(fields.tenant_id);
  const settings = joinSettings(
    uint32Of(fields, 'contract_version', dialect),
    kindOf(fields.kind),
    tenant === undefined ? undefined : tenantIdOf(tenant),
    list.length,
    uint32Of(fields, 'deadline_ms', dialect),
    unsignedOf(fields, 'response_bytes_max', dialect),
  );
  const entries = new EntryColumns(Buffer.alloc(list.length * ENTRY_BYTES), list.length);
  for (let index = 0; index < list.length; index++) fillEntry(entries, index, list[index], dialect);
  return { ...settings, entries, wantReceipt: fields.want_receipt === true };
}

/** The fields of a whole request. REQUEST_MALFORMED. */
export function requestFields(value: unknown): Fields {
  const fields = fieldsOf(value);
  if (fields === undefined) throw malformed('the request is no map');
  return fields;
}

/** The fields of a map, or undefined; null is the same as absent. Only own properties are ever read through it. */
export function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  // Only plain objects are maps: no lists, no bytes, and none of MessagePack's extension types.
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  const fields: { [name: string]: unknown } = Object.create(null);
  for (const [name, field] of Object.entries(value)) if (field !== null) fields[name] = field;
  return fields;
}

function fillEntry(entries: EntryColumns, index: number, value: unknown, dialect: Dialect): void {
  const fields = fieldsOf(value);
  if (fields === undefined) {
    entries.invalidate(index, InvalidReason.MALFORMED);
    return;
  }
  const at = index * ENTRY_BYTES;
  entries.conversationAt[index] = at;
  entries.messageAt[index] = at + ID_BYTES;
  const { CONVERSATION_ID_LENGTH, MESSAGE_ID_LENGTH, FLOOR_MALFORMED } = InvalidReason;
  putId(entries, index, dialect.uuid(fields.conversation_id), at, CONVERSATION_ID_LENGTH);
  putId(entries, index, dialect.id(fields.message_id), at + ID_BYTES, MESSAGE_ID_LENGTH);
  const seq = seqOf(entries, index, fields.conversation_seq, dialect, InvalidReason.SEQ_RANGE);
  entries.seqHi[index] = Number(seq >> 32n);
  entries.seqLo[index] = Number(seq & 0xffff_ffffn);
  seqOf(entries, index, fields.mailbox_seq, dialect, InvalidReason.MAILBOX_SEQ_RANGE);
  if (fields.floor_last_activity_id !== undefined) {
    putId(entries, index, dialect.id(fields.floor_last_activity_id), at + 2 * ID_BYTES, FLOOR_MALFORMED);
    entries.floorAt[index] = at + 2 * ID_BYTES;
  }
  entries.floorVersion[index] = seqOf(entries, index, fields.floor_summary_version, dialect, FLOOR_MALFORMED);
  if (fields.inline_body === undefined || entries.code[index] !== ResultCode.PENDING) return;
  if (dialect.isBody(fields.inline_body)) entries.code[index] = ResultCode.INLINE;
  else entries.invalidate(index, InvalidReason.MALFORMED);
}

function putId(
  entries: EntryColumns,
  index: number,
  id: Uint8Array | undefined,
  at: number,
  reason: InvalidReason,
): void {
  if (id === undefined) entries.invalidate(index, InvalidReason.MALFORMED);
  else if (id.length !== ID_BYTES) entries.invalidate(index, reason);
  else entries.bytes.set(id, at);
}

/** A sequence number or version of an entry; 0 when it is absent or makes the entry INVALID. */
function seqOf(
  entries: EntryColumns,
  index: number,
  value: unknown,
  dialect: Dialect,
  reason: InvalidReason,
): bigint {
  if (value === undefined) return 0n;
  const seq = dialect.integer(value);
  if (seq !== undefined && isSeq(seq)) return seq;
  entries.invalidate(index, seq === undefined ? InvalidReason.MALFORMED : reason);
  return 0n;
}

function kindOf(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  if (value === 'MAILBOX_BATCH' || value === 'PUSH_EVENTS') return RequestKind[value];
  throw new MailjoinError('KIND_UNKNOWN');
}

function uint32Of(fields: Fields, name: string, dialect: Dialect): number {
  const value = unsignedOf(fields, name, dialect);
  if (value > 0xffff_ffffn) throw malformed(`${name} is above 32 bits`);
  return Number(value);
}
