/**
 * The embedded MessageStore: the port's promises kept on one LMDB file, for a first run and for tests.
 *
 * Rows behave as on Cassandra: last-write-wins per column with explicit timestamps (D14, D19), TTLs per cell honoured
 * at read (D8), updates of absent rows that stay unseen (B15). A write resolves when it is on disk. Reads are
 * synchronous look-ups in mapped memory that never wait for writers, and let the event loop go on every few
 * milliseconds (loop-share.ts): a long one sees each row as committed when it comes to it. Fails with
 * STORE_UNAVAILABLE or STORE_CORRUPT.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import {
  type Coordinates,
  contentBytes,
  type MessageRecord,
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
import { assertSeq, bucketOf } from '../domain/seq.js';
import type { ReadStatement } from '../domain/statement.js';
import { requireLife, requireSeq } from '../domain/write-checks.js';
import { type CellValue, expiryOf, merge, NEVER, type Row } from './cell.js';
import type { Environment, Table } from './environment.js';
import { LoopShare } from './loop-share.js';
import { editColumns, insertColumns, readRecord, recallColumns } from './record-row.js';
import { decodeRow, encodeRow } from './row-codec.js';
import { rowKey, seqOfKey } from './row-key.js';
import { readSummary, summaryColumns } from './summary-row.js';
import { indexExpiry, SWEEP_ROWS_PER_WRITE, sweep } from './sweep.js';

export class EmbeddedStore implements MessageStore {
  readonly #environment: Environment;
  readonly #clock: Clock;
  readonly #share: LoopShare;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
    this.#share = new LoopShare(clock);
  }

  async readGroup(read: GroupRead): Promise<GroupRows> {
    for (const statement of read.statements) assertStatement(statement);
    while (this.#share.isSpent()) await this.#share.nextTurn();
    const sentAtMs = this.#clock.nowMs();
    const nowS = this.#nowS();
    const { records: recordTable, summaries: summaryTable } = this.#environment;
    const records: MessageRecord[] = [];
    const summaries: ReactionSummary[] = [];
    const { bytesMax = Number.POSITIVE_INFINITY } = read;
    const unread: ReadStatement[] = [];
    let bytes = 0;
    for (const statement of read.statements) {
      if (bytes >= bytesMax) {
        unread.push(statement);
        continue;
      }
      const rest = await this.#visit(recordTable, read, statement, (seq, row) => {
        const record = readRecord(seq, row, nowS);
        if (record === undefined) return true;
        records.push(record);
        bytes += contentBytes(record);
        return bytes < bytesMax;
      });
      if (rest !== undefined) unread.push(rest);
      await this.#visit(summaryTable, read, statement, (seq, row) => {
        const summary = readSummary(seq, row, nowS);
        if (summary !== undefined) summaries.push(summary);
        return true;
      });
    }
    const count = read.statements.length;
    // A statement here is what it would be in CQL: one on each of the two tables, never a second page.
    const cost: ReadCost = {
      recordStatements: count,
      summaryStatements: count,
      furtherPages: 0,
      rows: records.length,
      bytes,
    };
    return { records, summaries, sentAtMs, cost, ...(unread.length > 0 && { unread }) };
  }

  async insertRecord(where: Coordinates, record: MessageRecord, life: WriteLife): Promise<void> {
    assert(record.seq === where.seq, 'a record is written at its own seq');
    requireSeq(where.seq, 'conversation_seq');
    requireSeq(record.replyToSeq, 'reply_to_conversation_seq');
    requireSeq(record.recallEventSeq, 'recall_event_conversation_seq');
    await this.#writeRecord(where, insertColumns(record), life);
  }

  async editRecord(where: Coordinates, edit: EditOfRecord, life: WriteLife): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    await this.#writeRecord(where, editColumns(edit), life);
  }

  async recallRecord(where: Coordinates, recall: RecallOfRecord, life: WriteLife): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    requireSeq(recall.recallEventSeq, 'recall_event_conversation_seq');
    await this.#writeRecord(where, recallColumns(recall), life);
  }

  async putSummary(where: Coordinates, summary: ReactionSummary): Promise<void> {
    assert(summary.seq === where.seq, 'a summary is written at its own seq');
    requireSeq(where.seq, 'conversation_seq');
    const key = keyOf(where);
    const columns = summaryColumns(summary);
    const { summaries } = this.#environment;
    await this.#environment.write(() => {
      const stored = summaries.get(key);
      const row = merge(stored && decodeRow(stored), columns, summary.version, NEVER);
      void summaries.put(key, encodeRow(row));
    });
  }

  async ping(): Promise<void> {
    this.#environment.read(() => this.#environment.records.getStats());
  }

  close(): Promise<void> {
    return this.#environment.close();
  }

  async #writeRecord(
    where: Coordinates,
    columns: readonly (readonly [number, CellValue])[],
    life: WriteLife,
  ): Promise<void> {
    requireLife(life);
    const key = keyOf(where);
    const environment = this.#environment;
    await environment.write(() => {
      const nowS = this.#nowS();
      const stored = environment.records.get(key);
      const former = stored && decodeRow(stored);
      const row = merge(former, columns, life.timestampMicros, expiryOf(life.ttlSeconds, nowS));
      // Inside a transaction a put is done when it returns.
      void environment.records.put(key, encodeRow(row));
      indexExpiry(environment, key, former, row);
      sweep(environment, nowS, SWEEP_ROWS_PER_WRITE);
    });
  }

  /**
   * Gives the rows of one statement to `take`, by ascending seq within a range, with pauses for the event loop; what is
   * left of it when `take` wants no more.
   */
  async #visit(
    table: Table,
    read: GroupRead,
    statement: ReadStatement,
    take: (seq: bigint, row: Row) => boolean,
  ): Promise<ReadStatement | undefined> {
    let rest: ReadStatement | undefined = statement;
    let rows = 0;
    let wantsMore = true;
    while (rest !== undefined && wantsMore) {
      while (this.#share.isSpent()) await this.#share.nextTurn();
      const part: ReadStatement = rest;
      rest = this.#environment.read(() => {
        for (const [seq, row] of rowsOf(table, read, part)) {
          if (++rows > PARTITION_ROWS_MAX)
            throw new MailjoinError('STORE_CORRUPT', 'more rows than a bucket holds');
          wantsMore = take(seq, row);
          if (!wantsMore || this.#share.isSpent()) return restAfter(part, seq);
        }
        return undefined;
      });
    }
    return rest;
  }

  #nowS(): number {
    return Math.floor(this.#clock.epochMs() / 1000);
  }
}

