/**
 * The IN cap (R7.3) from lists of several lengths that read the same number of scattered messages, sent together as a
 * join sends them. Pure.
 *
 * Lists of 50 to 200 elements mostly differ by less than two runs do, so the shipped cap stays where it is as good as the
 * fastest. Else it is the shortest list that is: a longer one would gain nothing and keep one coordinator busy, with
 * other reads behind it, for longer. What the statements would take one after the other, by the constants, is told
 * beside it: on a cluster with many idle cores short lists run side by side and look cheaper than they are.
 */
import { median } from 'd3-array';
import { IN_CAP_DEFAULT } from '../domain/limits.js';
import type { CostConstants } from './fit-costs.js';
import type { PointFigure } from './measure.js';
import { isOfInCap, statementCountOf } from './read-points.js';

/** What is slower than the fastest by no more than this counts as equal: figures of two runs differ by nearly as much. */
const EQUAL_FACTOR = 1.1;

export interface InCapCandidate {
  readonly inCap: number;
  /** The scattered messages, and the statements that they took. */
  readonly wanted: number;
  readonly statements: number;
  /** Wall time of all together. */
  readonly medianMicros: number;
  /** Sum of what the statements cost by the constants. */
  readonly workMicros: number;
}

/** Candidates, shortest list first. */
export function inCapCandidates(figures: readonly PointFigure[], costs: CostConstants): InCapCandidate[] {
  return figures
    .filter(({ point }) => isOfInCap(point))
    .map(({ point, medianMicros }) => {
      const statements = statementCountOf(point);
      const { wanted, inCap } = point;
      const workMicros = statements * costs.statementMicros + wanted * costs.inElementMicros;
      return { inCap, wanted, statements, medianMicros, workMicros };
    })
    .sort((a, b) => a.inCap - b.inCap);
}

/** Undefined without candidates. */
export function chooseInCap(candidates: readonly InCapCandidate[]): number | undefined {
  const fastest = Math.min(...candidates.map(({ medianMicros }) => medianMicros));
  const equals = candidates.filter(({ medianMicros }) => medianMicros <= fastest * EQUAL_FACTOR);
  return (equals.find(({ inCap }) => inCap === IN_CAP_DEFAULT) ?? equals[0])?.inCap;
}

/**
 * What one more statement adds to the wall time of those that it is sent together with: the median slope between any two
 * candidates, so that one spoilt figure does not tell. Less than a statement alone, whose way to the store is shared.
 * Undefined unless two candidates differ in their statements.
 */
export function furtherStatementMicros(candidates: readonly InCapCandidate[]): number | undefined {
  const slope = median(
    candidates.flatMap((one, index) =>
      candidates
        .slice(index + 1)
        // Of few messages lists of 100 and of 150 are as many: two figures of the same say nothing of one more.
        .filter((other) => other.statements !== one.statements)
        .map((other) => (one.medianMicros - other.medianMicros) / (one.statements - other.statements)),
    ),
  );
  return slope === undefined ? undefined : Math.max(0, slope);
}
