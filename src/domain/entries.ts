/**
 * The entries of one request as columns over one buffer that the batch owns.
 *
 * A batch may hold thousands of entries and most of them are cache hits, so an entry is no object: it is an index
 * into typed arrays, and its ids are offsets into `bytes`. A codec fills the columns once; afterwards only `code`
 * changes, as the batch settles. Ids of an INVALID entry are not to be read.
 */
import { type ActivityId, activityIdOf } from './ids.js';
import { type InvalidReason, ResultCode } from './result.js';

/** Offset of a field that the entry does not have. */
export const ABSENT = -1;

export class EntryColumns {
  /** Owned by the batch; holds every id of every entry. Empty until the codec has seen the whole request. */
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Offset of the 16 bytes of conversation_id. */
  readonly conversationAt: Int32Array;
  /** Offset of the 16 bytes of message_id. */
  readonly messageAt: Int32Array;
  /** conversation_seq, high and low 32 bits (bit 63 is 0 for every entry that is not INVALID). */
  readonly seqHi: Uint32Array;
  readonly seqLo: Uint32Array;
  /** Offset of the floor's 16-byte last_activity_id, or ABSENT. */
  readonly floorAt: Int32Array;
  /** The floor's summary_version; 0 = none. */
  readonly floorVersion: BigInt64Array;
  /** ResultCode: PENDING to be joined; INLINE and INVALID are settled by the codec. */
  readonly code: Uint8Array;
  /** InvalidReason, where code is INVALID. */
  readonly reason: Uint8Array;
  /** Body of the entry among the response's bodies, counted from 1; 0 = none. */
  readonly body: Uint32Array;

  constructor(bytes: Uint8Array, count: number) {
    this.bytes = bytes;
    this.count = count;
    this.conversationAt = new Int32Array(count);
    this.messageAt = new Int32Array(count);
    this.seqHi = new Uint32Array(count);
    this.seqLo = new Uint32Array(count);
    this.floorAt = new Int32Array(count).fill(ABSENT);
    this.floorVersion = new BigInt64Array(count);
    this.code = new Uint8Array(count);
    this.reason = new Uint8Array(count);
    this.body = new Uint32Array(count);
  }

  /** conversation_seq of an entry. */
  seq(index: number): bigint {
    return (BigInt(this.seqHi[index] as number) << 32n) | BigInt(this.seqLo[index] as number);
  }

  /** The floor's last_activity_id, or undefined. A view on `bytes`. */
  floorActivity(index: number): ActivityId | undefined {
    const at = this.floorAt[index] as number;
    return at === ABSENT ? undefined : activityIdOf(this.bytes.subarray(at, at + 16));
  }

  /** Settles an entry as INVALID; the first reason stays. */
  invalidate(index: number, reason: InvalidReason): void {
    if (this.code[index] === ResultCode.INVALID) return;
    this.code[index] = ResultCode.INVALID;
    this.reason[index] = reason;
  }
}

/** What the request is for; it chooses default deadline and admission (R4.3, "mailbox batch"). */
export const RequestKind = { MAILBOX_BATCH: 1, PUSH_EVENTS: 2 } as const;
export type RequestKind = (typeof RequestKind)[keyof typeof RequestKind];
