/**
 * Bounded reads of one bucket on Cassandra or ScyllaDB (domain BucketReader): a range with a LIMIT, in either order.
 *
 * Both tables are asked at once (R4.4), with one LIMIT. A bucket may hold summaries whose messages have expired (they have
 * no TTL, D21), so the summaries' LIMIT may end before the last row does: what is missing is then one further read, bounded
 * by the rows. All pages are followed (B07), unless the rows' bytes have reached their bound. Retries nothing; fails with STORE_*.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import type { BucketRead, BucketReader, BucketRows } from '../domain/history-ports.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import { contentBytes, type MessageRecord, type ReactionSummary } from '../domain/message.js';
import type { Clock, ReadCost } from '../domain/ports.js';
import { assertSeq, bucketOf } from '../domain/seq.js';
import { RECORD_SELECTION, SUMMARY_SELECTION } from './message-statements.js';
import { quotedKeyspace } from './options.js';
import { bound, recordOf, seqOf, summaryOf } from './rows.js';
import type { CqlPage, CqlRow, CqlSession } from './session.js';
import type { CqlStatement } from './statement.js';

const RANGE =
  'tenant_id = ? AND conversation_id = ? AND seq_bucket = ? AND conversation_seq >= ? AND conversation_seq <= ?';

/** A statement in both orders. */
interface Ordered {
  readonly ascending: CqlStatement;
  readonly descending: CqlStatement;
}

interface Rows {
  readonly rows: readonly CqlRow[];
  /** There are further pages. */
  readonly isCut: boolean;
}

const NO_ROWS: Rows = { rows: [], isCut: false };

export class CqlBucketReader implements BucketReader {
  readonly #session: CqlSession;
  readonly #clock: Clock;
  readonly #records: Ordered;
  readonly #summaries: Ordered;

  constructor(session: CqlSession, keyspace: string, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
    this.#records = ordered(keyspace, 'message_record', RECORD_SELECTION);
    this.#summaries = ordered(keyspace, 'message_reaction_summary', SUMMARY_SELECTION);
  }

  async readBucketRows(read: BucketRead): Promise<BucketRows> {
    assertSeq(read.from, 'conversation_seq');
    assertSeq(read.to, 'conversation_seq');
    assert(read.limit >= 1 && read.limit <= PARTITION_ROWS_MAX, 'a bounded read');
    const sentAtMs = this.#clock.nowMs();
    const cost: ReadCost = { recordStatements: 0, summaryStatements: 0, furtherPages: 0, rows: 0, bytes: 0 };
    const records: MessageRecord[] = [];
    const take = (rows: readonly CqlRow[]): boolean => {
      for (const row of rows) {
        const record = recordOf(row);
        if (record === undefined) continue;
        records.push(record);
        cost.rows++;
        cost.bytes += contentBytes(record);
      }
      return cost.bytes < read.bytesMax;
    };
    const [{ rows, isCut }, { rows: summaryRows }] = await Promise.all([
      this.#rows(this.#records, read, read.limit, cost, take),
      read.withSummaries ? this.#rows(this.#summaries, read, read.limit, cost) : NO_ROWS,
    ]);
    const last = rows.at(-1);
    const isWhole = last === undefined || (rows.length < read.limit && !isCut);
    const next = isWhole ? undefined : behind(read, seqOf(last));
    const missing = read.withSummaries ? missingSummaries(read, records, summaryRows) : undefined;
    const rest = missing && (await this.#rows(this.#summaries, missing, PARTITION_ROWS_MAX, cost)).rows;
    const summaries: ReactionSummary[] = [];
    for (const row of rest === undefined ? summaryRows : [...summaryRows, ...rest]) {
      const summary = summaryOf(row);
      if (summary !== undefined) summaries.push(summary);
    }
    return { records, summaries, sentAtMs, cost, next };
  }

  /** All pages of a statement, or fewer once `take`, which gets each, wants no more. */
  async #rows(
    both: Ordered,
    read: BucketRead,
    limit: number,
    cost: ReadCost,
    take: (rows: readonly CqlRow[]) => boolean = () => true,
  ): Promise<Rows> {
    const statement = read.descending ? both.descending : both.ascending;
    const values = [bound(read.tenantId), bound(read.conversationId), read.bucket, read.from, read.to, limit];
    if (both === this.#records) cost.recordStatements++;
    else cost.summaryStatements++;
    let page: CqlPage = await this.#session.execute(statement, values);
    const rows = [...page.rows];
    let wantsMore = take(page.rows);
    // An empty page is not the end: ScyllaDB sends such pages when it met tombstones.
    while (wantsMore && page.pageState !== undefined && rows.length <= limit) {
      cost.furtherPages++;
      page = await this.#session.execute(statement, values, page.pageState);
      rows.push(...page.rows);
      wantsMore = take(page.rows);
    }
    if (rows.length > limit) {
      throw new MailjoinError('STORE_CORRUPT', `${statement.table}: more rows than were asked for (R4.2)`);
    }
    for (const row of rows) {
      if (bucketOf(seqOf(row)) !== read.bucket) {
        throw new MailjoinError(
          'STORE_CORRUPT',
          'a row lies in a partition that is not its seq_bucket (R4.2)',
        );
      }
    }
    return { rows, isCut: page.pageState !== undefined };
  }
}

/** What is left of a read behind the row of `seq`. */
function behind(read: BucketRead, seq: bigint): bigint | undefined {
  if (read.descending) return seq > read.from ? seq - 1n : undefined;
  return seq < read.to ? seq + 1n : undefined;
}

/** The range whose summaries the LIMIT cut off although their records were read; undefined = none. */
function missingSummaries(
  read: BucketRead,
  records: readonly MessageRecord[],
  summaryRows: readonly CqlRow[],
): BucketRead | undefined {
  const last = records.at(-1)?.seq;
  if (summaryRows.length < read.limit || last === undefined) return undefined;
  const next = behind(read, seqOf(summaryRows[summaryRows.length - 1] as CqlRow));
  if (next === undefined) return undefined;
  if (read.descending) return next < last ? undefined : { ...read, from: last, to: next };
  return next > last ? undefined : { ...read, from: next, to: last };
}

function ordered(keyspace: string, table: string, selection: string): Ordered {
  const select = (order: 'ASC' | 'DESC'): CqlStatement => ({
    cql: `SELECT ${selection} FROM ${quotedKeyspace(keyspace)}.${table} WHERE ${RANGE} ORDER BY conversation_seq ${order} LIMIT ?`,
    table,
    shape: 'bucket',
    access: table === 'message_record' ? 'pages' : 'read',
  });
  return { ascending: select('ASC'), descending: select('DESC') };
}
