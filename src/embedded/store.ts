/**
 * The embedded MessageStore: the port's promises kept on one LMDB file, for a first run and for tests.
 *
 * Rows behave as on Cassandra: last-write-wins per column with explicit timestamps (D14, D19), TTLs per cell honoured
 * at read (D8), updates of absent rows that stay unseen (B15). A write resolves when it is on disk. Reads are
 * synchronous look-ups in mapped memory and never wait for writers. Fails with STORE_UNAVAILABLE or STORE_CORRUPT.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import type { Coordinates, MessageRecord, ReactionSummary } from '../domain/message.js';
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
import { editColumns, insertColumns, readRecord, recallColumns } from './record-row.js';
import { decodeRow, encodeRow } from './row-codec.js';
import { rowKey, seqOfKey } from './row-key.js';
import { readSummary, summaryColumns } from './summary-row.js';
import { indexExpiry, SWEEP_ROWS_PER_WRITE, sweep } from './sweep.js';

export class EmbeddedStore implements MessageStore {
  readonly #environment: Environment;
  readonly #clock: Clock;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
  }

  async readGroup(read: GroupRead): Promise<GroupRows> {
    for (const statement of read.statements) assertStatement(statement);
    const sentAtMs = this.#clock.nowMs();
    const nowS = this.#nowS();
    const { records: recordTable, summaries: summaryTable } = this.#environment;
    const records: MessageRecord[] = [];
    const summaries: ReactionSummary[] = [];
    this.#environment.read(() => {
      for (const statement of read.statements) {
        for (const [seq, row] of rowsOf(recordTable, read, statement)) {
          const record = readRecord(seq, row, nowS);
          if (record !== undefined) records.push(record);
        }
        for (const [seq, row] of rowsOf(summaryTable, read, statement)) {
          const summary = readSummary(seq, row, nowS);
          if (summary !== undefined) summaries.push(summary);
        }
      }
    });
    const count = read.statements.length;
    // A statement here is what it would be in CQL: one on each of the two tables, never a second page.
    const cost: ReadCost = {
      recordStatements: count,
      summaryStatements: count,
      furtherPages: 0,
      rows: records.length,
      bytes: 0,
    };
    for (const record of records) {
      cost.bytes +=
        (record.payload?.length ?? 0) +
        (record.mediaMetadata?.length ?? 0) +
        (record.mentionTargets?.length ?? 0);
    }
    return { records, summaries, sentAtMs, cost };
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

/** The rows that one statement finds in its bucket, by ascending seq, each once (B05). */
function* rowsOf(table: Table, read: GroupRead, statement: ReadStatement): Generator<[bigint, Row]> {
  const key = (seq: bigint): Buffer => rowKey(read.tenantId, read.conversationId, read.bucket, seq);
  if (statement.shape === 'in') {
    for (const seq of new Set(statement.seqs)) {
      const stored = table.get(key(seq));
      if (stored !== undefined) yield [checkedSeq(seq, read.bucket), decodeRow(stored)];
    }
    return;
  }
  let rows = 0;
  for (const entry of table.getRange({
    start: key(statement.from),
    end: key(statement.to),
    inclusiveEnd: true,
  })) {
    if (++rows > PARTITION_ROWS_MAX)
      throw new MailjoinError('STORE_CORRUPT', 'more rows than a bucket holds');
    yield [checkedSeq(seqOfKey(entry.key), read.bucket), decodeRow(entry.value)];
  }
}

/** R4.2: a row of a foreign bucket is a bucketing defect and fails the read. */
function checkedSeq(seq: bigint, bucket: bigint): bigint {
  if (bucketOf(seq) !== bucket) throw new MailjoinError('STORE_CORRUPT', 'a row lies in a foreign bucket');
  return seq;
}
