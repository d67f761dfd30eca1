/**
 * The ordered keys of the file. Pure.
 *
 *     message_record, message_reaction_summary:  tenant 16 | conversation 16 | bucket 8 BE | seq 8 BE
 *     expiry:                                    second 8 BE | row key 48
 *     key:                                       length 2 BE, key_scope | length 2 BE, key_id | key_version 4 BE
 *     destroyed:                                 millisecond 8 BE | key's key
 *
 * All numbers are non-negative, so the order of bytes is their order and a bucket is one contiguous range.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import type { DekId } from '../domain/message.js';

const BUCKET_AT = 32;
const SEQ_AT = 40;
const ROW_KEY_BYTES = 48;
const TIME_BYTES = 8;

/** LMDB's keys have a length limit; with this bound the longest of ours stays well below it. */
const KEY_NAME_BYTES_MAX = 900;

export function rowKey(
  tenantId: TenantId,
  conversationId: ConversationId,
  bucket: bigint,
  seq: bigint,
): Buffer {
  const key = Buffer.allocUnsafe(ROW_KEY_BYTES);
  key.set(tenantId, 0);
  key.set(conversationId, 16);
  key.writeBigUInt64BE(bucket, BUCKET_AT);
  key.writeBigUInt64BE(seq, SEQ_AT);
  return key;
}

/** The seq of a row's key. */
export function seqOfKey(key: Buffer): bigint {
  return key.readBigUInt64BE(SEQ_AT);
}

/** A key that sorts by a time first. The time is cut to whole units, and to 0 when it lies before 1970. */
export function timeKey(time: number, rest: Uint8Array = new Uint8Array(0)): Buffer {
  const key = Buffer.allocUnsafe(TIME_BYTES + rest.length);
  key.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(time))), 0);
  key.set(rest, TIME_BYTES);
  return key;
}

/** The time of a timeKey. */
export function timeOfKey(key: Buffer): number {
  return Number(key.readBigUInt64BE(0));
}

/** What follows the time in a timeKey; a view. */
export function restOfKey(key: Buffer): Buffer {
  return key.subarray(TIME_BYTES);
}

/** The key of a data key, or the prefix of all of a scope, or of one id's versions. */
export function dekKeyBytes(scope: string, id?: string, version?: number): Buffer {
  const parts = [name(scope)];
  if (id !== undefined) parts.push(name(id));
  if (version !== undefined) {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(version);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

export function dekIdKey({ scope, id, version }: DekId): Buffer {
  return dekKeyBytes(scope, id, version);
}

function name(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > KEY_NAME_BYTES_MAX) {
    throw new MailjoinError(
      'STORE_REFUSED',
      `a key_scope or key_id is longer than ${KEY_NAME_BYTES_MAX} bytes`,
    );
  }
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
