/**
 * Which conversations have rows so large that a page of READ_PAGE_ROWS of them is more than a coordinator can hold, and
 * how many rows a page of theirs may have. Learnt from what was read; the first read of such a conversation fails, is
 * repeated in small pages, and teaches the rest. Bounded: the least recently read ones are forgotten.
 */
import { LRUCache } from 'lru-cache';
import { idKeyAt } from '../domain/ids.js';
import {
  LARGE_ROW_CONVERSATIONS_MAX,
  PAGE_BYTES_MAX,
  READ_PAGE_ROWS,
  REPEATED_PAGE_ROWS,
} from '../domain/limits.js';
import type { GroupRead, ReadCost } from '../domain/ports.js';

/** Rows of this mean size or less fit a usual page. */
const USUAL_ROW_BYTES_MAX = PAGE_BYTES_MAX / READ_PAGE_ROWS;

export class LargeRows {
  readonly #meanBytes = new LRUCache<string, number>({ max: LARGE_ROW_CONVERSATIONS_MAX });

  /** Rows of a page of this read; undefined = the usual number. */
  pageRows(read: GroupRead): number | undefined {
    const rowsMax = read.isRepeated ? REPEATED_PAGE_ROWS : READ_PAGE_ROWS;
    const meanBytes = this.#meanBytes.size === 0 ? undefined : this.#meanBytes.get(keyOf(read));
    if (meanBytes === undefined) return read.isRepeated ? rowsMax : undefined;
    return Math.max(1, Math.min(rowsMax, Math.floor(PAGE_BYTES_MAX / meanBytes)));
  }

  /** What a read of it has brought. */
  learn(read: GroupRead, { rows, bytes }: Pick<ReadCost, 'rows' | 'bytes'>): void {
    // A few rows, as live delivery reads them, say nothing of a page.
    if (rows < REPEATED_PAGE_ROWS && bytes < PAGE_BYTES_MAX) return;
    const meanBytes = bytes / rows;
    if (meanBytes > USUAL_ROW_BYTES_MAX) this.#meanBytes.set(keyOf(read), meanBytes);
    else if (this.#meanBytes.size > 0) this.#meanBytes.delete(keyOf(read));
  }
}

function keyOf({ tenantId, conversationId }: GroupRead): string {
  return idKeyAt(tenantId, 0) + idKeyAt(conversationId, 0);
}
