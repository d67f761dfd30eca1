/**
 * Whole rows of message_record for recall, edit, holds and the advancer: one row, or a whole bucket. Not a batch path:
 * joins read groups (R4.3). Fails with STORE_UNAVAILABLE, STORE_REFUSED, STORE_CORRUPT (R4.2) or SEQ_RANGE.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import type { Coordinates, MessageRecord } from '../domain/message.js';
import { assertSeq, bucketOf } from '../domain/seq.js';
import { requireSeq } from '../domain/write-checks.js';
import { RECORD_SELECTION } from './message-statements.js';
import { quotedKeyspace } from './options.js';
import { bound, boundKey, recordOf, seqOf } from './rows.js';
import { type CqlSession, eachRow } from './session.js';
import type { CqlStatement } from './statement.js';

const TABLE = 'message_record';
const PARTITION = 'tenant_id = ? AND conversation_id = ? AND seq_bucket = ?';

export class RecordReads {
  readonly #session: CqlSession;
  readonly #row: CqlStatement;
  readonly #bucket: CqlStatement;

  constructor(session: CqlSession, keyspace: string) {
    const select = (where: string): CqlStatement => ({
      cql: `SELECT ${RECORD_SELECTION} FROM ${quotedKeyspace(keyspace)}.${TABLE} WHERE ${where}`,
      table: TABLE,
      shape: 'select',
      access: 'read',
    });
    this.#session = session;
    this.#row = select(`${PARTITION} AND conversation_seq = ?`);
    this.#bucket = select(PARTITION);
  }

  /** Undefined when absent or incomplete (B12, B15). */
  async readRecord(where: Coordinates): Promise<MessageRecord | undefined> {
    requireSeq(where.seq, 'conversation_seq');
    const { rows } = await this.#session.execute(this.#row, boundKey(where));
    return rows[0] && recordOf(rows[0]);
  }

  /** All pages of the bucket (B07), ascending. */
  async readBucket(
    tenantId: TenantId,
    conversationId: ConversationId,
    bucket: bigint,
  ): Promise<readonly MessageRecord[]> {
    assertSeq(bucket, 'seq_bucket');
    const partition = [bound(tenantId), bound(conversationId), bucket];
    const records: MessageRecord[] = [];
    let rows = 0;
    for await (const row of eachRow(this.#session, this.#bucket, partition)) {
      if (++rows > PARTITION_ROWS_MAX) {
        throw new MailjoinError('STORE_CORRUPT', 'more rows than a bucket can hold (R4.2)');
      }
      if (bucketOf(seqOf(row)) !== bucket) {
        throw new MailjoinError(
          'STORE_CORRUPT',
          'a row lies in a partition that is not its seq_bucket (R4.2)',
        );
      }
      const record = recordOf(row);
      if (record !== undefined) records.push(record);
    }
    // The clustering order is descending.
    return records.reverse();
  }
}
