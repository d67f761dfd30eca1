/**
 * The walk of a history page from bucket to bucket (R4.1, D3, D4), one bounded read each.
 *
 *     older:  [above the head] … H … ──▶ … E      the run of empty buckets that reaches eight ends it: a hole
 *     newer:  E … ──▶ … H … [above the head]      two empty buckets above H end it: nothing lies beyond
 *
 * The head lags (it is written after the acknowledgement), so what lies above H counts as much as what lies below.
 */
import { HistoryDirection, type HistoryHole, HistoryStop } from '../domain/history.js';
import type { BucketRows } from '../domain/history-ports.js';
import {
  HISTORY_ABOVE_HEAD_MAX,
  HISTORY_EMPTY_ABOVE_HEAD,
  HISTORY_MAX_EMPTY_BUCKET_SCAN,
} from '../domain/limits.js';
import { bucketOf, bucketStart, SEQ_MAX } from '../domain/seq.js';
import type { ConversationHead } from '../domain/write-ports.js';
import type { PageReads } from './page-reads.js';
import { PastDeadline } from './read-deadline.js';

const BUCKET_MAX = bucketOf(SEQ_MAX);

/** What an operator has to hear of. */
export type HistoryAlert =
  /** A hole ended a page (R4.1, S-3). */
  | 'hole'
  /** The head is further behind the newest message than pages look for it. */
  | 'head_behind';

/** Where a walk ended. */
export interface WalkEnd {
  readonly stop: HistoryStop;
  readonly hole: HistoryHole | undefined;
  /** With DEADLINE: the first seq that was not looked at, in the walk's direction; undefined = none was. */
  readonly reached: bigint | undefined;
}

const LIMIT: WalkEnd = { stop: HistoryStop.LIMIT, hole: undefined, reached: undefined };
const END: WalkEnd = { stop: HistoryStop.END, hole: undefined, reached: undefined };

/** Walks until the page is full or its end is known. Rejects with what a read rejects with, the deadline aside. */
export async function walk(
  reads: PageReads,
  head: ConversationHead | undefined,
  onAlert: (alert: HistoryAlert) => void,
): Promise<WalkEnd> {
  const end = await new Walk(reads, head, onAlert).run();
  if (end.hole !== undefined) onAlert('hole');
  return end;
}

class Walk {
  private readonly reads: PageReads;
  private readonly onAlert: (alert: HistoryAlert) => void;
  /** E: rows below it are not shown. */
  private readonly lowest: bigint;
  private readonly hasHead: boolean;
  /** That of the newest message that is known of: by the head, or by what this walk has found above it. */
  private headBucket: bigint;
  /** The first seq not looked at yet, in the walk's direction. */
  private at = 0n;
  /** The first seq behind the last message found, or behind the walk's start: where a hole would begin. */
  private edge = 0n;
  private emptyRun = 0;
  /** Where the walk begins is known. */
  private started = false;

  constructor(reads: PageReads, head: ConversationHead | undefined, onAlert: (alert: HistoryAlert) => void) {
    this.reads = reads;
    this.onAlert = onAlert;
    this.lowest = head?.earliestAvailableSeq ?? 0n;
    this.hasHead = head?.latestSeq !== undefined;
    const latest = head?.latestSeq ?? 0n;
    this.headBucket = bucketOf(latest > this.lowest ? latest : this.lowest);
  }

  async run(): Promise<WalkEnd> {
    const isOlder = this.reads.question.direction === HistoryDirection.OLDER;
    try {
      return await (isOlder ? this.older() : this.newer());
    } catch (error) {
      if (!(error instanceof PastDeadline)) throw error;
      return { stop: HistoryStop.DEADLINE, hole: undefined, reached: this.reached(isOlder) };
    }
  }

  /** Behind the last message found, where the deadline came between two reads of one bucket. */
  private reached(isOlder: boolean): bigint | undefined {
    const last = this.reads.visible.at(-1)?.seq;
    if (!this.started || last === undefined) return this.started ? this.at : undefined;
    if (isOlder) return last <= this.at ? last - 1n : this.at;
    return last >= this.at ? last + 1n : this.at;
  }

