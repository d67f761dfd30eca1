/**
 * Buckets of the user's own conversations to measure on: real row sizes, reactions, files on disk. Nothing is written.
 *
 * Conversations are found by their heads, the first CALIBRATE_HEADS_MAX in the store's order (on Cassandra and ScyllaDB
 * that of the partitioner, so a random choice); those with the most seqs are looked at first, each in the bucket below
 * its newest, which is full if any is. ROWS_TOO_FEW when no bucket has rows for every length. Fails with STORE_*.
 */
import { MailjoinError } from '../domain/errors.js';
import { CALIBRATE_BUCKETS_READ_MAX, CALIBRATE_HEADS_MAX, CALIBRATE_SITES_MAX } from '../domain/limits.js';
import { contentBytes } from '../domain/message.js';
import { bucketOf } from '../domain/seq.js';
import type { HeadListing, WriteStore } from '../domain/write-ports.js';
import { SITE_ROWS_MIN } from './read-points.js';
import type { Site, SiteGroup } from './site.js';

type ListedHead = HeadListing['heads'][number];

const HEADS_PER_PAGE = 200;

export interface FindRowsOptions {
  readonly store: Pick<WriteStore, 'listHeads' | 'readBucket'>;
  readonly signal: AbortSignal;
  readonly onProgress?: (found: number, bucketsRead: number) => void;
}

/** One group of all that was found; undefined when the signal aborted it. */
export async function findRows(options: FindRowsOptions): Promise<readonly SiteGroup[] | undefined> {
  const { store, signal, onProgress } = options;
  const heads = await listHeads(options);
  const candidates = heads.sort((a, b) => Number(seqsOf(b) - seqsOf(a)));
  const sites: Site[] = [];
  let [bytes, rows, rowsMax, bucketsRead] = [0, 0, 0, 0];
  for (const { tenantId, conversationId, head } of candidates.slice(0, CALIBRATE_BUCKETS_READ_MAX)) {
    if (signal.aborted) return undefined;
    if (sites.length === CALIBRATE_SITES_MAX) break;
    const bucket = fullestBucket(head);
    const records = await store.readBucket(tenantId, conversationId, bucket);
    rowsMax = Math.max(rowsMax, records.length);
    if (records.length >= SITE_ROWS_MIN) {
      sites.push({ tenantId, conversationId, bucket, seqs: records.map(({ seq }) => seq) });
      for (const record of records) bytes += contentBytes(record);
      rows += records.length;
    }
    bucketsRead++;
    onProgress?.(sites.length, bucketsRead);
  }
  if (sites.length === 0) {
    const detail = `${SITE_ROWS_MIN} rows are needed, and of ${bucketsRead} buckets looked at the fullest has ${rowsMax}`;
    throw new MailjoinError('ROWS_TOO_FEW', detail);
  }
  return [{ rowBytes: Math.round(bytes / rows), sites }];
}

async function listHeads({ store, signal }: FindRowsOptions): Promise<ListedHead[]> {
  const heads: ListedHead[] = [];
  let from: string | undefined;
  do {
    const page = await store.listHeads(from, HEADS_PER_PAGE);
    heads.push(...page.heads);
    from = page.next;
  } while (from !== undefined && heads.length < CALIBRATE_HEADS_MAX && !signal.aborted);
  return heads;
}

/** Seqs that a conversation may have messages at. */
function seqsOf({ head }: ListedHead): bigint {
  const { latestSeq = 0n, earliestAvailableSeq = 0n } = head;
  return latestSeq - earliestAvailableSeq;
}

/** The newest bucket that is past, unless it lies below what is available. */
function fullestBucket({ latestSeq = 0n, earliestAvailableSeq = 0n }: ListedHead['head']): bigint {
  const newest = bucketOf(latestSeq);
  return newest > bucketOf(earliestAvailableSeq) ? newest - 1n : newest;
}
