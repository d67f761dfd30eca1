/**
 * Finds the planner's constants in what was measured: range and covering = S + R · rows, IN = S + I · elements, with one
 * S for both, none below 0. Pure.
 *
 * Least squares of the relative error, since short reads are as frequent as long ones are slow, and robust: points far
 * from the others weigh less (Huber's weights, anew after each pass), so that a figure spoilt by a pause of the store or
 * of this process does not bend the lines. Three unknowns need no library: the normal equations are solved by descent
 * along each of them in turn, which keeps each at or above 0 and ends at the least of a convex function.
 */
import { strict as assert } from 'node:assert';
import { median } from 'd3-array';

/** One measured statement. */
export interface TimedStatement {
  readonly isIn: boolean;
  /** Rows of a range or a covering range; elements of an IN list. */
  readonly count: number;
  /** Above 0: what is fitted is the relative error. */
  readonly micros: number;
}

export interface CostConstants {
  readonly statementMicros: number;
  readonly rangeRowMicros: number;
  readonly inElementMicros: number;
}

export interface CostFit extends CostConstants {
  /** Half of the points lie nearer to their line than this share of their own value; undefined without points. */
  readonly rangeError: number | undefined;
  readonly inError: number | undefined;
}

/** A fit whose half error is above this says little. */
export const FIT_ERROR_MAX = 0.15;

const UNKNOWNS = 3;
const PASSES = 20;
const SWEEPS = 2_000;
/** Huber's threshold in units of the spread, with the factor that makes the median deviation a standard deviation. */
const HUBER = 1.345 * 1.4826;
/** The spread counts as at least this, so that points without noise have weights at all. */
const SPREAD_MIN = 1e-9;

export function fitCosts(statements: readonly TimedStatement[]): CostFit {
  assert(statements.every(({ micros }) => micros > 0));
  const weights = statements.map(() => 1);
  let costs: CostConstants = { statementMicros: 0, rangeRowMicros: 0, inElementMicros: 0 };
  for (let pass = 0; pass < PASSES; pass++) {
    costs = leastSquares(statements, weights);
    const errors = statements.map((statement) => relativeError(statement, costs));
    const threshold = HUBER * Math.max(SPREAD_MIN, median(errors) ?? 0);
    for (const [index, error] of errors.entries()) weights[index] = Math.min(1, threshold / error);
  }
  const halfError = (isIn: boolean) =>
    median(statements.filter((each) => each.isIn === isIn).map((each) => relativeError(each, costs)));
  return { ...costs, rangeError: halfError(false), inError: halfError(true) };
}

/** What a statement costs by the constants. */
export function costOf({ isIn, count }: Omit<TimedStatement, 'micros'>, costs: CostConstants): number {
  return costs.statementMicros + count * (isIn ? costs.inElementMicros : costs.rangeRowMicros);
}

/** Rows of a covering range for one wanted message at which it costs what an IN list does; undefined where never. */
export function crossoverOf({ rangeRowMicros, inElementMicros }: CostConstants): number | undefined {
  return rangeRowMicros > 0 ? inElementMicros / rangeRowMicros : undefined;
}

function relativeError(statement: TimedStatement, costs: CostConstants): number {
  return Math.abs(costOf(statement, costs) / statement.micros - 1);
}

/** The constants at or above 0 that leave the least sum of weighted squares of relative errors. */
function leastSquares(statements: readonly TimedStatement[], weights: readonly number[]): CostConstants {
  const normal = new Float64Array(UNKNOWNS * UNKNOWNS);
  const sides = new Float64Array(UNKNOWNS);
  for (const [index, { isIn, count, micros }] of statements.entries()) {
    // S, R and I in this equation, divided by its own value: its other side is 1.
    const factors = [1 / micros, isIn ? 0 : count / micros, isIn ? count / micros : 0];
    const weight = weights[index] as number;
    for (let row = 0; row < UNKNOWNS; row++) {
      const weighted = weight * (factors[row] as number);
      sides[row] = (sides[row] as number) + weighted;
      for (let column = 0; column < UNKNOWNS; column++) {
        const at = row * UNKNOWNS + column;
        normal[at] = (normal[at] as number) + weighted * (factors[column] as number);
      }
    }
  }
  const unknowns = new Float64Array(UNKNOWNS);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let row = 0; row < UNKNOWNS; row++) {
      const curvature = normal[row * UNKNOWNS + row] as number;
      // Nothing was measured that this constant is part of.
      if (curvature === 0) continue;
      let rest = sides[row] as number;
      for (let column = 0; column < UNKNOWNS; column++) {
        if (column === row) continue;
        rest -= (normal[row * UNKNOWNS + column] as number) * (unknowns[column] as number);
      }
      unknowns[row] = Math.max(0, rest / curvature);
    }
  }
  const [statementMicros = 0, rangeRowMicros = 0, inElementMicros = 0] = unknowns;
  return { statementMicros, rangeRowMicros, inElementMicros };
}
