/**
 * Single-flight: a message that any batch is fetching is awaited, not read again.
 *
 * A flight is registered under the hash of (tenant, message_id), so that an invalidation finds it; references with the
 * same message_id but other coordinates (a caller's mistake) are flights of their own behind the same hash. Hashes are
 * only hints: whatever is found is compared byte by byte.
 *
 *     registered ───────────land()──▶ gone   its result may be cached
 *         └──detach()──▶ detached ──▶ gone   its result is served to those who waited, above the floor, not cached
 *
 * A detached flight stays in the map, unseen by later arrivals, and keeps the floors of all events until it lands: the
 * cache's own have an age, and may be lost where there are too many, but what this one has read may be older.
 *
 * A flight lives as long as its reads, never as long as its first caller: waiters leave at their own deadlines.
 */
import { strict as assert } from 'node:assert';
import { type ConversationId, compareIdAt, equalIdAt, type MessageId, type TenantId } from '../domain/ids.js';
import { FLIGHT_SIBLINGS_MAX } from '../domain/limits.js';
import type { Floor, MessageAt } from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import type { Batch } from './batch.js';
import type { Turn } from './read-gate.js';

export interface Waiter {
  /** Undefined once the batch has left at its deadline. */
  batch: Batch | undefined;
  /** The first entry of the chain that waits. */
  readonly first: number;
}

export class Flight {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  readonly messageId: MessageId;
  /** The cache's hash of (tenant, message_id). */
  readonly hash: number;
  /** That of its group's reads. */
  readonly turn: Turn;
  waiters: Waiter[] = [];
  /** Invalidated while it was under way: what it brings must not be cached. */
  detached = false;
  /** The highest of the events that came while it was under way; its result is not served below it. */
  floor: Floor | undefined = undefined;
  /** Under way and counted. */
  registered = false;
  /** In the map. */
  linked = false;
  /** Its second read is under way: no further one follows. */
  isLastRead = false;
  /** What its waiters get when no further read is left: UNAVAILABLE or NOT_YET. */
  unmet: ResultCode = ResultCode.UNAVAILABLE;
  /** Another flight with the same hash: of the same message with other coordinates, or of another message. */
  sibling: Flight | undefined = undefined;
  /** How many siblings follow it. */
  siblingCount = 0;

  constructor(
    tenantId: TenantId,
    conversationId: ConversationId,
    seq: bigint,
    messageId: MessageId,
    hash: number,
    turn: Turn,
  ) {
    this.tenantId = tenantId;
    this.conversationId = conversationId;
    this.seq = seq;
    this.messageId = messageId;
    this.hash = hash;
    this.turn = turn;
  }

  /** True when the flight is of exactly this reference. */
  isOf(at: MessageAt): boolean {
    const { seq } = this;
    return (
      Number(seq & 0xffff_ffffn) === at.seqLo &&
      Number(seq >> 32n) === at.seqHi &&
      equalIdAt(this.messageId, 0, at.bytes, at.messageAt) &&
      equalIdAt(this.conversationId, 0, at.bytes, at.conversationAt) &&
      equalIdAt(this.tenantId, 0, at.tenantId, 0)
    );
  }
}

export class Flights {
  private readonly byHash = new Map<number, Flight>();
  private count = 0;

  /** Flights under way now. */
  get size(): number {
    return this.count;
  }

  /**
   * The flight of exactly this reference that later arrivals may join, or undefined. One on its last read has none left
   * for a floor that it does not meet.
   */
  find(hash: number, at: MessageAt, hasFloor = false): Flight | undefined {
    let flight = this.byHash.get(hash);
    while (flight !== undefined && (flight.detached || (hasFloor && flight.isLastRead) || !flight.isOf(at))) {
      flight = flight.sibling;
    }
    return flight;
  }

  /** Counts a flight and lets others find it; with too many siblings already it is on its own, and not cached. */
  register(flight: Flight): void {
    flight.registered = true;
    this.count++;
    const head = this.byHash.get(flight.hash);
    if (head !== undefined && head.siblingCount >= FLIGHT_SIBLINGS_MAX) {
      flight.detached = true;
      return;
    }
    flight.sibling = head;
    flight.siblingCount = head === undefined ? 0 : head.siblingCount + 1;
    flight.linked = true;
    this.byHash.set(flight.hash, flight);
  }

  /** Takes a flight out, once it has settled for good. Repeatable. */
  land(flight: Flight): void {
    if (!flight.registered) return;
    flight.registered = false;
    this.count--;
    if (flight.linked) this.unlink(flight);
  }

  /** An invalidation: later arrivals read anew, and what is under way is neither cached nor served below the floor. */
  detach(hash: number, tenantId: TenantId, messageId: MessageId, floor?: Floor): void {
    for (let flight = this.byHash.get(hash); flight !== undefined; flight = flight.sibling) {
      if (!equalIdAt(flight.messageId, 0, messageId, 0) || !equalIdAt(flight.tenantId, 0, tenantId, 0))
        continue;
      flight.detached = true;
      if (floor !== undefined) flight.floor = higherFloor(flight.floor, floor);
    }
  }

  private unlink(flight: Flight): void {
    flight.linked = false;
    let newer: Flight | undefined;
    for (let other = this.byHash.get(flight.hash); other !== flight; other = other.sibling) {
      assert(other !== undefined, 'a linked flight is in the map');
      other.siblingCount--;
      newer = other;
    }
    if (newer !== undefined) newer.sibling = flight.sibling;
    else if (flight.sibling === undefined) this.byHash.delete(flight.hash);
    else this.byHash.set(flight.hash, flight.sibling);
  }
}

/** At or above both. */
function higherFloor(a: Floor | undefined, b: Floor): Floor {
  if (a === undefined) return b;
  const hasHigherId =
    a.activityId !== undefined &&
    (b.activityId === undefined || compareIdAt(a.activityId, 0, b.activityId, 0) >= 0);
  const withId = hasHigherId ? a : b;
  const withVersion = a.summaryVersion >= b.summaryVersion ? a : b;
  const recalled = a.recalled === true || b.recalled === true;
  return { activityId: withId.activityId, summaryVersion: withVersion.summaryVersion, recalled };
}
