/** When a reaction's write happened, as the stores order it (D19): the same for both. Pure. */
import { strict as assert } from 'node:assert';
import { isSeq } from './seq.js';
import type { Reaction } from './write-ports.js';

/**
 * The timestamp of a reaction's row: of a user's two writes the later createdAtMs wins. Two in the same millisecond
 * are reconciled by the bytes of their keys, so whoever takes a reaction back uses a later millisecond.
 */
export function reactionTimestamp({ createdAtMs }: Reaction): bigint {
  const timestamp = createdAtMs * 1000n;
  assert(isSeq(timestamp), 'a reaction was made after 1970');
  return timestamp;
}
