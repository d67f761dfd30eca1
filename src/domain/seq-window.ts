/**
 * How a conversation's windows of sequence numbers follow each other: the same for both stores. Pure; SEQ_RANGE when
 * the numbers are used up (R1.1).
 */
import { strict as assert } from 'node:assert';
import { isSeq } from './seq.js';
import { requireSeq } from './write-checks.js';
import type { SeqWindow } from './write-ports.js';

/** The first seq of a conversation. */
export const FIRST_SEQ = 1n;

/** What a store keeps of a conversation's windows. Both only grow. */
export interface ReservedWindows {
  /** The first seq that nobody has reserved. */
  readonly nextSeq: bigint;
  /** The latest time that a reserver gave, milliseconds since 1970. */
  readonly reservedAtMs: bigint;
}

/**
 * The window after those reserved, and what to keep then. Its idFloorMs never falls from one window to the next, so
 * that ids rise with the seqs also when the next owner's clock is behind.
 */
export function windowAfter(
  reserved: ReservedWindows | undefined,
  count: number,
  nowEpochMs: bigint,
): { readonly window: SeqWindow; readonly mark: ReservedWindows } {
  assert(Number.isSafeInteger(count) && count > 0, 'a window has at least one seq');
  assert(isSeq(nowEpochMs), 'a time is milliseconds since 1970');
  const first = reserved?.nextSeq ?? FIRST_SEQ;
  const nextSeq = first + BigInt(count);
  // Also the mark must fit its column, so the very last seq is never reserved.
  requireSeq(nextSeq, 'the end of the window');
  const formerMs = reserved?.reservedAtMs ?? 0n;
  const idFloorMs = formerMs > nowEpochMs ? formerMs : nowEpochMs;
  return { window: { first, count, idFloorMs }, mark: { nextSeq, reservedAtMs: idFloorMs } };
}
