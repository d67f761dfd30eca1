/**
 * What both stores, and whoever compares keys, must see alike in a reaction: when its write happened (D19), and the one
 * form of its key (B46). Pure.
 */
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

const VARIATION_SELECTOR = /\uFE0F/g;

/**
 * The form in which a key is stored and compared, also for texts of foreign writers (B46): U+FE0F (the variation selector
 * that asks for the coloured form) is dropped, then NFC. So U+2764 and U+2764 U+FE0F are one reaction, as are U+1F44D with
 * and without it. Skin tones, sequences joined by U+200D and application-defined texts stay as they are. The empty key
 * stands for "taken back".
 */
export function reactionKeyOf(text: string): string {
  return text.replace(VARIATION_SELECTOR, '').normalize('NFC');
}
