/**
 * Removes rows whose cells have all expired, so that the file does not grow for ever (LMDB uses freed pages again).
 *
 * Table `expiry` has exactly one entry for each row that expires, at the second from which on it may go: its last
 * expiry plus the grace that message_record has on Cassandra (gc_grace_seconds, R2). During the grace an expired row
 * still hides older writes, as it does there (D8). Every write removes a few due rows, more than it can add, so the
 * number of due rows only falls while there are writes. Runs inside a write transaction.
 */
import { lastExpiry, NEVER, type Row } from './cell.js';
import type { Environment } from './environment.js';
import { decodeRow } from './row-codec.js';
import { restOfKey, timeKey, timeOfKey } from './row-key.js';

/** R2: gc_grace_seconds of message_record. */
export const PURGE_GRACE_S = 86_400;
/** Due rows removed with each write; above 1, or the rows due could pile up. */
export const SWEEP_ROWS_PER_WRITE = 4;
/** Due rows removed when the store opens. */
export const SWEEP_ROWS_ON_OPEN = 10_000;

/** The second from which on a row may be removed; NEVER when it has a cell that does not expire. */
function purgeableAtS(row: Row | undefined): number {
  const last = row === undefined ? NEVER : lastExpiry(row);
  return last === NEVER ? NEVER : last + PURGE_GRACE_S;
}

/** Moves a row's entry in `expiry` from where its former cells had it to where its new ones do. */
export function indexExpiry(environment: Environment, key: Buffer, former: Row | undefined, row: Row): void {
  const from = purgeableAtS(former);
  const to = purgeableAtS(row);
  if (from === to) return;
  if (from !== NEVER) void environment.expiry.remove(timeKey(from, key));
  if (to !== NEVER) void environment.expiry.put(timeKey(to, key), Buffer.alloc(0));
}

/** Removes at most `rowsMax` rows that are due, the oldest first; returns how many. */
export function sweep(environment: Environment, nowS: number, rowsMax: number): number {
  const due = [...environment.expiry.getKeys({ end: timeKey(nowS + 1), limit: rowsMax })];
  for (const entry of due) {
    const key = restOfKey(entry);
    const stored = environment.records.get(key);
    // The entry and the row are written in one transaction, so they agree; a row that does not is left alone.
    if (stored !== undefined && purgeableAtS(decodeRow(stored)) === timeOfKey(entry)) {
      void environment.records.remove(key);
    }
    void environment.expiry.remove(entry);
  }
  return due.length;
}
