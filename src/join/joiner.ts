/**
 * The join (R4.3): a request's references in, one result per entry and each distinct body once out.
 *
 * Synchronous up to the first read: duplicates are chained, hits are copied into the response in the same tick, misses
 * join flights that are under way or start new ones, grouped by (conversation, bucket). Then the batch waits until its
 * entries are settled or its deadline has come. Owner: the main thread.
 */
import { blockBBytes, writeBlockB } from '../codec/body.js';
import type { JoinOutcome } from '../codec/join-outcome.js';
import type { JoinRequest } from '../codec/join-request.js';
import { emptyReceipt } from '../codec/receipt.js';
import { RequestKind } from '../domain/entries.js';
import { type ConversationId, equalIdAt, ID_BYTES, type MessageId, type TenantId } from '../domain/ids.js';
import {
  FLIGHTS_MAX,
  FLIGHTS_PUSH_RESERVE,
  GROUP_READS_MAX,
  GROUP_READS_PUSH_RESERVE,
} from '../domain/limits.js';
import type { Coordinates, MessageRecord, ReactionSummary } from '../domain/message.js';
import { type Floor, type GroupRows, type MessageAt, NO_BODY, type ReadCost } from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import { bucketOf } from '../domain/seq.js';
import { Batch } from './batch.js';
import { CachedBody } from './cached-body.js';
import type { ConversationsInUse } from './conversations-in-use.js';
import { Flight, Flights } from './flights.js';
import { type FetchContext, fetchGroup, type Group } from './group-fetch.js';
import { HeardEvents } from './heard-events.js';
import { MissGroups } from './miss-groups.js';
import { ReadGate, Turn } from './read-gate.js';
import { withdrawOutdated } from './withdrawal.js';

export interface JoinerOptions extends Omit<FetchContext, 'flights' | 'gate'> {
  /** Told of every conversation that a batch asks for, when somebody wants to know. */
  readonly inUse?: ConversationsInUse | undefined;
}

/** Rows of one conversation that need no read, by bucket. */
export type GivenRows = ReadonlyMap<bigint, GroupRows>;

