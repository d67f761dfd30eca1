/**
 * Single-flight: a message that any batch is fetching is awaited, not read again.
 *
 * A flight is registered under (tenant, message_id), so that an invalidation finds it; references with the same
 * message_id but other coordinates (a caller's mistake) are flights of their own behind the same key.
 *
 *     registered ──land()──▶ gone          its result may be cached
 *         └──detach()──▶ detached ──▶ gone its result is served to those who waited, not cached
 *
 * A flight lives as long as its reads, never as long as its first caller: waiters leave at their own deadlines.
 */
import { strict as assert } from 'node:assert';
import { type ConversationId, idKeyAt, type MessageId, type TenantId } from '../domain/ids.js';
import { ResultCode } from '../domain/result.js';
import type { Batch } from './batch.js';

export interface Waiter {
  readonly batch: Batch;
  /** The first entry of the chain that waits. */
  readonly first: number;
}

export class Flight {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  readonly messageId: MessageId;
  waiters: Waiter[] = [];
  /** Invalidated while it was under way: what it brings must not be cached. */
  detached = false;
  /** Found by later arrivals. */
  registered = false;
  /** What its waiters get when no further read is left: UNAVAILABLE or NOT_YET. */
  unmet: ResultCode = ResultCode.UNAVAILABLE;
  /** Another flight of the same message_id with other coordinates. */
  sibling: Flight | undefined = undefined;

  constructor(tenantId: TenantId, conversationId: ConversationId, seq: bigint, messageId: MessageId) {
    this.tenantId = tenantId;
    this.conversationId = conversationId;
    this.seq = seq;
    this.messageId = messageId;
  }
}

export class Flights {
  private readonly byMessage = new Map<string, Flight>();
  private count = 0;

  /** Flights registered now. */
  get size(): number {
    return this.count;
  }

  /** The registered flight of exactly this reference, or undefined. */
  find(
    tenantId: TenantId,
    conversationId: ConversationId,
    seq: bigint,
    messageId: MessageId,
  ): Flight | undefined {
    let flight = this.byMessage.get(keyOf(tenantId, messageId));
    while (flight !== undefined) {
      if (flight.seq === seq && sameBytes(flight.conversationId, conversationId)) return flight;
      flight = flight.sibling;
    }
    return undefined;
  }

  register(flight: Flight): void {
    const key = keyOf(flight.tenantId, flight.messageId);
    flight.sibling = this.byMessage.get(key);
    this.byMessage.set(key, flight);
    flight.registered = true;
    this.count++;
  }

  /** Takes a flight out, once it has settled for good. Repeatable; nothing happens when it was detached before. */
  land(flight: Flight): void {
    if (!flight.registered) return;
    flight.registered = false;
    const key = keyOf(flight.tenantId, flight.messageId);
    const head = this.byMessage.get(key);
    assert(head !== undefined, 'a registered flight is in the map');
    if (head === flight) {
      if (flight.sibling === undefined) this.byMessage.delete(key);
      else this.byMessage.set(key, flight.sibling);
    } else {
      let before = head;
      while (before.sibling !== flight) {
        assert(before.sibling !== undefined, 'a registered flight is in the map');
        before = before.sibling;
      }
      before.sibling = flight.sibling;
    }
    this.count--;
  }

  /** An invalidation: later arrivals read anew, and what is under way is not cached. */
  detach(tenantId: TenantId, messageId: MessageId): void {
    const key = keyOf(tenantId, messageId);
    for (let flight = this.byMessage.get(key); flight !== undefined; flight = flight.sibling) {
      flight.detached = true;
      flight.registered = false;
      this.count--;
    }
    this.byMessage.delete(key);
  }
}

function keyOf(tenantId: TenantId, messageId: MessageId): string {
  return idKeyAt(tenantId, 0) + idKeyAt(messageId, 0);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