function keyOf({ tenantId, conversationId, seq }: Coordinates): Buffer {
  return rowKey(tenantId, conversationId, bucketOf(seq), seq);
}

/** D6: a planner that asks for a seq that no column can hold has a bug, and the store is not touched. */
function assertStatement(statement: ReadStatement): void {
  const seqs = statement.shape === 'in' ? statement.seqs : [statement.from, statement.to];
  for (const seq of seqs) assertSeq(seq, 'conversation_seq');
}

/** The rows that one statement finds in its bucket, each once (B05). */
function* rowsOf(table: Table, read: GroupRead, statement: ReadStatement): Generator<[bigint, Row]> {
  const key = (seq: bigint): Buffer => rowKey(read.tenantId, read.conversationId, read.bucket, seq);
  if (statement.shape === 'in') {
    for (const seq of new Set(statement.seqs)) {
      const stored = table.get(key(seq));
      if (stored !== undefined) yield [checkedSeq(seq, read.bucket), decodeRow(stored)];
    }
    return;
  }
  for (const entry of table.getRange({
    start: key(statement.from),
    end: key(statement.to),
    inclusiveEnd: true,
  })) {
    yield [checkedSeq(seqOfKey(entry.key), read.bucket), decodeRow(entry.value)];
  }
}

/** What a statement has still to visit after the row of `seq`; undefined = nothing. */
function restAfter(statement: ReadStatement, seq: bigint): ReadStatement | undefined {
  if (statement.shape !== 'in') {
    return seq < statement.to ? { ...statement, from: seq + 1n } : undefined;
  }
  const seqs = [...new Set(statement.seqs)];
  const rest = seqs.slice(seqs.indexOf(seq) + 1);
  return rest.length === 0 ? undefined : { shape: 'in', seqs: rest };
}

/** R4.2: a row of a foreign bucket is a bucketing defect and fails the read. */
function checkedSeq(seq: bigint, bucket: bigint): bigint {
  if (bucketOf(seq) !== bucket) throw new MailjoinError('STORE_CORRUPT', 'a row lies in a foreign bucket');
  return seq;
}
