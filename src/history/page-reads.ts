/**
 * The reads of one history page: bounded, each repeated once at most (B52), and what they have brought so far. Reads of all
 * pages share one gate. When the deadline comes they stop with PastDeadline; what was read stays.
 */

import { HistoryDirection } from '../domain/history.js';
import type { BucketRead, BucketReader, BucketRows } from '../domain/history-ports.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { HISTORY_BODY_OVERHEAD_BYTES, HISTORY_READ_ROWS_MAX } from '../domain/limits.js';
import {
  contentBytes,
  effectiveState,
  type MessageRecord,
  MessageState,
  type ReactionSummary,
} from '../domain/message.js';
import type { GroupRows } from '../domain/ports.js';
import { bucketStart } from '../domain/seq.js';
import type { ConversationHead, HeadStore } from '../domain/write-ports.js';
import { type ReadGate, Turn } from '../join/read-gate.js';
import { PastDeadline, ReadDeadline } from './read-deadline.js';
import { repeatedOnce } from './repeated-once.js';

/** Of a reaction key in a body beside the key: its count, tags and lengths. */
const REACTION_OVERHEAD_BYTES = 12;

/** What all pages of a process share. */
export interface PageContext {
  readonly buckets: BucketReader;
  readonly heads: Pick<HeadStore, 'readHead'>;
  readonly gate: ReadGate;
  /** Told of every read that failed: for logs and metrics. */
  readonly onFailure: (code: string, error: unknown) => void;
}

/** What a page is asked for. */
export interface PageQuestion {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly direction: HistoryDirection;
  readonly anchor: bigint | undefined;
  readonly limit: number;
  /** Bytes of bodies in the response: rows beyond are not read, and the page ends. The first message is always shown. */
  readonly responseBytesMax: number;
  /** Whether anybody still waits for the page. */
  readonly isWanted: () => boolean;
}

export class PageReads {
  readonly question: PageQuestion;
  /** Messages to show in the page's order, and one more when there is one (D3). */
  readonly visible: MessageRecord[] = [];
  readonly rows = new Map<bigint, GroupRows>();
  readonly cost = { recordStatements: 0, summaryStatements: 0, furtherPages: 0, rows: 0, bytes: 0 };
  private readonly context: PageContext;
  private readonly deadline: ReadDeadline;
  /** Messages that the page shows at most: the limit, or as many as the response has room for. */
  private shownMax: number;
  /** Of the visible messages' bodies, as far as rows tell. */
  private bytes = 0;

  constructor(context: PageContext, question: PageQuestion, deadlineMs: number) {
    this.context = context;
    this.question = question;
    this.shownMax = question.limit;
    this.deadline = new ReadDeadline(deadlineMs, question.isWanted);
  }

  /** Ends the page; reads under way are not waited for. */
  close(): void {
    this.deadline.close();
  }

  /** True when one message more than the page shows was found. */
  get isFull(): boolean {
    return this.visible.length > this.shownMax;
  }

  /** The page's messages. */
  get shown(): readonly MessageRecord[] {
    return this.visible.slice(0, this.shownMax);
  }

  readHead(): Promise<ConversationHead | undefined> {
    const { tenantId, conversationId } = this.question;
    return this.attempt(() => this.context.heads.readHead(tenantId, conversationId));
  }

  /** Whether any row lies in a bucket: one row of one statement. */
  async hasRows(bucket: bigint): Promise<boolean> {
    const from = bucketStart(bucket);
    const to = bucketStart(bucket + 1n) - 1n;
    const { records, next } = await this.read({ bucket, from, to, limit: 1, withSummaries: false });
    return records.length > 0 || next !== undefined;
  }

  /** The first read of a bucket: as many rows as are still wanted, and one more. Nothing is taken over yet. */
  firstRows(bucket: bigint, from: bigint, to: bigint): Promise<BucketRows> {
    return this.read({ bucket, from, to, limit: this.rowsWanted, withSummaries: true });
  }