/** What rows out of the log cost the store. */
const NO_COST: ReadCost = {
  recordStatements: 0,
  summaryStatements: 0,
  furtherPages: 0,
  rows: 0,
  bytes: 0,
};

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
  private readonly inUse: ConversationsInUse | undefined;
  private batches = 0;
  private readonly events = new HeardEvents();

  constructor(options: JoinerOptions) {
    this.context = {
      ...options,
      flights: new Flights(),
      gate: new ReadGate(GROUP_READS_MAX, GROUP_READS_PUSH_RESERVE),
    };
    this.cached = new CachedBody(options.cache);
    this.inUse = options.inUse;
  }

  /**
   * Joins a batch. Resolves with every entry settled, at the request's deadline at the latest; what store, keys or
   * workers fail at becomes the results of the entries concerned. `decodeMicros` (for the receipt) counts against the
   * deadline; `mayHold` is asked before the response takes that many bytes of memory: bodies refused are DEFERRED.
   * `given`: rows that were read already (history pages); what they settle is not read again.
   */
  async join(
    request: JoinRequest,
    decodeMicros = 0,
    mayHold?: (bytes: number) => boolean,
    given?: GivenRows,
  ): Promise<JoinOutcome> {
    const { clock } = this.context;
    const startedMs = clock.nowMs();
    const batch = new Batch(request, mayHold);
    const [eventsBefore, keysBefore] = [this.events.count, this.context.cache.keysDestroyed];
    this.batches++;
    try {
      this.plan(batch, startedMs, given);
      batch.receipt.decodeMicros = decodeMicros;
      batch.receipt.planMicros = (clock.nowMs() - startedMs) * 1000;
      if (!batch.isSettled) {
        const spentMs = decodeMicros / 1000 + clock.nowMs() - startedMs;
        await settledOrDeadline(batch, Math.max(0, request.deadlineMs - spentMs));
        this.withdraw(batch, eventsBefore, keysBefore);
      }
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

  /**
   * A log event: installs its floor first, then drops what lies below (design: "be older than asked"). `ageMsMin`: how
   * long the floor stays at least while the row does not show the event.
   */
  raiseFloor(tenantId: TenantId, messageId: MessageId, floor: Floor, ageMsMin = 0): void {
    if (floor.activityId !== undefined) this.events.add(messageId);
    this.context.cache.raiseFloor(tenantId, messageId, floor, this.context.clock.nowMs(), ageMsMin);
    this.detach(tenantId, messageId, floor);
  }

  /**
   * A log event with a message's new reaction summary, whole: a cached body gets it at once, without a read and without
   * opening its payload; whatever still has an older one is dropped.
   */
  replaceSummary(where: Coordinates, messageId: MessageId, summary: ReactionSummary): void {
    const { cache, clock } = this.context;
    const blockB = new Uint8Array(blockBBytes(summary));
    writeBlockB(blockB, 0, summary);
    cache.replaceSummary(where, messageId, summary.version, blockB, clock.nowMs());
    this.raiseFloor(where.tenantId, messageId, { activityId: undefined, summaryVersion: summary.version });
  }

  /**
   * Caches messages of one bucket from their rows, by the way that rows of a read go: keys, floors, opening, expiry.
   * Batches that ask for them meanwhile wait for it instead of reading; messages that are being read already are left
   * alone, and while caching pauses all are. Never rejects.
   */
  async warm(
    tenantId: TenantId,
    conversationId: ConversationId,
    records: readonly MessageRecord[],
  ): Promise<void> {
    const { cache, clock, flights } = this.context;
    const first = records[0];
    if (first === undefined || cache.stats().paused) return;
    const turn = new Turn(false);
    const group: Group = {
      flights: [],
      receipt: emptyReceipt(),
      wantReceipt: false,
      bucket: bucketOf(first.seq),
      turn,
    };
    for (const { seq, messageId } of records) {
      const at = referenceTo(tenantId, conversationId, seq, messageId);
      const hash = cache.hash(at);
      if (flights.size >= FLIGHTS_MAX - FLIGHTS_PUSH_RESERVE || flights.find(hash, at) !== undefined)
        continue;
      const flight = new Flight(tenantId, conversationId, seq, messageId, hash, turn);
      flights.register(flight);
      group.flights.push(flight);
    }
    const sentAtMs = clock.nowMs();
    await fetchGroup(this.context, group, { records, summaries: [], sentAtMs, cost: NO_COST });
  }

  stats(): JoinStats {
    const { flights, gate } = this.context;
    return { batches: this.batches, flights: flights.size, reads: gate.underWay };
  }

  /** What was heard while a batch waited may have outdated what is copied already. */
  private withdraw(batch: Batch, eventsBefore: number, keysBefore: number): void {
    const { cache, clock, keyring } = this.context;
    const keysDestroyed = cache.keysDestroyed !== keysBefore;
    if (!keysDestroyed && this.events.count === eventsBefore) return;
    const heard = { events: this.events.since(eventsBefore), keysDestroyed };
    withdrawOutdated(cache, keyring, batch, heard, clock.nowMs());
  }

  private detach(tenantId: TenantId, messageId: MessageId, floor?: Floor): void {
    const { cache, flights } = this.context;
    const at = { tenantId, bytes: messageId, messageAt: 0, conversationAt: 0, seqHi: 0, seqLo: 0 };
    flights.detach(cache.hash(at), tenantId, messageId, floor);
  }

  /**
   * Copies the hits, joins flights under way, and starts the others. What throws on the way (memory may be short) leaves
   * no flight behind that nobody flies.
   */
  private plan(batch: Batch, nowMs: number, given?: GivenRows): void {
    const { cache } = this.context;
    const { receipt } = batch;
    this.context.freshness.check(nowMs);
    if (this.inUse !== undefined) noteUse(batch, this.inUse);
    const misses = new MissGroups(batch);
    try {
      const { firsts, count, hashes } = batch.distinct((at) => cache.hash(at));
      receipt.entries = batch.entries.count;
      receipt.messages = count;
      for (let index = 0; index < count; index++) {
        const first = firsts[index] as number;
        const at = batch.point(first);
        const handle = cache.find(at, nowMs);
        if (handle !== NO_BODY && batch.settleBody(first, this.cached.at(handle))) receipt.cacheHits++;
        else this.await(batch, first, at, hashes[first] as number, misses);
      }
    } finally {
      receipt.groups = misses.groups.length;
      for (const group of misses.groups) void fetchGroup(this.context, group, given?.get(group.bucket));
    }
  }

  /** Lets a chain wait for the flight of its message, which is started when there is none. */
  private await(batch: Batch, first: number, at: MessageAt, hash: number, misses: MissGroups): void {
    const { flights } = this.context;
    let flight = flights.find(hash, at, batch.hasFloorIn(first));
    const isUrgent = batch.request.kind === RequestKind.PUSH_EVENTS;
    if (flight !== undefined) {
      batch.receipt.flightsJoined++;
      // What a backlog asked for first is waited for by live delivery now.
      if (isUrgent) flight.turn.hurry();
    } else if (flights.size >= (isUrgent ? FLIGHTS_MAX : FLIGHTS_MAX - FLIGHTS_PUSH_RESERVE)) {
      batch.settle(first, ResultCode.UNAVAILABLE);
      return;
    } else {
      flight = misses.start(first, hash);
      flights.register(flight);
    }
    flight.waiters.push(batch.waiterFor(first));
  }
}

/** Tells of every conversation of a batch; entries mostly come conversation by conversation. */
function noteUse({ request, entries }: Batch, inUse: ConversationsInUse): void {
  const { bytes, count, code, conversationAt } = entries;
  let lastAt = -1;
  for (let index = 0; index < count; index++) {
    const at = conversationAt[index] as number;
    if (code[index] !== ResultCode.PENDING || (lastAt >= 0 && equalIdAt(bytes, lastAt, bytes, at))) continue;
    inUse.touch(request.tenantId, bytes, at);
    lastAt = at;
  }
}

/** A reference in bytes of its own. */
function referenceTo(
  tenantId: TenantId,
  conversationId: ConversationId,
  seq: bigint,
  messageId: MessageId,
): MessageAt {
  const bytes = new Uint8Array(2 * ID_BYTES);
  bytes.set(conversationId, 0);
  bytes.set(messageId, ID_BYTES);
  return {
    tenantId,
    bytes,
    conversationAt: 0,
    messageAt: ID_BYTES,
    seqHi: Number(seq >> 32n),
    seqLo: Number(seq & 0xffff_ffffn),
  };
}

async function settledOrDeadline(batch: Batch, deadlineMs: number): Promise<void> {
  const timer = setTimeout(() => batch.close(), deadlineMs);
  await batch.done;
  clearTimeout(timer);
}
