/** What is measured: every point lies inside its bucket and reads what it says. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isOfInCap,
  readPoints,
  rowsOf,
  SITE_ROWS_MIN,
  sitesFor,
  spanOf,
  statementCountOf,
  statementsAt,
} from '../../src/calibrate/read-points.js';
import { groupOf } from './calibrate-fixtures.js';

const FULL = groupOf(4_096);

describe('points to measure', () => {
  it('a bucket with too few rows for the IN cap is measured without it, an empty one not at all', () => {
    expect(readPoints([groupOf(0)])).toEqual([]);
    expect(readPoints([groupOf(1)]).map(({ shape, wanted }) => [shape, wanted])).toEqual([
      ['range', 1],
      ['in', 1],
    ]);
    const points = readPoints([groupOf(SITE_ROWS_MIN - 1)]);
    expect(points.length).toBeGreaterThan(20);
    expect(points.filter(isOfInCap)).toEqual([]);
    expect(readPoints([groupOf(SITE_ROWS_MIN)]).filter(isOfInCap).length).toBeGreaterThan(3);
  });

  it('R7.3: ranges, covering ranges and IN lists of 1 … 200, at densities down to 1/16', () => {
    const points = readPoints([FULL]).filter((point) => !isOfInCap(point));
    const lengths = (shape: string, stride: number): number[] =>
      points.filter((point) => point.shape === shape && point.stride === stride).map(({ wanted }) => wanted);
    expect(lengths('range', 1)).toEqual([1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]);
    expect(lengths('in', 1)).toEqual([1, 2, 5, 10, 20, 50, 100, 200]);
    for (const stride of [2, 4, 8, 16]) expect(lengths('in', stride)).toEqual([2, 5, 10, 20, 50, 100, 200]);
    expect(lengths('covering', 2)).toEqual([2, 5, 10, 20, 50, 100, 200]);
    expect(lengths('covering', 16)).toEqual([2, 5, 10, 20, 50]);
  });

  it('the IN cap is looked for in the first group alone, with the same messages in lists of each length', () => {
    const points = readPoints([FULL, FULL]).filter(isOfInCap);
    expect(points.map(({ inCap }) => inCap)).toEqual([10, 25, 50, 100, 150, 200]);
    expect(new Set(points.map(({ group, wanted, stride }) => `${group} ${wanted} ${stride}`)).size).toBe(1);
    expect(points.map(statementCountOf)).toEqual([40, 16, 8, 4, 3, 2]);
  });

  it('statements ask for exactly the wanted rows, in lists no longer than the cap, whatever holes the seqs have', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: SITE_ROWS_MIN, maxLength: SITE_ROWS_MIN + 50 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (gaps, random) => {
          let seq = 0n;
          const seqs = gaps.map((gap) => {
            seq += BigInt(gap);
            return seq;
          });
          for (const point of readPoints([groupOf(seqs.length)])) {
            const start = Math.floor(random * (seqs.length - spanOf(point) + 1));
            const statements = statementsAt(point, seqs, start);
            expect(statements).toHaveLength(statementCountOf(point));
            const asked = statements.flatMap((statement) => {
              if (statement.shape === 'in') return statement.seqs;
              return seqs.filter((each) => each >= statement.from && each <= statement.to);
            });
            expect(asked).toHaveLength(rowsOf(point));
            expect(asked[0]).toBe(seqs[start]);
            for (const statement of statements) {
              expect(statement.shape).toBe(point.shape);
              if (statement.shape === 'in') expect(statement.seqs.length).toBeLessThanOrEqual(point.inCap);
            }
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it('a point is made only in buckets that have rows enough for it', () => {
    const group = { rowBytes: 1, sites: [...groupOf(500).sites, ...groupOf(4_096).sites] };
    const widest = readPoints([group]).find(({ wanted, stride }) => wanted === 200 && stride === 16);
    expect(widest && sitesFor(widest, group)).toEqual(group.sites.slice(1));
  });
});
