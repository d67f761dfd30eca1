/**
 * The ordered keys of the file. Pure.
 *
 *     message_record, message_reaction_summary:  tenant 16 | conversation 16 | bucket 8 BE | seq 8 BE
 *     expiry:                                    second 8 BE | row key 48
 *     key:                                       length 2 BE, key_scope | length 2 BE, key_id | key_version 4 BE
 *     destroyed:                                 millisecond 8 BE | key's key
 *     client_dedup:                              tenant 16 | sender 16 | length 2 BE, client_message_id
 *     conversation_head, mailjoin_sequence:      tenant 16 | conversation 16
 *     message_reaction:                          tenant 16 | conversation 16 | seq 8 BE | user 16
 *     message_index:                             tenant 16 | message id 16
 *     side expiry:                               second 8 BE | table 1 | row's key
 *
 * All numbers are non-negative, so the order of bytes is their order and a bucket is one contiguous range.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, MessageId, TenantId, UserId } from '../domain/ids.js';
import type { Coordinates, DekId } from '../domain/message.js';

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

/** tenant | conversation: one row for a conversation. */
export function conversationKey(tenantId: TenantId, conversationId: ConversationId): Buffer {
  return Buffer.concat([tenantId, conversationId]);
}

/** tenant | message id. */
export function indexKey(tenantId: TenantId, messageId: MessageId): Buffer {
  return Buffer.concat([tenantId, messageId]);
}

/** tenant | sender | client_message_id; STORE_REFUSED for a text that no key can hold. */
export function dedupKey(tenantId: TenantId, senderId: UserId, clientMessageId: string): Buffer {
  return Buffer.concat([tenantId, senderId, name(clientMessageId)]);
}

/** A user's reaction to a message; without the user the prefix of all of them. */
export function reactionKey({ tenantId, conversationId, seq }: Coordinates, userId?: UserId): Buffer {
  const seqBytes = Buffer.alloc(8);
  seqBytes.writeBigUInt64BE(seq);
  return Buffer.concat([tenantId, conversationId, seqBytes, userId ?? new Uint8Array(0)]);
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
    // A CQL int (R1): what Cassandra would refuse is refused here.
    if ((version | 0) !== version) throw new MailjoinError('STORE_REFUSED', 'a key_version is no CQL int');
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(version);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

export function dekIdKey({ scope, id, version }: DekId): Buffer {
  return dekKeyBytes(scope, id, version);
}

/** A text inside a key, so that texts which run together stay apart. */
export function name(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > KEY_NAME_BYTES_MAX) {
    throw new MailjoinError(
      'STORE_REFUSED',
      `a name inside a key is longer than ${KEY_NAME_BYTES_MAX} bytes`,
    );
  }
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
