/**
 * Capacity from a sample of the user's own rows (R7.1, R7.2, D21). Pure.
 *
 * TWCS drops a file as a whole when everything in it has expired, so rows keep it from doing so that never expire, that
 * live longer than their policy says, or that were changed in a later window than the one they were inserted into (their
 * cells then lie in files of two windows). A row that was archived late cannot be told: its timestamp is its created_at
 * (D14), and its TTL is what remained.
 */
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import type { RowSample, SampledRow } from '../domain/row-sampling.js';
import type { Retention } from '../write/retention.js';
import { RECORD_FRAMING_BYTES, recordBytes } from './record-bytes.js';

export interface CapacityInput {
  readonly messagesPerDay: number;
  readonly replicas: number;
  readonly days: number;
  /** LSM space amplification. */
  readonly spaceAmplification: number;
}

export interface Measured {
  readonly rows: number;
  /** Bytes of a row in CQL's own encoding. */
  readonly wire: {
    readonly mean: number;
    readonly median: number;
    readonly p99: number;
    readonly max: number;
  };
  readonly disk: RowSample['disk'];
  /**
   * True when the estimate is less than the values of a row take, and so left out: a server measures the part of a partition
   * that one file has, and a partition lies in a file of each window that it was written in.
   */
  readonly isDiskOfParts: boolean;
  /** What the formulas use: on disk where it is known. */
  readonly bRow: number;
  readonly lasting: number;
  readonly longerThanPolicy: number;
  readonly changedInLaterWindow: number;
  /** Rows that are any of these. */
  readonly keepingFiles: number;
}

/** message_record's compaction window (R2). */
const WINDOW_MICROS = 7n * 86_400_000_000n;
/** What clocks, rounding and the time between writing and sampling may add to a TTL. */
const TTL_TOLERANCE_S = 120;

/** Undefined for a sample without rows. */
export function measure(
  { rows, disk }: RowSample,
  retention: Retention,
  nowEpochMs: number,
): Measured | undefined {
  if (rows.length === 0) return undefined;
  const sizes = rows.map(({ record }) => recordBytes(record)).sort((a, b) => a - b);
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  const counts = { lasting: 0, longerThanPolicy: 0, changedInLaterWindow: 0, keepingFiles: 0 };
  for (const row of rows) {
    const isLasting = row.record.ttlSeconds === undefined;
    const isLonger = isLongerThanPolicy(row, retention, nowEpochMs);
    const isChanged = row.changedAtMicros / WINDOW_MICROS > row.insertedAtMicros / WINDOW_MICROS;
    if (isLasting) counts.lasting++;
    if (isLonger) counts.longerThanPolicy++;
    if (isChanged) counts.changedInLaterWindow++;
    if (isLasting || isLonger || isChanged) counts.keepingFiles++;
  }
  const isDiskOfParts = disk !== undefined && disk.bytesPerRow < mean - RECORD_FRAMING_BYTES;
  const known = isDiskOfParts ? undefined : disk;
  return {
    rows: rows.length,
    wire: { mean, median: quantile(sizes, 0.5), p99: quantile(sizes, 0.99), max: quantile(sizes, 1) },
    disk: known,
    isDiskOfParts,
    bRow: known?.bytesPerRow ?? mean,
    ...counts,
  };
}

/** R7.1: bytes resident. */
export function residentBytes(input: CapacityInput, bRow: number): number {
  return input.messagesPerDay * bRow * input.spaceAmplification * input.replicas * input.days;
}

/** R7.2: the largest partition, all of whose seqs are there. */
export function partitionBytes(bRow: number): number {
  return PARTITION_ROWS_MAX * bRow;
}

function isLongerThanPolicy(
  { tenantId, record }: SampledRow,
  retention: Retention,
  nowEpochMs: number,
): boolean {
  if (record.ttlSeconds === undefined) return false;
  const remaining = retention.ttlFor(tenantId, record, nowEpochMs);
  if (remaining === undefined) return false;
  return record.ttlSeconds > (remaining === 'expired' ? 0 : remaining) + TTL_TOLERANCE_S;
}

/** Of ascending numbers, of which there is at least one. */
function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))] ?? 0;
}
