/**
 * Where reads are measured (R7.3): buckets of the user's own store and the seqs that are there. Two sources give them:
 * rows written for the purpose (written-rows.ts) and rows that are there already (existing-rows.ts).
 */
import type { ConversationId, TenantId } from '../domain/ids.js';

/** One bucket. */
export interface Site {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly bucket: bigint;
  /** The seqs of the rows that are there, ascending. */
  readonly seqs: readonly bigint[];
}

/** Buckets whose rows count as alike; each read is made in one of them, at random. */
export interface SiteGroup {
  /** Bytes of payload, media and mentions of a row, on average. */
  readonly rowBytes: number;
  readonly sites: readonly Site[];
}
