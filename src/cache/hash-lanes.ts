/**
 * The steps of the region's seeded 64-bit hash: two 32-bit lanes that take words in turn and feed each other. Pure, and part of
 * the layout: readers of another build must hash alike. No cryptographic strength is claimed; equal hashes are
 * possible and every hit compares the words themselves.
 */

// Odd multipliers with mixed bits; any would do.
const MULTIPLIER_A = 0x9e3779b1 | 0;
const MULTIPLIER_B = 0x85ebca77 | 0;
const MULTIPLIER_C = 0xc2b2ae3d | 0;

/**
 * One word into each lane, and the other lane's state. The shift folds high bits down: without it a difference in a top
 * bit stays there, and two such differences cancel whatever the seed is (test/cache/region.test.ts).
 */
export function stepA(a: number, b: number, word: number): number {
  const mixed = Math.imul(a ^ word, MULTIPLIER_A);
  return ((mixed ^ (mixed >>> 15)) + rotate(b, 13)) | 0;
}

export function stepB(a: number, b: number, word: number): number {
  const mixed = Math.imul(b ^ word, MULTIPLIER_B);
  return ((mixed ^ (mixed >>> 13)) + rotate(a, 7)) | 0;
}

/** The upper 32 bits of the hash, from the lanes' last state. */
export function finishHi(a: number, b: number): number {
  return spread((a + rotate(b, 9)) | 0);
}

/** The lower 32 bits. */
export function finishLo(b: number, hashHi: number): number {
  return spread(b ^ hashHi);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** Makes every bit of the result depend on every bit of the value; one to one. */
function spread(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), MULTIPLIER_C);
  mixed = Math.imul(mixed ^ (mixed >>> 13), MULTIPLIER_A);
  return mixed ^ (mixed >>> 16);
}
