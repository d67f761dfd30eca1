/**
 * event_id of a CONTROL event (R1): the first 8 bytes of a blake3 hash over what the event is. A repetition of the same
 * event has the same id, whichever process computes it, so that readers of the log drop repeats (S-7, D17): a recall's
 * follows from its row alone, which names the event's seq but not the revision that it was assigned.
 *
 *     hashed:  label | kind 1 | tenant_id 16 | conversation_id 16 | target message_id 16 | event's conversation_seq 8
 *
 * Every part has a fixed length, so no two events are the same bytes. Pure.
 */
import { blake3 } from '@noble/hashes/blake3.js';
import type { ConversationId, MessageId, TenantId } from '../domain/ids.js';

const LABEL = new TextEncoder().encode('mailjoin.event.v2');
/** Part of what is hashed: never changed, only added to. */
const KINDS = { recall: 1, edit: 2 } as const;
const EVENT_ID_BYTES = 8;
const SEQ_BYTES = 8;

/** What makes an event that event. */
export interface EventIdentity {
  readonly kind: keyof typeof KINDS;
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  /** The message that the event changes. */
  readonly messageId: MessageId;
  /** The event's own conversation_seq: a second edit of one message is another event. */
  readonly seq: bigint;
}

/** The event's id as an unsigned 64-bit number. */
export function eventId(event: EventIdentity): bigint {
  const hash = blake3.create({ dkLen: EVENT_ID_BYTES });
  hash.update(LABEL).update(Uint8Array.of(KINDS[event.kind]));
  hash.update(event.tenantId).update(event.conversationId).update(event.messageId).update(bytesOf(event.seq));
  return Buffer.from(hash.digest()).readBigUInt64BE(0);
}

function bytesOf(seq: bigint): Uint8Array {
  const bytes = Buffer.alloc(SEQ_BYTES);
  bytes.writeBigUInt64BE(seq);
  return bytes;
}