  /**
   * Takes a bucket's messages between two seqs into the page until it is full or the bucket is exhausted; answers whether
   * there was any. Where rows that are not shown, or large ones, have used up a read, further ones follow, each of many rows.
   */
  async takeBucket(bucket: bigint, from: bigint, to: bigint, first?: BucketRows): Promise<boolean> {
    const before = this.visible.length;
    let rows = first ?? (await this.firstRows(bucket, from, to));
    for (;;) {
      this.take(bucket, rows);
      if (this.isFull || rows.next === undefined) return this.visible.length > before;
      const bounds = this.descends ? { from, to: rows.next } : { from: rows.next, to };
      rows = await this.read({ bucket, ...bounds, limit: HISTORY_READ_ROWS_MAX, withSummaries: true });
    }
  }

  private get descends(): boolean {
    return this.question.direction === HistoryDirection.OLDER;
  }

  /** Keeps what the page shows and lets go of the rest: a bucket may hold thousands of rows that are not shown. */
  private take(bucket: bigint, rows: BucketRows): void {
    const taken = new Map<bigint, MessageRecord>();
    const reactionBytes = new Map(rows.summaries.map((summary) => [summary.seq, bytesOf(summary)]));
    for (const record of rows.records) {
      if (this.isFull) break;
      // Not shown, and so a hole (R4.1: visibility); a recalled one is shown without its content (D12).
      if (effectiveState(record) === MessageState.DELETED) continue;
      this.bytes += contentBytes(record) + HISTORY_BODY_OVERHEAD_BYTES + (reactionBytes.get(record.seq) ?? 0);
      const isBeyond = this.bytes > this.question.responseBytesMax && this.visible.length > 0;
      if (isBeyond) this.shownMax = Math.min(this.shownMax, this.visible.length);
      this.visible.push(record);
      taken.set(record.seq, record);
    }
    if (taken.size === 0) return;
    const summaries = rows.summaries.filter(({ seq }) => taken.has(seq));
    const former = this.rows.get(bucket);
    this.rows.set(bucket, {
      records: [...(former?.records ?? []), ...taken.values()],
      summaries: [...(former?.summaries ?? []), ...summaries],
      sentAtMs: Math.min(former?.sentAtMs ?? rows.sentAtMs, rows.sentAtMs),
      cost: rows.cost,
    });
  }

  private get rowsWanted(): number {
    return this.shownMax + 1 - this.visible.length;
  }

  private async read(
    read: Omit<BucketRead, 'tenantId' | 'conversationId' | 'descending' | 'bytesMax'>,
  ): Promise<BucketRows> {
    const { tenantId, conversationId, responseBytesMax: bytesMax } = this.question;
    const whole = { ...read, tenantId, conversationId, descending: this.descends, bytesMax };
    const rows = await this.attempt(() => this.gated(whole));
    const { cost } = this;
    cost.recordStatements += rows.cost.recordStatements;
    cost.summaryStatements += rows.cost.summaryStatements;
    cost.furtherPages += rows.cost.furtherPages;
    cost.rows += rows.cost.rows;
    cost.bytes += rows.cost.bytes;
    return rows;
  }

  private async gated(read: BucketRead): Promise<BucketRows> {
    const rows = await this.context.gate.run({
      turn: new Turn(false),
      isWanted: () => !this.deadline.isOver,
      send: () => this.context.buckets.readBucketRows(read),
    });
    if (rows === undefined) throw new PastDeadline();
    return rows;
  }

  private attempt<T>(read: () => Promise<T>): Promise<T> {
    return repeatedOnce(read, this.deadline, this.context.onFailure);
  }
}

/** What a summary takes in a body, about: three bytes to a character at most, a count, tags and lengths. */
function bytesOf({ counts }: ReactionSummary): number {
  let bytes = 0;
  for (const [key] of counts) bytes += 3 * key.length + REACTION_OVERHEAD_BYTES;
  return bytes;
}
