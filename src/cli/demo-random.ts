/**
 * The demo's randomness: a small fast generator (sfc32) from a printed seed, so that a run can be repeated exactly.
 * For made-up data only; keys and nonces never come from here.
 */
const WARM_UP_ROUNDS = 12;

export class DemoRandom {
  #a: number;
  #b = 0x9e37_79b9;
  #c = 0x2545_f491;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed >>> 0;
    for (let i = 0; i < WARM_UP_ROUNDS; i++) this.uint32();
  }

  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 up to, not including, 1. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  /** A whole number from min to max, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    // Every caller's list has elements; the index lies inside it.
    return list[this.between(0, list.length - 1)] as T;
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count);
    let at = 0;
    for (; at + 4 <= count; at += 4) bytes.writeUInt32LE(this.uint32(), at);
    for (; at < count; at++) bytes[at] = this.uint32() & 0xff;
    return bytes;
  }

  /** A rank from 0 to count − 1; rank r comes with a weight of 1 / (r + 1)^skew (Zipf). */
  rank(count: number, skew: number): number {
    // Inverse of the integral of x^−skew: close to Zipf and without a table.
    const u = this.fraction();
    const top = (count + 1) ** (1 - skew);
    return Math.min(count - 1, Math.floor((1 + u * (top - 1)) ** (1 / (1 - skew))) - 1);
  }
}
