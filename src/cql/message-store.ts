/**
 * The message store on Cassandra or ScyllaDB (domain MessageStore): reads of groups, and single-row writes.
 *
 * Read: every statement goes out on both tables at once (R4.4); pages are followed until the store names no next
 * one, also after an empty page (B07); a read that is bounded in bytes also ends where these, or half of its time, are
 * used up, and says what is left. The whole visit has one timeout and settles once, with its rows or an error.
 * Write: every statement has its timestamp, and a TTL or none (D8, D14); seqs are checked before anything is sent.
 *
 * Fails with STORE_UNAVAILABLE, STORE_REFUSED, STORE_CORRUPT (R4.2), SEQ_RANGE or TTL_RANGE. Retries nothing.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import {
  type Coordinates,
  contentBytes,
  type MessageRecord,
  MessageState,
  type ReactionSummary,
} from '../domain/message.js';
import type {
  Clock,
  EditOfRecord,
  GroupRead,
  GroupRows,
  MessageStore,
  ReadCost,
  RecallOfRecord,
  WriteLife,
} from '../domain/ports.js';
import { assertSeq, bucketOf, isSeq } from '../domain/seq.js';
import type { ReadStatement } from '../domain/statement.js';
import { requireLife, requireSeq } from '../domain/write-checks.js';
import { requireBucketWidth } from './bucket-width.js';
import { LargeRows } from './large-rows.js';
import { type MessageStatements, messageStatements, type WriteStatements } from './message-statements.js';
import { bound, boundDekId, boundKey, boundRecord, recordOf, seqOf, summaryOf } from './rows.js';
import type { CqlPage, CqlRow, CqlSession, CqlValue } from './session.js';
import type { CqlStatement } from './statement.js';

/** One group read under way. */
interface Visit {
  readonly bucket: bigint;
  /** Content bytes and time after which no further page of records is asked for. */
  readonly bytesMax: number;
  readonly pagesUntilMs: number;
  readonly pageRows: number | undefined;
  readonly cost: ReadCost;
  readonly records: MessageRecord[];
  readonly summaries: ReactionSummary[];
  readonly unread: ReadStatement[];
  /** Set when the read has settled: its remaining pages are not asked for. */
  over: boolean;
}

/**
 * Ends a read with a seq that no column can hold in order: a bug of the planner, before the store is touched (D6).
 * Bounds of a range may lie outside the bucket; the partition holds nothing there.
 */
function assertStatement(statement: ReadStatement): void {
  if (statement.shape === 'in') {
    assert(statement.seqs.length > 0 && statement.seqs.length <= PARTITION_ROWS_MAX, 'IN list length');
    for (const seq of statement.seqs) assertSeq(seq, 'conversation_seq');
    return;
  }
  assertSeq(statement.from, 'conversation_seq');
  assertSeq(statement.to, 'conversation_seq');
}

export class CqlStore implements MessageStore {
  readonly #session: CqlSession;
  readonly #keyspace: string;
  readonly #clock: Clock;
  readonly #statements: MessageStatements;
  readonly #largeRows = new LargeRows();

  /** The session is closed with the store. */
  constructor(session: CqlSession, keyspace: string, clock: Clock) {
    this.#session = session;
    this.#keyspace = keyspace;
    this.#clock = clock;
    this.#statements = messageStatements(keyspace);
  }

  async readGroup(read: GroupRead): Promise<GroupRows> {
    for (const statement of read.statements) assertStatement(statement);
    const sentAtMs = this.#clock.nowMs();
    const isBounded = read.bytesMax !== undefined;
    const visit: Visit = {
      bucket: read.bucket,
      bytesMax: read.bytesMax ?? Number.POSITIVE_INFINITY,
      pagesUntilMs: isBounded ? sentAtMs + this.#session.timeoutMs / 2 : Number.POSITIVE_INFINITY,
      pageRows: this.#largeRows.pageRows(read),
      cost: { recordStatements: 0, summaryStatements: 0, furtherPages: 0, rows: 0, bytes: 0 },
      records: [],
      summaries: [],
      unread: [],
      over: false,
    };
    await this.#withinTimeout(visit, this.#sendAll(read, visit));
    const { records, summaries, unread, cost } = visit;
    this.#largeRows.learn(read, cost);
    return { records, summaries, sentAtMs, cost, ...(unread.length > 0 && { unread }) };
  }

  #sendAll(read: GroupRead, visit: Visit): Promise<unknown> {
    const partition = [bound(read.tenantId), bound(read.conversationId), read.bucket];
    const sent: Promise<void>[] = [];
    for (const statement of read.statements) {
      const values: CqlValue[] =
        statement.shape === 'in'
          ? [...partition, statement.seqs]
          : [...partition, statement.from, statement.to];
      visit.cost.recordStatements++;
      const { records, summaries } = this.#statements;
      sent.push(this.#eachPage(visit, records[statement.shape], values, takeRecords, statement));
      visit.cost.summaryStatements++;
      sent.push(this.#eachPage(visit, summaries[statement.shape], values, takeSummaries, undefined));
    }
    return Promise.all(sent);
  }

  /** `bounded`: what the statement asks for, where its pages end once the visit's bytes or time are used up. */
  async #eachPage(
    visit: Visit,
    statement: CqlStatement,
    values: readonly CqlValue[],
    take: (visit: Visit, rows: readonly CqlRow[]) => void,
    bounded: ReadStatement | undefined,
  ): Promise<void> {
    let rows = 0;
    let last: CqlRow | undefined;
    // Summaries are small, and have no bound: many pages of few rows would use up the whole time.
    const pageRows = bounded && visit.pageRows;
    let page: CqlPage = await this.#session.execute(statement, values, undefined, pageRows);
    for (;;) {
      if (visit.over) return;
      rows += page.rows.length;
      // Per statement; a partition's statements are disjoint, so their sum is bounded by the bucket's width as well.
      if (rows > PARTITION_ROWS_MAX) {
        throw new MailjoinError(
          'STORE_CORRUPT',
          `${statement.table}: more rows than a bucket can hold (R4.2)`,
        );
      }
      take(visit, page.rows);
      // An empty page is not the end: ScyllaDB sends such pages when it met tombstones.
      if (page.pageState === undefined) return;
      last = page.rows.at(-1) ?? last;
      if (bounded !== undefined && this.#isUsedUp(visit)) {
        const rest = last === undefined ? bounded : below(bounded, seqOf(last));
        if (rest !== undefined) visit.unread.push(rest);
        return;
      }
      visit.cost.furtherPages++;
      page = await this.#session.execute(statement, values, page.pageState, pageRows);
    }
  }

