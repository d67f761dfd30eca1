/** What calibrate's report claims to have measured. */
import { describe, expect, it } from 'vitest';
import { calibrationOf } from '../../src/calibrate/calibration.js';
import { isOfInCap, readPoints } from '../../src/calibrate/read-points.js';
import { calibrationReport, calibrationWarnings } from '../../src/cli/calibrate-report.js';
import { figuresOf, groupOf } from '../calibrate/calibrate-fixtures.js';

const GROUPS = [groupOf(4_096)];
const POINTS = readPoints(GROUPS);
const COUNTS = { refused: [], roundsDone: 3, reads: 9, failures: 1, changedReads: 0 };

function calibrated(points: typeof POINTS, changedReads = 0) {
  const figures = figuresOf(points, { statement: 650, row: 11, element: 17 });
  return calibrationOf(GROUPS, { ...COUNTS, changedReads, figures });
}

describe('the report', () => {
  it('says how many reads do not count, and why', () => {
    expect(calibrationReport(calibrated(POINTS))).toMatch(/^9 reads in 3 rounds, 1 failed$/m);
    expect(calibrationReport(calibrated(POINTS, 4))).toMatch(
      /^9 reads in 3 rounds, 1 failed, 4 brought other rows than before and do not count$/m,
    );
  });

  it('without an IN cap it does not say what a further statement costs', () => {
    const calibration = calibrated(POINTS.filter((point) => !isOfInCap(point)));
    const report = calibrationReport(calibration);
    expect(report).toContain('was not measured; it counts like one alone, 650 µs');
    expect(report).not.toContain('costs 650');
    expect(calibrationWarnings(calibration)).toEqual(['no IN cap was measured; it stays 100']);
  });

  it('with one it does, beside what a statement alone takes', () => {
    expect(calibrationReport(calibrated(POINTS))).toMatch(
      /together with others costs 0 µs; alone it takes 650 µs$/m,
    );
  });
});
