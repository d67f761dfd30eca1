/**
 * The log's records in the file, in one partition: every append of every process goes through LMDB's one writer, so the
 * offsets are the order of the whole log.
 *
 *     log:  offset 8 BE  →  milliseconds since 1970 of the append 8 BE | the record
 *
 * appendRecord runs inside a write transaction, the rest inside a read. Records older than EMBEDDED_LOG_AGE_MS go, some
 * with every few appends; the newest one stays, since the next offset follows from it. Unreadable keys or values are
 * LOG_CORRUPT.
 */
import { MailjoinError } from '../domain/errors.js';
import { EMBEDDED_LOG_AGE_MS, LOG_PAGE_BYTES_MAX, LOG_PAGE_RECORDS_MAX } from '../domain/limits.js';
import type { LogEntry } from '../domain/write-ports.js';
import type { Table } from './environment.js';
import { timeKey } from './row-key.js';

export const LOG_PARTITION = 0;
const OFFSET_BYTES = 8;
const TIME_BYTES = 8;
/** Appends between two looks for old records, and how many of these go at once: more, or they could pile up. */
const TRIM_EVERY = 64n;
const TRIM_RECORDS_MAX = 256;

/** Appends behind the last record; returns the offset. */
export function appendRecord(log: Table, value: Uint8Array, nowEpochMs: number): bigint {
  const offset = endOffset(log);
  // Inside a transaction a put is done when it returns. timeKey is 8 bytes big-endian, then the record.
  void log.put(offsetKey(offset), timeKey(nowEpochMs, value));
  if (offset % TRIM_EVERY === 0n) trim(log, offset, nowEpochMs - EMBEDDED_LOG_AGE_MS);
  return offset;
}

/** The next offset: one above the last record's. */
export function endOffset(log: Table): bigint {
  for (const key of log.getKeys({ reverse: true, limit: 1 })) return offsetOf(key) + 1n;
  return 0n;
}

/** Records from an offset on and below `until`, as many as one handler gets at once; none at the end. */
export function readPage(log: Table, from: bigint, until: bigint): LogEntry[] {
  const page: LogEntry[] = [];
  let bytes = 0;
  const range = { start: offsetKey(from), end: offsetKey(until), limit: LOG_PAGE_RECORDS_MAX };
  for (const { key, value } of log.getRange(range)) {
    if (value.length < TIME_BYTES) throw new MailjoinError('LOG_CORRUPT', 'a stored record is cut');
    bytes += value.length;
    if (page.length > 0 && bytes > LOG_PAGE_BYTES_MAX) break;
    page.push({
      partition: LOG_PARTITION,
      offset: offsetOf(key),
      value: value.subarray(TIME_BYTES),
      appendedAtMs: Number(value.readBigUInt64BE(0)),
    });
  }
  return page;
}

function trim(log: Table, newest: bigint, beforeEpochMs: number): void {
  const old: Buffer[] = [];
  for (const { key, value } of log.getRange({ end: offsetKey(newest), limit: TRIM_RECORDS_MAX })) {
    if (value.length >= TIME_BYTES && Number(value.readBigUInt64BE(0)) >= beforeEpochMs) break;
    old.push(key);
  }
  for (const key of old) void log.remove(key);
}

function offsetKey(offset: bigint): Buffer {
  const key = Buffer.allocUnsafe(OFFSET_BYTES);
  key.writeBigUInt64BE(offset);
  return key;
}

function offsetOf(key: Buffer): bigint {
  if (key.length !== OFFSET_BYTES) throw new MailjoinError('LOG_CORRUPT', 'a stored offset is malformed');
  return key.readBigUInt64BE(0);
}