  #isUsedUp({ cost, bytesMax, pagesUntilMs }: Visit): boolean {
    return cost.bytes >= bytesMax || this.#clock.nowMs() >= pagesUntilMs;
  }

  async #withinTimeout(visit: Visit, work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () =>
          reject(new MailjoinError('STORE_UNAVAILABLE', `no answer within ${this.#session.timeoutMs} ms`)),
        this.#session.timeoutMs,
      );
    });
    try {
      await Promise.race([work, late]);
    } finally {
      visit.over = true;
      clearTimeout(timer);
    }
  }

  async insertRecord(where: Coordinates, record: MessageRecord, life: WriteLife): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    requireSeq(record.replyToSeq, 'reply_to_conversation_seq');
    requireSeq(record.recallEventSeq, 'recall_event_conversation_seq');
    assert(record.seq === where.seq, 'the record is another message than its coordinates say');
    requireLife(life);
    // In an INSERT the values come before USING.
    const values = [...boundKey(where), ...boundRecord(record)];
    const { expiring, lasting } = this.#statements.insertRecord;
    if (life.ttlSeconds === undefined) {
      await this.#session.execute(lasting, [...values, life.timestampMicros]);
    } else {
      await this.#session.execute(expiring, [...values, life.ttlSeconds, life.timestampMicros]);
    }
  }

  async editRecord(where: Coordinates, edit: EditOfRecord, life: WriteLife): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    await this.#update(this.#statements.editRecord, where, life, [
      bound(edit.payload),
      boundDekId(edit.dekId),
      MessageState.EDITED,
      bound(edit.editedAtActivityId),
      bound(edit.lastActivityId),
    ]);
  }

  async recallRecord(where: Coordinates, recall: RecallOfRecord, life: WriteLife): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    requireSeq(recall.recallEventSeq, 'recall_event_conversation_seq');
    await this.#update(this.#statements.recallRecord, where, life, [
      MessageState.RECALLED,
      recall.recallEventSeq,
      bound(recall.lastActivityId),
    ]);
  }

  async #update(
    statements: WriteStatements,
    where: Coordinates,
    life: WriteLife,
    assigned: readonly CqlValue[],
  ): Promise<void> {
    requireLife(life);
    const rest = [life.timestampMicros, ...assigned, ...boundKey(where)];
    if (life.ttlSeconds === undefined) {
      await this.#session.execute(statements.lasting, rest);
    } else {
      await this.#session.execute(statements.expiring, [life.ttlSeconds, ...rest]);
    }
  }

  async putSummary(where: Coordinates, summary: ReactionSummary): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    assert(summary.seq === where.seq, 'the summary is another message than its coordinates say');
    assert(summary.version > 0n && isSeq(summary.version), 'summary_version is a timestamp here (D19)');
    await this.#session.execute(this.#statements.putSummary, [
      summary.version,
      new Map(summary.counts),
      summary.version,
      summary.updatedAtMs,
      ...boundKey(where),
    ]);
  }

  /** One read at the configured consistency; also fails when the keyspace's W is another by now (D11). */
  async ping(): Promise<void> {
    await requireBucketWidth(this.#session, this.#keyspace);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

function requireBucket(visit: Visit, row: CqlRow): void {
  if (bucketOf(seqOf(row)) !== visit.bucket) {
    throw new MailjoinError('STORE_CORRUPT', 'a row lies in a partition that is not its seq_bucket (R4.2)');
  }
}

function takeRecords(visit: Visit, rows: readonly CqlRow[]): void {
  for (const row of rows) {
    requireBucket(visit, row);
    const record = recordOf(row);
    if (record === undefined) continue;
    visit.cost.rows++;
    visit.cost.bytes += contentBytes(record);
    visit.records.push(record);
  }
}

/** What is left of a statement whose rows, which come in the table's descending order (R2), have come down to `seq`. */
function below(statement: ReadStatement, seq: bigint): ReadStatement | undefined {
  if (statement.shape !== 'in') return seq > statement.from ? { ...statement, to: seq - 1n } : undefined;
  const seqs = statement.seqs.filter((each) => each < seq);
  return seqs.length > 0 ? { shape: 'in', seqs } : undefined;
}

function takeSummaries(visit: Visit, rows: readonly CqlRow[]): void {
  for (const row of rows) {
    requireBucket(visit, row);
    const summary = summaryOf(row);
    if (summary !== undefined) visit.summaries.push(summary);
  }
}
