/** Which IN cap follows from lists of several lengths. */
import { describe, expect, it } from 'vitest';
import { chooseInCap, furtherStatementMicros, inCapCandidates } from '../../src/calibrate/in-cap.js';
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
    expect(furtherStatementMicros([])).toBeUndefined();
    expect(furtherStatementMicros(candidates({ 100: 7 }))).toBeUndefined();
  });

  it('stays the shipped one where that is within 10 % of the fastest', () => {
    const medians = { 10: 15_000, 25: 10_100, 50: 10_000, 100: 10_999, 150: 10_500, 200: 10_600 };
    expect(chooseInCap(candidates(medians))).toBe(100);
  });

  it('is else the shortest list within 10 % of the fastest', () => {
    const medians = { 10: 15_000, 25: 10_999, 50: 10_000, 100: 11_001, 150: 12_000, 200: 12_000 };
    expect(chooseInCap(candidates(medians))).toBe(25);
    expect(chooseInCap(candidates({ ...medians, 25: 11_001 }))).toBe(50);
    expect(chooseInCap(candidates({ 10: 15_000, 100: 12_000, 150: 10_500, 200: 10_000 }))).toBe(150);
  });

  it('lists that the store refused are no candidates', () => {
    expect(chooseInCap(candidates({ 10: 15_000, 25: 12_500, 50: 11_000 }))).toBe(50);
  });

  it('tells what a further statement adds to those sent with it, whatever one spoilt figure says; never less than nothing', () => {
    const medians = {
      10: 6_000 + 40 * 150,
      25: 6_000 + 16 * 150,
      50: 50_000,
      100: 6_600,
      150: 6_450,
      200: 6_300,
    };
    expect(furtherStatementMicros(candidates(medians))).toBeCloseTo(150, 6);
    expect(furtherStatementMicros(candidates({ 10: 5, 200: 6 }))).toBe(0);
  });

  it.each([400, 500, 600])(
    'of %d rows two lengths of lists are as many statements, which tells nothing of a further one',
    (rows) => {
      const points = readPoints([groupOf(rows)]).filter(isOfInCap);
      const found = inCapCandidates(figuresOf(points, MADE_UP), COSTS).map((each, at) => ({
        ...each,
        medianMicros: 5_000 + 150 * each.statements + at / 1_000,
      }));
      const alike = found.filter(({ statements }) => statements === 2);
      expect(furtherStatementMicros(found)).toBeCloseTo(150, 1);
      expect(alike.length).toBe(2);
      expect(furtherStatementMicros(alike)).toBeUndefined();
      expect(furtherStatementMicros([...alike, ...found.slice(0, 1)])).toBeCloseTo(150, 1);
    },
  );

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
