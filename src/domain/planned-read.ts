/**
 * What the planner chose for one read of a (conversation, bucket) group, and why (D5, R7.3). The numbers of the reasons
 * are the wire contract's (proto/mailjoin.proto).
 */
import type { ConversationId } from './ids.js';

export const PlanReason = {
  /** No gaps: one range, which is never worse. */
  CONSECUTIVE: 1,
  /** One covering range costs least, its surplus rows included. */
  COVERING_CHEAPER: 2,
  /** IN lists alone cost least. */
  IN_CHEAPER: 3,
  /** Several pieces, each of its own shape, cost least together. */
  PIECES_CHEAPER: 4,
  /** One covering range would have cost less, but its surplus may be too many bytes. */
  SURPLUS_BOUND: 5,
} as const;
export type PlanReason = (typeof PlanReason)[keyof typeof PlanReason];

const REASON_NAMES = [
  'UNSPECIFIED',
  'CONSECUTIVE',
  'COVERING_CHEAPER',
  'IN_CHEAPER',
  'PIECES_CHEAPER',
  'SURPLUS_BOUND',
] as const;
export type PlanReasonName = (typeof REASON_NAMES)[number];

/** The name of a reason; of one that this version does not know, UNSPECIFIED. */
export function planReasonName(reason: number): PlanReasonName {
  return REASON_NAMES[reason] ?? 'UNSPECIFIED';
}

export interface PlannedRead {
  readonly conversationId: ConversationId;
  readonly bucket: bigint;
  /** Distinct seqs that were wanted. */
  readonly messages: number;
  /** Seqs from the first wanted one to the last, both included. */
  readonly span: number;
  readonly rangeStatements: number;
  readonly coveringStatements: number;
  readonly inStatements: number;
  readonly reason: PlanReason;
  /** What the choice costs by the planner's constants, in microseconds; beside it the two plain ways, for comparison. */
  readonly costMicros: number;
  readonly coveringCostMicros: number;
  readonly inCostMicros: number;
}
