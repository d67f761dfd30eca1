/**
 * What every write is held to before a store is touched, the same in both adapters: R1.1 (bit 63) and D8 (no TTL of
 * 0, none beyond what CQL takes). Pure; fails with SEQ_RANGE or TTL_RANGE.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from './errors.js';
import { TTL_SECONDS_MAX } from './limits.js';
import type { WriteLife } from './ports.js';
import { isSeq } from './seq.js';

/** SEQ_RANGE for a sequence number that no column can hold in order (R1.1); an absent one passes. */
export function requireSeq(seq: bigint | undefined, name: string): void {
  if (seq !== undefined && !isSeq(seq)) throw new MailjoinError('SEQ_RANGE', name);
}

/** TTL_RANGE unless the TTL is absent or whole seconds from 1 to 20 years (D8); a write has a timestamp (D14). */
export function requireLife({ ttlSeconds, timestampMicros }: WriteLife): void {
  assert(isSeq(timestampMicros), 'a write has a timestamp (D14)');
  if (ttlSeconds === undefined) return;
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > TTL_SECONDS_MAX) {
    throw new MailjoinError('TTL_RANGE', `${ttlSeconds} seconds`);
  }
}
