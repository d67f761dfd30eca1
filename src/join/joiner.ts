/**
 * The join (R4.3): a request's references in, one result per entry and each distinct body once out.
 *
 * Synchronous up to the first read: duplicates are chained, hits are copied into the response in the same tick, misses
 * join flights that are under way or start new ones, grouped by (conversation, bucket). Then the batch waits until its
 * entries are settled or its deadline has come. Owner: the main thread.
 */
import type { JoinOutcome } from '../codec/join-outcome.js';
import type { JoinRequest } from '../codec/join-request.js';
import type { MessageId, TenantId } from '../domain/ids.js';
import { FLIGHTS_MAX, GROUP_READS_MAX } from '../domain/limits.js';
import { type Floor, type MessageAt, NO_BODY } from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import { Batch } from './batch.js';
import { CachedBody } from './cached-body.js';
import { Flights } from './flights.js';
import { type FetchContext, fetchGroup, type Group } from './group-fetch.js';
import { MissGroups } from './miss-groups.js';
import { ReadGate } from './read-gate.js';

export type JoinerOptions = Omit<FetchContext, 'flights' | 'gate'>;

export interface JoinStats {
  /** Batches between join() and its answer. */
  readonly batches: number;
  /** Messages being fetched. */
  readonly flights: number;
  /** Group reads sent and not answered. */
  readonly reads: number;
}

export class Joiner {
  private readonly context: FetchContext;
  private readonly cached: CachedBody;
  private batches = 0;

  constructor(options: JoinerOptions) {
    this.context = { ...options, flights: new Flights(), gate: new ReadGate(GROUP_READS_MAX) };
    this.cached = new CachedBody(options.cache);
  }

  /**
   * Joins a batch. Resolves with every entry settled, at the request's deadline at the latest; what store, keys or
   * workers fail at becomes the results of the entries concerned. `decodeMicros` is for the receipt.
   */
  async join(request: JoinRequest, decodeMicros = 0): Promise<JoinOutcome> {
    const { clock } = this.context;
    const startedMs = clock.nowMs();
    const batch = new Batch(request);
    this.batches++;
    try {
      const groups = this.plan(batch, startedMs);
      for (const group of groups) void fetchGroup(this.context, group);
      batch.receipt.decodeMicros = decodeMicros;
      batch.receipt.planMicros = (clock.nowMs() - startedMs) * 1000;
      if (!batch.isSettled) await settledOrDeadline(batch, request.deadlineMs);
      batch.receipt.totalMicros = decodeMicros + (clock.nowMs() - startedMs) * 1000;
      return batch.outcome();
    } finally {
      this.batches--;
    }
  }

  /** Drops a message from the cache, and keeps what is being read of it from being cached. */
  invalidate(tenantId: TenantId, messageId: MessageId): void {
    this.detach(tenantId, messageId);
    this.context.cache.remove(tenantId, messageId);
  }

  /** A log event: installs its floor first, then drops what lies below (design: "be older than asked"). */
  raiseFloor(tenantId: TenantId, messageId: MessageId, floor: Floor): void {
    this.context.cache.raiseFloor(tenantId, messageId, floor, this.context.clock.nowMs());
    this.detach(tenantId, messageId);
  }

  stats(): JoinStats {
    const { flights, gate } = this.context;
    return { batches: this.batches, flights: flights.size, reads: gate.underWay };
  }

  private detach(tenantId: TenantId, messageId: MessageId): void {
    const { cache, flights } = this.context;
    const at = { tenantId, bytes: messageId, messageAt: 0, conversationAt: 0, seqHi: 0, seqLo: 0 };
    flights.detach(cache.hash(at), tenantId, messageId);
  }

  /** Copies the hits, joins flights under way, and returns the groups that this batch must fetch. */
  private plan(batch: Batch, nowMs: number): readonly Group[] {
    const { cache } = this.context;
    const { entries, receipt } = batch;
    const hashes = new Int32Array(entries.count);
    const firsts = batch.distinct((at) => cache.hash(at), hashes);
    receipt.entries = entries.count;
    receipt.messages = firsts.length;
    const misses = new MissGroups(batch);
    for (let index = 0; index < firsts.length; index++) {
      const first = firsts[index] as number;
      const at = batch.point(first);
      const handle = cache.find(at, nowMs);
      if (handle !== NO_BODY && batch.settleBody(first, this.cached.at(handle))) receipt.cacheHits++;
      else this.await(batch, first, at, hashes[first] as number, misses);
    }
    receipt.groups = misses.groups.length;
    return misses.groups;
  }

  /** Lets a chain wait for the flight of its message, which is started when there is none. */
  private await(batch: Batch, first: number, at: MessageAt, hash: number, misses: MissGroups): void {
    const { flights } = this.context;
    let flight = flights.find(hash, at);
    if (flight !== undefined) batch.receipt.flightsJoined++;
    else if (flights.size >= FLIGHTS_MAX) {
      batch.settle(first, ResultCode.UNAVAILABLE);
      return;
    } else {
      flight = misses.start(first, hash);
      flights.register(flight);
    }
    flight.waiters.push({ batch, first });
  }
}

async function settledOrDeadline(batch: Batch, deadlineMs: number): Promise<void> {
  const timer = setTimeout(() => batch.close(), deadlineMs);
  await batch.done;
  clearTimeout(timer);
}
