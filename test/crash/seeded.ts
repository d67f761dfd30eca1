/** Random choices from a seed that is printed, so that a failure can be repeated: set CRASH_SEED to it. */
export interface Seeded {
  /** A whole number from 0 to `end` − 1. */
  below(end: number): number;
  shuffled<T>(items: readonly T[]): T[];
}

export function seeded(what: string): Seeded {
  const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`${what}: seed ${seed}`);
  let state = seed;
  const below = (end: number): number => {
    // mulberry32's mixing of a counter.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
  return {
    below,
    shuffled: (items) => {
      const left = [...items];
      return items.flatMap(() => left.splice(below(left.length), 1));
    },
  };
}
