/**
 * The IN cap (R7.3) from lists of several lengths that read the same number of scattered messages, sent together as a
 * join sends them. Pure.
 *
 * The cap is the shortest list within 5 % of the fastest: a longer one would gain nothing and keep one coordinator busy
 * with other reads behind it for longer. What the store's whole work would be by the constants is told beside it: on a
 * cluster with many idle cores short lists run side by side and look cheaper than they are.
 */
import type { CostConstants } from './fit-costs.js';
import type { PointFigure } from './measure.js';
import { isOfInCap, statementCountOf } from './read-points.js';

/** Slower than the fastest by this much counts as equal. */
const EQUAL_FACTOR = 1.05;

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
  return candidates.find(({ medianMicros }) => medianMicros <= fastest * EQUAL_FACTOR)?.inCap;
}
