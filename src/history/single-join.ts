/** A join of one message, whose coordinates are known. Pure. */
import type { JoinRequest } from '../codec/join-request.js';
import { EntryColumns, RequestKind } from '../domain/entries.js';
import { ID_BYTES, type MessageId } from '../domain/ids.js';
import { RESPONSE_BYTES_MAX } from '../domain/limits.js';
import type { Coordinates } from '../domain/message.js';

export interface SingleMessage extends Coordinates {
  readonly messageId: MessageId;
  readonly deadlineMs: number;
}

/** Of the kind that never starves live delivery. */
export function singleJoin({
  tenantId,
  conversationId,
  messageId,
  seq,
  deadlineMs,
}: SingleMessage): JoinRequest {
  const bytes = new Uint8Array(2 * ID_BYTES);
  bytes.set(conversationId, 0);
  bytes.set(messageId, ID_BYTES);
  const entries = new EntryColumns(bytes, 1);
  entries.messageAt[0] = ID_BYTES;
  entries.seqHi[0] = Number(seq >> 32n);
  entries.seqLo[0] = Number(seq & 0xffff_ffffn);
  const kind = RequestKind.MAILBOX_BATCH;
  return { kind, tenantId, entries, deadlineMs, responseBytesMax: RESPONSE_BYTES_MAX, wantReceipt: false };
}
