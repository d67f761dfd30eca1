/**
 * Advances earliest_available_conversation_seq (R3.5): E of a conversation becomes the earliest seq, at or above E, that
 * is still there. It is never moved back (the store's fence sees to that) and never beyond H. A held row that is still
 * there keeps E at or below it; a row that governance has set to DELETED does not, unless it is held.
 *
 * A seq that is absent is gone only when it has had time to arrive: with `record = archive` it may still wait in the
 * log, and a commit may be under way. Since E cannot be moved back, such a seq would be hidden for ever. So absence
 * counts only for seqs that are older than the settling time, which must be longer than an archiver's lag, and than a
 * writer goes on with a window beside another one (SEQ_WINDOW_IDLE_MS): then those below a row, or below H, that are
 * absent have been handed out before it, or never will be.
 *
 * A run walks the heads in the store's order from its checkpoint, a bounded number of conversations, and reads a bounded
 * number of buckets of each. Where that ends among absent seqs E is advanced that far, so that repeated runs converge.
 * Fails with STORE_UNAVAILABLE or STORE_REFUSED; the next run goes on where the last page of heads began.
 */
import type { ConversationId, TenantId } from '../domain/ids.js';
import { ADVANCE_IN_FLIGHT_MAX, ADVANCE_PAGE_HEADS } from '../domain/limits.js';
import { type MessageRecord, MessageState, RetentionClass } from '../domain/message.js';
import type { Clock } from '../domain/ports.js';
import { bucketOf, bucketStart } from '../domain/seq.js';
import type { ConversationHead, HeadListing, WriteStore } from '../domain/write-ports.js';
import { boundedParallel } from './bounded-parallel.js';

export interface AdvancerOptions {
  readonly writes: Pick<
    WriteStore,
    'listHeads' | 'readRecord' | 'readBucket' | 'advanceEarliest' | 'loadCheckpoint' | 'saveCheckpoint'
  >;
  readonly clock: Pick<Clock, 'epochMs'>;
  /** How old an absent seq must be to count as gone. */
  readonly settleMs: number;
  /** Conversations of one run. */
  readonly conversationsMax: number;
  /** Buckets read of one conversation in one run. */
  readonly bucketsMax: number;
  readonly onProgress?: ((report: AdvanceReport) => void) | undefined;
}

export interface AdvanceReport {
  readonly conversations: number;
  /** E was moved. */
  readonly advanced: number;
  /** E is where it should be. */
  readonly unchanged: number;
  /** What is absent at E is too young to count as gone. */
  readonly unsettled: number;
  /** Of all: those whose buckets are not all read yet; later runs go on. */
  readonly unfinished: number;
  readonly bucketsRead: number;
  /** True when the run came to the last head; the next one starts anew. */
  readonly atEnd: boolean;
}

type Counts = { -readonly [K in keyof AdvanceReport]: AdvanceReport[K] };

const CHECKPOINT = 'advance';
/** Buckets looked through from H downwards for a row that is old enough. */
const PROOF_BUCKETS_MAX = 4;

export class Advancer {
  readonly #options: AdvancerOptions;

  constructor(options: AdvancerOptions) {
    this.#options = options;
  }

  /** One run; an abort ends it after the page under way. */
  async run(signal: AbortSignal): Promise<AdvanceReport> {
    const { writes, conversationsMax, onProgress } = this.#options;
    const counts: Counts = {
      conversations: 0,
      advanced: 0,
      unchanged: 0,
      unsettled: 0,
      unfinished: 0,
      bucketsRead: 0,
      atEnd: false,
    };
    let from = (await writes.loadCheckpoint(CHECKPOINT)) || undefined;
    while (!signal.aborted && !counts.atEnd && counts.conversations < conversationsMax) {
      const limit = Math.min(ADVANCE_PAGE_HEADS, conversationsMax - counts.conversations);
      const { heads, next }: HeadListing = await writes.listHeads(from, limit);
      await boundedParallel(heads, ADVANCE_IN_FLIGHT_MAX, async ({ tenantId, conversationId, head }) => {
        counts[await this.#advance(tenantId, conversationId, head, counts)]++;
        counts.conversations++;
      });
      counts.atEnd = next === undefined;
      from = next;
      await writes.saveCheckpoint(CHECKPOINT, next ?? '');
      onProgress?.({ ...counts });
    }
    return counts;
  }

  async #advance(
    tenantId: TenantId,
    conversationId: ConversationId,
    head: ConversationHead,
    counts: Counts,
  ): Promise<'advanced' | 'unchanged' | 'unsettled'> {
    const { writes } = this.#options;
    const earliest = head.earliestAvailableSeq ?? 0n;
    const latest = head.latestSeq;
    if (latest === undefined || earliest >= latest) return 'unchanged';
    const atEarliest = await writes.readRecord({ tenantId, conversationId, seq: earliest });
    if (atEarliest !== undefined && isAvailable(atEarliest)) return 'unchanged';

    const readBucket = async (bucket: bigint): Promise<readonly MessageRecord[]> => {
      counts.bucketsRead++;
      return writes.readBucket(tenantId, conversationId, bucket);
    };
    const target = await this.#target(readBucket, head, earliest, latest, counts);
    if (target === undefined) return 'unsettled';
    if (target <= earliest) return 'unchanged';
    await writes.advanceEarliest(tenantId, conversationId, target);
    return 'advanced';
  }

  /** Where E belongs as far as is known; undefined when what is absent may still arrive. */
  async #target(
    readBucket: (bucket: bigint) => Promise<readonly MessageRecord[]>,
    head: ConversationHead,
    earliest: bigint,
    latest: bigint,
    counts: Counts,
  ): Promise<bigint | undefined> {
    const isAllSettled = head.updatedAtMs !== undefined && this.#isSettled(head.updatedAtMs);
    const first = bucketOf(earliest);
    const last = bucketOf(latest);
    const end = first + BigInt(this.#options.bucketsMax);
    for (let bucket = first; bucket <= last && bucket < end; bucket++) {
      const rows = await readBucket(bucket);
      const found = rows.find((row) => row.seq >= earliest && isAvailable(row));
      if (found === undefined) continue;
      if (!isAllSettled && !this.#isSettled(found.createdAtMs)) return undefined;
      return found.seq < latest ? found.seq : latest;
    }
    if (end > last) return isAllSettled ? latest : undefined;
    counts.unfinished++;
    const reached = bucketStart(end);
    if (isAllSettled) return reached;
    const settled = await this.#highestSettled(readBucket, last, end);
    return settled === undefined || settled < reached ? settled : reached;
  }

  /** The highest seq of a row that is old enough: everything below it is, too. */
  async #highestSettled(
    readBucket: (bucket: bigint) => Promise<readonly MessageRecord[]>,
    last: bigint,
    end: bigint,
  ): Promise<bigint | undefined> {
    for (let bucket = last; bucket >= end && bucket > last - BigInt(PROOF_BUCKETS_MAX); bucket--) {
      const rows = await readBucket(bucket);
      const settled = rows.findLast((row) => this.#isSettled(row.createdAtMs));
      if (settled !== undefined) return settled.seq;
    }
    return undefined;
  }

  #isSettled(epochMs: bigint): boolean {
    const { clock, settleMs } = this.#options;
    return clock.epochMs() - Number(epochMs) > settleMs;
  }
}

/** Whether history can still show the row, or a hold keeps it. */
function isAvailable(row: MessageRecord): boolean {
  return row.state !== MessageState.DELETED || row.retentionClass === RetentionClass.COMPLIANCE_HOLD;
}
