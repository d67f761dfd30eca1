/** The constants that follow from figures: which lists count, and what is said to be measured. */
import { describe, expect, it } from 'vitest';
import { calibrationOf } from '../../src/calibrate/calibration.js';
import { isOfInCap, type ReadPoint, readPoints } from '../../src/calibrate/read-points.js';
import { figuresOf, groupOf } from './calibrate-fixtures.js';

const MADE_UP = { statement: 650, row: 11, element: 17 };

/** A run on so many rows, on a store that refuses some points. */
function calibrated(rows: number, isRefused: (point: ReadPoint) => boolean) {
  const groups = [groupOf(rows, 600), groupOf(rows, 4_096)];
  const points = readPoints(groups);
  const refused = points.filter(isRefused);
  const figures = figuresOf(
    points.filter((point) => !refused.includes(point)),
    MADE_UP,
  );
  return calibrationOf(groups, { figures, refused, roundsDone: 3, reads: 9, failures: 0, changedReads: 0 });
}

describe('the IN cap of a run', () => {
  it('is a list that was answered: one between it and a refused one was never tried', () => {
    for (const [longest, inCap] of [
      [1, 1],
      [6, 5],
      [49, 20],
      [99, 50],
    ] as const) {
      const listsAbove = ({ shape, inCap: elements }: ReadPoint) => shape === 'in' && elements > longest;
      const tooFewForCaps = calibrated(300, listsAbove);
      expect(tooFewForCaps.inCaps).toEqual([]);
      expect(tooFewForCaps.constants.inCap, `lists up to ${longest} are taken`).toBe(inCap);
    }
    expect(calibrated(4_096, ({ shape, inCap }) => shape === 'in' && inCap > 6).constants.inCap).toBe(5);
  });

  it('is the shipped one where nothing was refused and nothing says otherwise', () => {
    expect(calibrated(300, () => false).constants.inCap).toBe(100);
    expect(calibrated(300, ({ shape }) => shape === 'range').constants.inCap).toBe(100);
  });

  it('is below a list that was refused of larger rows alone', () => {
    const ofLargeRows = ({ group, shape, inCap }: ReadPoint) => group === 1 && shape === 'in' && inCap >= 100;
    expect(calibrated(4_096, ofLargeRows).constants.inCap).toBeLessThan(100);
    expect(calibrated(300, ofLargeRows).constants.inCap).toBe(50);
  });
});

describe('a further statement', () => {
  it('counts like one alone where none was timed, and that is told', () => {
    const without = calibrated(4_096, isOfInCap);
    expect(without.isFurtherMeasured).toBe(false);
    expect(without.constants.furtherStatementMicros).toBe(without.constants.statementMicros);
    expect(calibrated(4_096, () => false).isFurtherMeasured).toBe(true);
  });
});
