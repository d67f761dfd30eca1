/**
 * Bounded reads of one bucket of the embedded store (domain BucketReader). What is counted is what it would be in CQL: one
 * statement on each table. Fails with STORE_UNAVAILABLE or STORE_CORRUPT.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import type { BucketRead, BucketReader, BucketRows } from '../domain/history-ports.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import { contentBytes, type MessageRecord, type ReactionSummary } from '../domain/message.js';
import type { Clock } from '../domain/ports.js';
import { assertSeq, bucketOf } from '../domain/seq.js';
import type { Environment } from './environment.js';
import { LoopShare } from './loop-share.js';
import { readRecord } from './record-row.js';
import { decodeRow } from './row-codec.js';
import { rowKey, seqOfKey } from './row-key.js';
import { readSummary } from './summary-row.js';

export class EmbeddedBucketReader implements BucketReader {
  readonly #environment: Environment;
  readonly #clock: Clock;
  readonly #share: LoopShare;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
    this.#share = new LoopShare(clock);
  }

  async readBucketRows(read: BucketRead): Promise<BucketRows> {
    assertSeq(read.from, 'conversation_seq');
    assertSeq(read.to, 'conversation_seq');
    assert(read.limit >= 1 && read.limit <= PARTITION_ROWS_MAX, 'a bounded read');
    while (this.#share.isSpent()) await this.#share.nextTurn();
    const sentAtMs = this.#clock.nowMs();
    const nowS = Math.floor(this.#clock.epochMs() / 1000);
    return this.#environment.read(() => {
      const { records, bytes, next } = this.#records(read, nowS);
      const summaries = read.withSummaries ? this.#summaries(read, records, nowS) : [];
      const summaryStatements = read.withSummaries ? 1 : 0;
      const cost = { recordStatements: 1, summaryStatements, furtherPages: 0, rows: records.length, bytes };
      return { records, summaries, sentAtMs, cost, next };
    });
  }

  #records(
    read: BucketRead,
    nowS: number,
  ): { records: MessageRecord[]; bytes: number; next: bigint | undefined } {
    const [start, end] = read.descending ? [read.to, read.from] : [read.from, read.to];
    const key = (seq: bigint): Buffer => rowKey(read.tenantId, read.conversationId, read.bucket, seq);
    const records: MessageRecord[] = [];
    let bytes = 0;
    for (const entry of this.#environment.records.getRange({
      start: key(start),
      end: key(end),
      inclusiveEnd: true,
      reverse: read.descending,
    })) {
      const seq = seqOfKey(entry.key);
      if (bucketOf(seq) !== read.bucket) {
        throw new MailjoinError('STORE_CORRUPT', 'a row lies in a foreign bucket');
      }
      const record = readRecord(seq, decodeRow(entry.value), nowS);
      if (record === undefined) continue;
      records.push(record);
      bytes += contentBytes(record);
      if (records.length < read.limit && bytes < read.bytesMax) continue;
      return { records, bytes, next: seq === end ? undefined : read.descending ? seq - 1n : seq + 1n };
    }
    return { records, bytes, next: undefined };
  }

  #summaries(read: BucketRead, records: readonly MessageRecord[], nowS: number): ReactionSummary[] {
    const summaries: ReactionSummary[] = [];
    for (const { seq } of records) {
      const key = rowKey(read.tenantId, read.conversationId, read.bucket, seq);
      const stored = this.#environment.summaries.get(key);
      const summary = stored && readSummary(seq, decodeRow(stored), nowS);
      if (summary !== undefined) summaries.push(summary);
    }
    return summaries;
  }
}
