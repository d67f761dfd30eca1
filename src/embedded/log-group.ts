/**
 * Consumer groups of the embedded log: where each stands, and which member owns it at the moment.
 *
 * The log has one partition, so a group has one owner; other members stand by. An owner holds a lease that it renews
 * while it lives. A member that was killed stops renewing, and another takes over from the last committed offset. An
 * owner whose lease was taken meanwhile cannot commit any more. All functions run inside a write transaction.
 *
 *     log_group:  group  →  [ offset, owner, lease until (milliseconds since 1970) ]
 */
import { MailjoinError } from '../domain/errors.js';
import type { Table } from './environment.js';
import { decodeValue, encodeValue } from './row-codec.js';

/** How long a member owns its group after its last sign of life: the longest pause after a crash. */
export const LEASE_MS = 5_000;

interface GroupState {
  readonly offset: bigint;
  readonly owner: string;
  readonly leaseUntilMs: number;
}

/** The offset to go on from when the member owns the group now, else undefined. Renews the lease. */
export function claim(groups: Table, group: string, member: string, nowMs: number): bigint | undefined {
  const state = read(groups, group);
  if (state !== undefined && state.owner !== member && !lapsed(state, nowMs)) return undefined;
  const offset = state?.offset ?? 0n;
  write(groups, group, { offset, owner: member, leaseUntilMs: nowMs + LEASE_MS });
  return offset;
}

/** Keeps the lease; nothing when the member does not own the group any more. */
export function renew(groups: Table, group: string, member: string, nowMs: number): void {
  const state = read(groups, group);
  if (state?.owner === member) write(groups, group, { ...state, leaseUntilMs: nowMs + LEASE_MS });
}

/** Commits the next offset and renews the lease; false when the member does not own the group any more. */
export function commit(groups: Table, group: string, member: string, offset: bigint, nowMs: number): boolean {
  if (read(groups, group)?.owner !== member) return false;
  write(groups, group, { offset, owner: member, leaseUntilMs: nowMs + LEASE_MS });
  return true;
}

/** Gives the group up, so that another member need not wait for the lease's end. */
export function release(groups: Table, group: string, member: string): void {
  const state = read(groups, group);
  if (state?.owner === member) write(groups, group, { ...state, owner: '', leaseUntilMs: 0 });
}

/** A lease that ends later than any can was made before the clock was set back. */
function lapsed({ leaseUntilMs }: GroupState, nowMs: number): boolean {
  return leaseUntilMs <= nowMs || leaseUntilMs > nowMs + LEASE_MS;
}

function read(groups: Table, group: string): GroupState | undefined {
  const stored = groups.get(Buffer.from(group, 'utf8'));
  if (stored === undefined) return undefined;
  const [offset, owner, leaseUntilMs] = decodeValue(stored);
  if (typeof offset !== 'bigint' || typeof owner !== 'string' || typeof leaseUntilMs !== 'number') {
    throw new MailjoinError('LOG_CORRUPT', 'the state of a consumer group has another shape');
  }
  return { offset, owner, leaseUntilMs };
}

function write(groups: Table, group: string, { offset, owner, leaseUntilMs }: GroupState): void {
  void groups.put(Buffer.from(group, 'utf8'), encodeValue([offset, owner, leaseUntilMs]));
}
