/**
 * The port through which capacity is measured (R7): some rows of message_record from all over the table, with what the
 * store knows of their cells, and what the store says of its disk. Bounded, and never a scan of the table. Fails with
 * STORE_UNAVAILABLE, STORE_REFUSED or STORE_CORRUPT.
 */
import type { TenantId } from './ids.js';
import type { MessageRecord } from './message.js';

/** A whole row; incomplete ones are left out. */
export interface SampledRow {
  readonly tenantId: TenantId;
  readonly record: MessageRecord;
  /** Timestamp of created_at's write, microseconds: created_at · 1000 for rows of ours (D14), later for held ones (D20). */
  readonly insertedAtMicros: bigint;
  /** The latest timestamp among created_at's, the payload's and the state's write. */
  readonly changedAtMicros: bigint;
}

/** What a row takes on disk, as far as the store tells. */
export interface DiskMeasure {
  readonly bytesPerRow: number;
  /** What was measured, for people. */
  readonly basis: string;
}

export interface RowSample {
  /** Distinct rows, at most as many as were asked for; all of them in a small table. */
  readonly rows: readonly SampledRow[];
  /** Undefined where the store cannot tell yet. */
  readonly disk: DiskMeasure | undefined;
}

export interface RowSampler {
  /** `random` is from 0 to below 1, so that a test can repeat a sample. */
  sampleRows(rowsMax: number, random: () => number): Promise<RowSample>;
}
