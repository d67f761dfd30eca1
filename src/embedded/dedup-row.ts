/** A row of client_dedup in the file: its values and the second at which the table's TTL ends it. Pure. */
import { MailjoinError } from '../domain/errors.js';
import { type MessageId, messageIdOf } from '../domain/ids.js';
import { decodeValue, encodeValue } from './row-codec.js';

export interface DedupRow {
  readonly messageId: MessageId;
  readonly seq: bigint;
  readonly state: number;
  readonly createdAtMs: bigint;
  readonly expiresAtS: number;
}

export function encodeDedup({ messageId, seq, state, createdAtMs, expiresAtS }: DedupRow): Buffer {
  return encodeValue([messageId, seq, state, createdAtMs, expiresAtS]);
}

export function decodeDedup(bytes: Uint8Array): DedupRow {
  const [id, seq, state, createdAtMs, expiresAtS] = decodeValue(bytes);
  const messageId = id instanceof Uint8Array ? messageIdOf(id) : undefined;
  if (
    messageId === undefined ||
    typeof seq !== 'bigint' ||
    typeof state !== 'number' ||
    typeof createdAtMs !== 'bigint' ||
    typeof expiresAtS !== 'number'
  ) {
    throw new MailjoinError('STORE_CORRUPT', 'a stored row of client_dedup has another shape');
  }
  return { messageId, seq, state, createdAtMs, expiresAtS };
}
