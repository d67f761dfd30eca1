/**
 * Removes expired rows of the tables beside message_record: client_dedup (table TTL) and message_index (D21).
 *
 * Table `sideExpiry` has one entry for each row that expires, at the second from which on it may go. An index row stays
 * for the grace that message_record has, hiding older writes (D8); a dedup row is only ever written whole inside a write
 * transaction, so nothing older can come back, and it goes at once. Each write removes more due rows than it adds.
 * Runs inside a write transaction.
 */
import { lastExpiry, NEVER, type Row } from './cell.js';
import { decodeDedup } from './dedup-row.js';
import type { Environment, Table } from './environment.js';
import { decodeRow } from './row-codec.js';
import { restOfKey, timeKey, timeOfKey } from './row-key.js';
import { PURGE_GRACE_S } from './sweep.js';

/** Which table an entry is about; part of the file's format. */
export const SideTable = { DEDUP: 0, MESSAGE_INDEX: 1 } as const;
export type SideTable = (typeof SideTable)[keyof typeof SideTable];

/** The second from which on a row of message_index may be removed; NEVER when a cell of it does not expire. */
export function indexPurgeableAtS(row: Row | undefined): number {
  const last = row === undefined ? NEVER : lastExpiry(row);
  return last === NEVER ? NEVER : last + PURGE_GRACE_S;
}

/** Moves a row's entry from the second at which its former content could go to the one of its new content. */
export function moveSideExpiry(
  environment: Environment,
  table: SideTable,
  key: Buffer,
  fromS: number,
  toS: number,
): void {
  if (fromS === toS) return;
  const named = Buffer.concat([Buffer.of(table), key]);
  if (fromS !== NEVER) void environment.sideExpiry.remove(timeKey(fromS, named));
  if (toS !== NEVER) void environment.sideExpiry.put(timeKey(toS, named), Buffer.alloc(0));
}

/** Removes at most `rowsMax` rows that are due, the oldest first; returns how many. */
export function sweepSide(environment: Environment, nowS: number, rowsMax: number): number {
  const due = [...environment.sideExpiry.getKeys({ end: timeKey(nowS + 1), limit: rowsMax })];
  for (const entry of due) {
    const named = restOfKey(entry);
    const key = named.subarray(1);
    const isDedup = named[0] === SideTable.DEDUP;
    const rows: Table = isDedup ? environment.dedup : environment.messageIndex;
    const stored = rows.get(key);
    if (stored !== undefined) {
      const atS = isDedup ? decodeDedup(stored).expiresAtS : indexPurgeableAtS(decodeRow(stored));
      // Entry and row are written in one transaction, so they agree; a row that does not is left alone.
      if (atS === timeOfKey(entry)) void rows.remove(key);
    }
    void environment.sideExpiry.remove(entry);
  }
  return due.length;
}
