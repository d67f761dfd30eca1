/**
 * Sequence numbers and buckets (R1, R1.1, D6, D11).
 *
 * A conversation_seq or mailbox_seq is a u64 whose bit 63 must be 0, held as a bigint: JavaScript numbers
 * round above 2^53. Input from outside is *checked* (isSeq, INVALID); a value computed inside is *asserted*
 * (assertSeq), which ends the operation before the store is touched.
 */
import { strict as assert } from 'node:assert';

/** Width of a bucket in sequence numbers; never changed after the tables exist (D11). */
export const BUCKET_WIDTH = 4096;
const BUCKET_SHIFT = 12n;
assert.equal(1n << BUCKET_SHIFT, BigInt(BUCKET_WIDTH));

/** The largest sequence number: bit 63 is 0 (R1.1). */
export const SEQ_MAX = 0x7fff_ffff_ffff_ffffn;

/** True for a value that a seq column can hold in order (R1.1): 0 … 2^63 − 1. */
export function isSeq(value: bigint): boolean {
  return value >= 0n && value <= SEQ_MAX;
}

/** Ends the operation when a value computed inside has bit 63 set (D6): a bug, never input. */
export function assertSeq(value: bigint, name: string): void {
  assert(isSeq(value), `${name} has bit 63 set or is negative (R1.1)`);
}

/** seq_bucket = conversation_seq / W (integer division). */
export function bucketOf(seq: bigint): bigint {
  return seq >> BUCKET_SHIFT;
}

/** The first sequence number of a bucket. */
export function bucketStart(bucket: bigint): bigint {
  return bucket << BUCKET_SHIFT;
}

const DECIMAL = /^(0|[1-9][0-9]{0,18})$/;

/** A seq from its decimal text, else undefined (also for 2^63 and above). */
export function parseSeq(text: string): bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return isSeq(value) ? value : undefined;
}
