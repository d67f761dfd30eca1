/**
 * The port of history pages (R4.1): bounded reads of one bucket in the order of its seqs. Both stores implement it and
 * pass the same contract. Fails with STORE_UNAVAILABLE, STORE_REFUSED or STORE_CORRUPT.
 */
import type { ConversationId, TenantId } from './ids.js';
import type { GroupRows } from './ports.js';

/** One bounded read of a bucket; `from` ≤ `to`, inclusive, both of the bucket. */
export interface BucketRead {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly bucket: bigint;
  readonly from: bigint;
  readonly to: bigint;
  /** Highest seq first: 'older' pages. */
  readonly descending: boolean;
  /** Rows of message_record at most, 1 … HISTORY_READ_ROWS_MAX. */
  readonly limit: number;
  /** Bytes of content (payload, media, mentions) from which on no further page of rows is asked for; the first one is. */
  readonly bytesMax: number;
  /** Without them only message_record is read: a look whether anything lies there. */
  readonly withSummaries: boolean;
}

/** The rows of one bounded read, in its order, with the summaries of exactly these rows (R4.4). */
export interface BucketRows extends GroupRows {
  /** The seq to go on at in this bucket, behind the limit or bytesMax; undefined when nothing of from … to is left. */
  readonly next: bigint | undefined;
}

export interface BucketReader {
  /**
   * One statement on message_record and, sent together with it, one on message_reaction_summary (R4.4). Incomplete rows
   * (B12, B15) are left out but may count against the limit. A row of a foreign bucket → STORE_CORRUPT (R4.2).
   */
  readBucketRows(read: BucketRead): Promise<BucketRows>;
}
