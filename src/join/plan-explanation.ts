/**
 * Says why the planner chose the statements of one group (D5): what they cost by its constants, beside the cost of one
 * covering range and of IN lists alone. Pure; made only where a receipt was asked for.
 */
import { strict as assert } from 'node:assert';
import { type PlannedRead, PlanReason } from '../domain/planned-read.js';
import type { GroupRead } from '../domain/ports.js';
import type { ReadStatement } from '../domain/statement.js';
import type { ReadCostModel } from './read-cost-model.js';

/** `seqs`: those the statements were planned for; see planStatements. */
export function explainPlan(
  { conversationId, bucket, statements }: GroupRead,
  seqs: readonly bigint[],
  model: ReadCostModel,
): PlannedRead {
  const [first, last] = [seqs[0], seqs.at(-1)];
  assert(first !== undefined && last !== undefined);
  const span = Number(last - first) + 1;
  const counts = { range: 0, covering: 0, in: 0 };
  let costMicros = model.statementMicros + (statements.length - 1) * model.furtherStatementMicros;
  for (const statement of statements) {
    counts[statement.shape]++;
    costMicros += rowsCostMicros(statement, model);
  }
  const coveringCostMicros = model.statementMicros + span * model.rangeRowMicros;
  return {
    conversationId,
    bucket,
    messages: seqs.length,
    span,
    rangeStatements: counts.range,
    coveringStatements: counts.covering,
    inStatements: counts.in,
    reason: reasonOf(statements, span === seqs.length, coveringCostMicros < costMicros),
    costMicros,
    coveringCostMicros,
    inCostMicros:
      model.statementMicros +
      (Math.ceil(seqs.length / model.inCap) - 1) * model.furtherStatementMicros +
      seqs.length * model.inElementMicros,
  };
}

/** What the planner weighed a statement's rows at, in microseconds. */
function rowsCostMicros(
  statement: ReadStatement,
  { rangeRowMicros, inElementMicros }: ReadCostModel,
): number {
  if (statement.shape === 'in') return statement.seqs.length * inElementMicros;
  const rows = Number(statement.to - statement.from) + 1;
  // A piece without gaps is sent as a range, also where it was weighed as a list.
  const rowMicros = statement.shape === 'range' ? Math.min(rangeRowMicros, inElementMicros) : rangeRowMicros;
  return rows * rowMicros;
}

function reasonOf(
  statements: readonly ReadStatement[],
  isConsecutive: boolean,
  coveringWouldBeCheaper: boolean,
): PlanReason {
  if (isConsecutive) return PlanReason.CONSECUTIVE;
  // The planner weighs the covering range like every other way, unless its surplus is beyond the bound.
  if (coveringWouldBeCheaper) return PlanReason.SURPLUS_BOUND;
  if (statements.every(({ shape }) => shape === 'in')) return PlanReason.IN_CHEAPER;
  return statements.length === 1 ? PlanReason.COVERING_CHEAPER : PlanReason.PIECES_CHEAPER;
}
