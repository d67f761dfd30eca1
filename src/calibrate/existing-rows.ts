/**
 * Buckets of the user's own conversations to measure on: real row sizes, reactions, files on disk. Nothing is written.
 *
 * Conversations are found by their heads, the first CALIBRATE_HEADS_MAX in the store's order (on Cassandra and ScyllaDB
 * that of the partitioner, so a random choice); those with the most seqs are looked at first, each in the bucket below
 * its newest, which is full if any is. A bucket is read piece by piece, up to CALIBRATE_BUCKET_BYTES_MAX; one that the
 * store cannot read is left out and told. With no bucket that has rows for every length it fails: with the error of such
 * a read where there was one, else with ROWS_TOO_FEW.
 */
import { MailjoinError } from '../domain/errors.js';
import type { BucketReader } from '../domain/history-ports.js';
import {
  CALIBRATE_BUCKET_BYTES_MAX,
  CALIBRATE_BUCKETS_READ_MAX,
  CALIBRATE_HEADS_MAX,
  CALIBRATE_READ_BYTES,
  CALIBRATE_SITES_MAX,
  HISTORY_READ_ROWS_MAX,
} from '../domain/limits.js';
import { bucketOf, bucketStart } from '../domain/seq.js';
import type { HeadListing, WriteStore } from '../domain/write-ports.js';
import { SITE_ROWS_MIN } from './read-points.js';
import type { Site, SiteGroup } from './site.js';

type ListedHead = HeadListing['heads'][number];

const HEADS_PER_PAGE = 200;
/** Rows of the first read of a bucket, while nobody knows how large its rows are. */
const FIRST_ROWS = 16;

export interface FindRowsOptions {
  readonly heads: Pick<WriteStore, 'listHeads'>;
  readonly buckets: BucketReader;
  readonly signal: AbortSignal;
  readonly onProgress?: (found: number, bucketsRead: number) => void;
  /** Told once, of all buckets that the store could not read, with the first one's error. */
  readonly onUnreadable?: (buckets: number, error: MailjoinError) => void;
}

/** One group of all that was found; undefined when the signal aborted it. */
export async function findRows(options: FindRowsOptions): Promise<readonly SiteGroup[] | undefined> {
  const { buckets, signal, onProgress, onUnreadable } = options;
  const heads = await listHeads(options);
  const candidates = heads.sort((a, b) => Number(seqsOf(b) - seqsOf(a)));
  const sites: Site[] = [];
  const failures: MailjoinError[] = [];
  let [bytes, rows, rowsMax, bucketsRead] = [0, 0, 0, 0];
  for (const { tenantId, conversationId, head } of candidates.slice(0, CALIBRATE_BUCKETS_READ_MAX)) {
    if (signal.aborted) return undefined;
    if (sites.length === CALIBRATE_SITES_MAX) break;
    const place = { tenantId, conversationId, bucket: fullestBucket(head) };
    bucketsRead++;
    try {
      const found = await rowsOf(buckets, place, signal);
      rowsMax = Math.max(rowsMax, found.seqs.length);
      if (found.seqs.length >= SITE_ROWS_MIN) {
        sites.push({ ...place, seqs: found.seqs });
        bytes += found.bytes;
        rows += found.seqs.length;
      }
    } catch (error) {
      if (!(error instanceof MailjoinError)) throw error;
      failures.push(error);
    }
    onProgress?.(sites.length, bucketsRead);
  }
  if (signal.aborted) return undefined;
  const [failure] = failures;
  if (failure !== undefined) onUnreadable?.(failures.length, failure);
  if (sites.length === 0) {
    if (failure !== undefined) throw failure;
    const detail = `${SITE_ROWS_MIN} rows are needed, and of ${bucketsRead} buckets looked at the fullest has ${rowsMax}`;
    throw new MailjoinError('ROWS_TOO_FEW', detail);
  }
  return [{ rowBytes: Math.round(bytes / rows), sites }];
}

/** The rows of a bucket from its first one on, with the bytes of their content. */
async function rowsOf(
  reader: BucketReader,
  place: Omit<Site, 'seqs'>,
  signal: AbortSignal,
): Promise<{ readonly seqs: bigint[]; readonly bytes: number }> {
  const to = bucketStart(place.bucket + 1n) - 1n;
  const seqs: bigint[] = [];
  let bytes = 0;
  let limit = FIRST_ROWS;
  for (let from: bigint | undefined = bucketStart(place.bucket); from !== undefined && !signal.aborted; ) {
    const read = { ...place, from, to, descending: false, limit, withSummaries: false };
    const { records, cost, next } = await reader.readBucketRows({ ...read, bytesMax: CALIBRATE_READ_BYTES });
    for (const { seq } of records) seqs.push(seq);
    bytes += cost.bytes;
    from = bytes < CALIBRATE_BUCKET_BYTES_MAX ? next : undefined;
    const rowBytes = Math.max(1, bytes / Math.max(1, seqs.length));
    limit = Math.max(1, Math.min(HISTORY_READ_ROWS_MAX, Math.floor(CALIBRATE_READ_BYTES / rowBytes)));
  }
  return { seqs, bytes };
}

async function listHeads({ heads: store, signal }: FindRowsOptions): Promise<ListedHead[]> {
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
