/** Which IN cap follows from lists of several lengths. */
import { describe, expect, it } from 'vitest';
import { chooseInCap, inCapCandidates } from '../../src/calibrate/in-cap.js';
import { isOfInCap, readPoints } from '../../src/calibrate/read-points.js';
import { figuresOf, groupOf } from './calibrate-fixtures.js';

const COSTS = { statementMicros: 650, rangeRowMicros: 11, inElementMicros: 17 };
const MADE_UP = { statement: 650, row: 11, element: 17 };

function candidates(medians: Readonly<Record<number, number>>) {
  const points = readPoints([groupOf(4_096)]);
  const figures = figuresOf(points, MADE_UP).map((figure) => ({
    ...figure,
    medianMicros: isOfInCap(figure.point) ? (medians[figure.point.inCap] ?? Number.NaN) : 1,
  }));
  return inCapCandidates(
    figures.filter(({ medianMicros }) => !Number.isNaN(medianMicros)),
    COSTS,
  );
}

describe('the IN cap', () => {
  it('without candidates none is chosen', () => {
    expect(chooseInCap([])).toBeUndefined();
    expect(candidates({})).toEqual([]);
  });

  it('is the shortest list within 5 % of the fastest', () => {
    const medians = { 10: 15_000, 25: 11_000, 50: 10_499, 100: 10_000, 150: 10_100, 200: 10_600 };
    expect(chooseInCap(candidates(medians))).toBe(50);
    expect(chooseInCap(candidates({ ...medians, 50: 10_501 }))).toBe(100);
  });

  it('lists that the store refused are no candidates', () => {
    expect(chooseInCap(candidates({ 10: 15_000, 25: 12_000, 50: 11_000, 100: 10_000 }))).toBe(100);
  });

  it('tells the sum of what the statements cost beside the wall time', () => {
    const [first, ...others] = candidates({ 10: 9, 200: 8 });
    expect(first).toEqual({
      inCap: 10,
      wanted: 400,
      statements: 40,
      medianMicros: 9,
      workMicros: 40 * 650 + 6_800,
    });
    expect(others.map(({ workMicros }) => workMicros)).toEqual([2 * 650 + 6_800]);
  });
});
