/**
 * What reads cost, for the planner (D5, R7.3). Only the ratios matter. The defaults are measured on the test Cassandra
 * and on the embedded store; an operator's own figures (`mailjoin calibrate`) may replace them.
 */
import { IN_CAP_DEFAULT } from '../domain/limits.js';

export interface ReadCostModel {
  /** Elements of one IN list at most; also: a bucket's n seqs never cost more than ceil(n / inCap) statements. */
  readonly inCap: number;
  /** Cost of a group's statement beside its rows, the way to the store included, in microseconds. */
  readonly statementMicros: number;
  /** Cost of each further statement that is sent together with it, in microseconds: what cutting a group costs. */
  readonly furtherStatementMicros: number;
  /** Cost of one row of a range, wanted or surplus, in microseconds. */
  readonly rangeRowMicros: number;
  /** Cost of one element of an IN list, in microseconds. */
  readonly inElementMicros: number;
  /** Bytes that the surplus rows of one bucket's covering ranges may have in all. */
  readonly surplusBytesMax: number;
  /** Bytes that a surplus row is taken to have: a row may hold a 32 KiB thumbnail beside its payload. */
  readonly surplusRowBytes: number;
}

/** `npm run bench:calibrate`, rows of 600 B: README, "Calibrate". */
export const READ_COST_MODEL_DEFAULT: ReadCostModel = {
  inCap: IN_CAP_DEFAULT,
  statementMicros: 670,
  furtherStatementMicros: 115,
  rangeRowMicros: 18.6,
  inElementMicros: 24.9,
  surplusBytesMax: 4 * 1024 * 1024,
  surplusRowBytes: 36 * 1024,
};

/** `mailjoin calibrate` on the embedded store: a statement is worth two rows there, not forty. */
export const READ_COST_MODEL_EMBEDDED: ReadCostModel = {
  ...READ_COST_MODEL_DEFAULT,
  statementMicros: 17,
  furtherStatementMicros: 3.5,
  rangeRowMicros: 7.6,
  inElementMicros: 9.3,
};
