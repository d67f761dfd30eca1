/**
 * What one read statement asks of a partition: produced by the planner, executed by a store (R4.3, D5).
 * Bounds are inclusive. Every statement is executed on message_record and, sent together with it, on
 * message_reaction_summary (R4.4).
 */
export type ReadStatement =
  /** All seqs from..to are wanted (shape 'range'), or some between them are surplus (shape 'covering'). */
  | { readonly shape: 'range' | 'covering'; readonly from: bigint; readonly to: bigint }
  /** Exactly these seqs, ascending and distinct, at most the IN cap. */
  | { readonly shape: 'in'; readonly seqs: readonly bigint[] };

/** Whether a statement asks for the row of `seq`. */
export function asksFor(statement: ReadStatement, seq: bigint): boolean {
  if (statement.shape === 'in') return statement.seqs.includes(seq);
  return seq >= statement.from && seq <= statement.to;
}
