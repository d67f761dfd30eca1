/** The planner's constants out of timings. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf, crossoverOf, fitCosts, type TimedStatement } from '../../src/calibrate/fit-costs.js';

const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200];
const RANGE_COUNTS = [...COUNTS, 31, 73, 149, 397, 785, 500, 1_000];

/** What a store of these costs takes, each figure off by its own share. */
function timed(S: number, R: number, I: number, off: (at: number) => number): TimedStatement[] {
  const costs = { statementMicros: S, rangeRowMicros: R, inElementMicros: I };
  const of = (isIn: boolean, count: number, at: number): TimedStatement => {
    return { isIn, count, micros: costOf({ isIn, count }, costs) * (1 + off(at)) };
  };
  return [
    ...RANGE_COUNTS.map((count, at) => of(false, count, at)),
    ...COUNTS.map((count, at) => of(true, count, RANGE_COUNTS.length + at)),
  ];
}

const cost = fc.double({ min: 1, max: 1_000, noNaN: true });
const few = { min: 0.5, max: 100, noNaN: true };

describe('fitting constants', () => {
  it('without figures there is nothing to tell, and nothing fails', () => {
    expect(fitCosts([])).toEqual({
      statementMicros: 0,
      rangeRowMicros: 0,
      inElementMicros: 0,
      rangeError: undefined,
      inError: undefined,
    });
    const [only] = timed(100, 10, 0, () => 0);
    expect(fitCosts(only === undefined ? [] : [only]).inError).toBeUndefined();
  });

  it('no constant is below 0, even where the figures fall', () => {
    const falling = [1, 10, 100].map((count) => ({ isIn: false, count, micros: 500 / count }));
    const { statementMicros, rangeRowMicros } = fitCosts(falling);
    expect(statementMicros).toBeGreaterThan(0);
    expect(rangeRowMicros).toBe(0);
  });

  it('from timings with noise the constants come back, each as well as it can be told from the others', () => {
    fc.assert(
      fc.property(
        cost,
        fc.double(few),
        fc.double(few),
        fc.integer({ min: 1, max: 2 ** 30 }),
        (S, R, I, seed) => {
          let state = seed;
          const noise = (): number => {
            state = (state * 16_807) % 2_147_483_647;
            return 0.1 * (state / 2_147_483_647 - 0.5);
          };
          const fit = fitCosts(timed(S, R, I, noise));
          const [shortest, longestRange, longestIn] = [S + Math.min(R, I), S + 1_000 * R, S + 200 * I];
          expect(Math.abs(fit.statementMicros - S)).toBeLessThan(0.1 * shortest + 0.05 * Math.max(R, I));
          expect(Math.abs(fit.rangeRowMicros - R) * 1_000).toBeLessThan(0.1 * longestRange);
          expect(Math.abs(fit.inElementMicros - I) * 200).toBeLessThan(0.1 * longestIn);
          expect(Math.max(fit.rangeError ?? 1, fit.inError ?? 1)).toBeLessThan(0.06);
        },
      ),
    );
  });

  it('without noise they come back exactly', () => {
    fc.assert(
      fc.property(cost, fc.double(few), fc.double(few), (S, R, I) => {
        const fit = fitCosts(timed(S, R, I, () => 0));
        expect(fit.statementMicros / S).toBeCloseTo(1, 4);
        expect(fit.rangeRowMicros / R).toBeCloseTo(1, 4);
        expect(fit.inElementMicros / I).toBeCloseTo(1, 4);
      }),
    );
  });

  it('a few figures spoilt by a pause do not bend the lines', () => {
    const spoilt = new Set([3, 9, 17]);
    const fit = fitCosts(timed(650, 11, 17, (at) => (spoilt.has(at) ? 4 : 0)));
    expect(fit.statementMicros).toBeCloseTo(650, 0);
    expect(fit.rangeRowMicros).toBeCloseTo(11, 1);
    expect(fit.inElementMicros).toBeCloseTo(17, 1);
  });

  it('says how far the figures lie from their lines', () => {
    const fit = fitCosts(timed(650, 11, 17, (at) => (at % 2 === 0 ? 0.4 : -0.4)));
    expect(fit.rangeError).toBeGreaterThan(0.2);
    expect(fit.inError).toBeGreaterThan(0.2);
  });

  it('the crossover is the rows of a range that cost what an element does; none where rows cost nothing', () => {
    expect(crossoverOf({ statementMicros: 1, rangeRowMicros: 10, inElementMicros: 25 })).toBe(2.5);
    expect(crossoverOf({ statementMicros: 1, rangeRowMicros: 0, inElementMicros: 25 })).toBeUndefined();
  });
});
