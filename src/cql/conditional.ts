/**
 * What a conditional statement's answer means, and what the lack of one does (D16). Pure.
 *
 * A conditional write that timed out may have been applied, may be applied later, or never: not even a timeout that the
 * server itself reports (of its Paxos round) says which. Only a serial read afterwards does, for what was decided.
 */
import { errors, types } from 'cassandra-driver';
import { MailjoinError } from '../domain/errors.js';
import type { CqlRow } from './session.js';

const { responseErrorCodes: Code } = types;

/** The server refused to begin. */
const NEVER_BEGUN: ReadonlySet<number> = new Set([
  Code.unavailableException,
  Code.overloaded,
  Code.isBootstrapping,
]);

/** Whether a conditional statement was applied, as its one row says. */
export function applied(rows: readonly CqlRow[]): boolean {
  return rows[0]?.['[applied]'] === true;
}

/** True when the statement behind this error may have been applied all the same, now or later. */
export function mayBeApplied(error: unknown): boolean {
  if (!(error instanceof MailjoinError) || error.code !== 'STORE_UNAVAILABLE') return false;
  const { cause } = error;
  if (cause instanceof errors.NoHostAvailableError) return false;
  return !(cause instanceof errors.ResponseError && NEVER_BEGUN.has(cause.code));
}