  private async older(): Promise<WalkEnd> {
    const { anchor } = this.reads.question;
    if (anchor === 0n) return END;
    let first: BucketRows | undefined;
    if (anchor === undefined) {
      this.at = lastOf(this.headBucket);
      // Mostly nothing lies above the head's bucket, so that is read without waiting to know.
      const guess = this.reads.firstRows(this.headBucket, this.fromOf(this.headBucket), this.at);
      const [top, guessed] = await Promise.all([this.topBucket(HISTORY_EMPTY_ABOVE_HEAD), guess]);
      this.at = lastOf(top);
      if (top === this.headBucket) first = guessed;
    } else this.at = anchor - 1n;
    this.edge = this.at;
    this.started = true;
    while (this.at >= this.lowest) {
      const bucket = bucketOf(this.at);
      const found = await this.reads.takeBucket(bucket, this.fromOf(bucket), this.at, first);
      first = undefined;
      if (this.reads.isFull) return LIMIT;
      if (found && bucket > this.headBucket) this.headBucket = bucket;
      this.countBucket(found, this.at === lastOf(bucket), -1n);
      if (this.fromOf(bucket) === this.lowest) return END;
      this.at = bucketStart(bucket) - 1n;
      if (this.emptyRun < HISTORY_MAX_EMPTY_BUCKET_SCAN) continue;
      // Without a head nobody knows where the conversation ends.
      const isFarAbove = this.hasHead && bucket > this.headBucket + 1n;
      // Further than a newest page looks: above a head that lags may be as many empty buckets as make no hole.
      const top = isFarAbove ? await this.topBucket(HISTORY_MAX_EMPTY_BUCKET_SCAN) : bucket;
      if (top >= bucket) return this.hole(bucketStart(bucket));
      // Far above the head, where a caller may have anchored: no hole in the conversation.
      this.at = lastOf(top);
      this.edge = this.at;
      this.emptyRun = 0;
    }
    return END;
  }

  private async newer(): Promise<WalkEnd> {
    const { anchor } = this.reads.question;
    if (anchor === SEQ_MAX) return END;
    this.at = anchor === undefined || anchor < this.lowest ? this.lowest : anchor + 1n;
    this.edge = this.at;
    this.started = true;
    let emptyAbove = 0;
    for (;;) {
      const bucket = bucketOf(this.at);
      const found = await this.reads.takeBucket(bucket, this.at, lastOf(bucket));
      if (this.reads.isFull) return LIMIT;
      const isWhole = this.at === bucketStart(bucket);
      this.countBucket(found, isWhole, 1n);
      if (found) emptyAbove = 0;
      else if (isWhole && bucket > this.headBucket) emptyAbove++;
      if (emptyAbove === HISTORY_EMPTY_ABOVE_HEAD || bucket === BUCKET_MAX) return END;
      this.at = bucketStart(bucket + 1n);
      if (this.emptyRun < HISTORY_MAX_EMPTY_BUCKET_SCAN) continue;
      return bucket <= this.headBucket ? this.hole(lastOf(bucket)) : END;
    }
  }

  /** The highest bucket that holds something, the head's at least; `looks`: how many it looks at above one that does. */
  private async topBucket(looks: number): Promise<bigint> {
    let top = this.headBucket;
    for (;;) {
      const above: bigint[] = [];
      for (let step = 1n; step <= BigInt(looks); step++) {
        if (top + step <= BUCKET_MAX) above.push(top + step);
      }
      const found = await Promise.all(above.map((bucket) => this.reads.hasRows(bucket)));
      const last = found.lastIndexOf(true);
      if (last < 0) return top;
      top = above[last] as bigint;
      if (top - this.headBucket < BigInt(HISTORY_ABOVE_HEAD_MAX)) continue;
      this.onAlert('head_behind');
      return top;
    }
  }

  private fromOf(bucket: bigint): bigint {
    const start = bucketStart(bucket);
    if (start < this.lowest) return this.lowest;
    return start;
  }

  /**
   * A bucket in whose middle the page begins is not counted as empty: else a page that ended before seven empty buckets
   * and said has_more would be followed by one that meets the eighth.
   */
  private countBucket(found: boolean, isWhole: boolean, step: bigint): void {
    if (found) this.emptyRun = 0;
    else if (isWhole) this.emptyRun++;
    const last = this.reads.visible.at(-1);
    if (found && last !== undefined) this.edge = last.seq + step;
  }

  private hole(continueAnchor: bigint): WalkEnd {
    return {
      stop: HistoryStop.HOLE,
      hole: { beganAt: this.edge, continueAnchor },
      reached: undefined,
    };
  }
}

function lastOf(bucket: bigint): bigint {
  return bucketStart(bucket + 1n) - 1n;
}
