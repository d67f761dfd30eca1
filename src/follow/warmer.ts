/**
 * Warms the cache from the log: a freshly committed message whose conversation is in use on this node is placed into
 * the cache from its record, so that a hot message is not read once by every node.
 *
 *     offered ──▶ [in use, fresh, unchanged] ──▶ waiting (bounded) ──▶ [still unchanged] ──▶ joiner.warm, a few per tick
 *
 * **Why it never brings back what an event changed.** A writer that retries repeats a message's record, perhaps after
 * its recall, when the recall's floor has done its work and gone. So a record is taken only while all events on its message are
 * remembered: it was created after this follower began (with the difference that clocks may have) and is younger than
 * WARM_AGE_MS_MAX, and the targets of all events of that time are kept. Where one of those had to be forgotten, warming pauses
 * for that time. An event that comes later finds the message cached or under way, and the joiner drops it.
 *
 * What does not fit is left out and counted: the next join reads it. Owner: the main thread; nothing here throws.
 */
import { LRUCache } from 'lru-cache';
import type { LogMessage } from '../codec/log-record.js';
import { equalIdAt, idKeyAt, type MessageId, type TenantId } from '../domain/ids.js';
import {
  FOLLOW_SETTLE_MS,
  WARM_AGE_MS_MAX,
  WARM_CHANGED_MAX,
  WARM_TICK_RECORDS,
  WARM_WAITING_BYTES_MAX,
  WARM_WAITING_RECORDS_MAX,
} from '../domain/limits.js';
import type { MessageRecord } from '../domain/message.js';
import type { Clock } from '../domain/ports.js';
import { bucketOf } from '../domain/seq.js';
import type { ConversationsInUse } from '../join/conversations-in-use.js';
import type { Joiner } from '../join/joiner.js';

/** How long the target of an event is remembered: as long as an earlier record of it could be taken. */
const CHANGED_MS = WARM_AGE_MS_MAX + 2 * FOLLOW_SETTLE_MS;

export interface WarmerOptions {
  readonly joiner: Pick<Joiner, 'warm'>;
  readonly inUse: Pick<ConversationsInUse, 'has'>;
  readonly clock: Clock;
  /** Whole seconds that remain of a row's life; undefined = no expiry; 'expired' also where its retention is not known. */
  readonly remainingLife: (
    tenantId: TenantId,
    record: MessageRecord,
    nowEpochMs: number,
  ) => number | undefined | 'expired';
  readonly waitingRecordsMax?: number;
  readonly changedMax?: number;
}

export interface WarmerStats {
  /** Handed to the joiner. */
  readonly warmed: number;
  /** In use, but left out since too many were waiting. */
  readonly dropped: number;
  readonly waiting: number;
}

export class Warmer {
  readonly #options: WarmerOptions;
  readonly #waitingRecordsMax: number;
  readonly #changed: LRUCache<string, true>;
  readonly #waiting: LogMessage[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;
  #stopped = false;
  /** Messages created before this time (1970) are not taken. */
  #takesFromEpochMs = Number.POSITIVE_INFINITY;
  #warmed = 0;
  #dropped = 0;

  constructor(options: WarmerOptions) {
    this.#options = options;
    this.#waitingRecordsMax = options.waitingRecordsMax ?? WARM_WAITING_RECORDS_MAX;
    const { clock } = options;
    this.#changed = new LRUCache({
      max: options.changedMax ?? WARM_CHANGED_MAX,
      ttl: CHANGED_MS,
      ttlResolution: 0,
      perf: { now: () => clock.nowMs() },
      dispose: (_, name, reason) => {
        if (reason === 'evict' && this.#changed.getRemainingTTL(name) > 0) this.begin();
      },
    });
  }

  /** The follower begins, or events were missed: what was created before now may have changed unseen. */
  begin(): void {
    this.#takesFromEpochMs = this.#options.clock.epochMs() + FOLLOW_SETTLE_MS;
  }

  /** An event changed a message. */
  changed(tenantId: TenantId, messageId: MessageId): void {
    this.#changed.set(nameOf(tenantId, messageId), true);
  }

  /** A message was committed. */
  offer(message: LogMessage): void {
    const { inUse } = this.#options;
    if (!inUse.has(message.tenantId, message.conversationId) || !this.#mayTake(message)) return;
    const bytes = bytesOf(message);
    if (
      this.#stopped ||
      this.#waiting.length >= this.#waitingRecordsMax ||
      this.#waitingBytes + bytes > WARM_WAITING_BYTES_MAX
    ) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(message);
    this.#waitingBytes += bytes;
    this.#running ??= this.#run();
  }

  stats(): WarmerStats {
    return { warmed: this.#warmed, dropped: this.#dropped, waiting: this.#waiting.length };
  }

  /** Resolves when nothing is waiting or under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Lets what waits go; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    await this.#running;
  }

  /** A few messages per turn of the event loop, one group at a time, so that joins always come in between. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      await this.#warm(this.#takeGroup());
    }
    this.#running = undefined;
  }

  /** The next messages that lie in one bucket. */
  #takeGroup(): LogMessage[] {
    const first = this.#waiting[0];
    let count = 0;
    while (count < WARM_TICK_RECORDS && isOfSameBucket(first, this.#waiting[count])) count++;
    const group = this.#waiting.splice(0, count);
    for (const message of group) this.#waitingBytes -= bytesOf(message);
    return group;
  }

  async #warm(group: readonly LogMessage[]): Promise<void> {
    const { clock, joiner, remainingLife } = this.#options;
    const nowEpochMs = clock.epochMs();
    const records: MessageRecord[] = [];
    for (const message of group) {
      const { tenantId, record } = message;
      const ttlSeconds = remainingLife(tenantId, record, nowEpochMs);
      if (ttlSeconds !== 'expired' && this.#mayTake(message)) records.push({ ...record, ttlSeconds });
    }
    const first = group[0];
    if (first === undefined || records.length === 0) return;
    this.#warmed += records.length;
    await joiner.warm(first.tenantId, first.conversationId, records);
  }

  #mayTake({ tenantId, record }: LogMessage): boolean {
    const createdAtMs = Number(record.createdAtMs);
    const ageMs = this.#options.clock.epochMs() - createdAtMs;
    return (
      createdAtMs >= this.#takesFromEpochMs &&
      ageMs <= WARM_AGE_MS_MAX &&
      ageMs >= -FOLLOW_SETTLE_MS &&
      !this.#changed.has(nameOf(tenantId, record.messageId))
    );
  }
}

function nameOf(tenantId: TenantId, messageId: MessageId): string {
  return idKeyAt(tenantId, 0) + idKeyAt(messageId, 0);
}

function bytesOf({ record }: LogMessage): number {
  const { payload, mediaMetadata, mentionTargets } = record;
  return (payload?.length ?? 0) + (mediaMetadata?.length ?? 0) + (mentionTargets?.length ?? 0);
}

function isOfSameBucket(a: LogMessage | undefined, b: LogMessage | undefined): boolean {
  return (
    a !== undefined &&
    b !== undefined &&
    bucketOf(a.record.seq) === bucketOf(b.record.seq) &&
    equalIdAt(a.conversationId, 0, b.conversationId, 0) &&
    equalIdAt(a.tenantId, 0, b.tenantId, 0)
  );
}
