/**
 * What a batch of the log asks of an archiver: the records of each message together, and the poison set apart. Pure.
 *
 * Whatever a record holds is judged here, before a store is touched: a record that no store can take must not look like
 * a store that fails, or it would be tried for ever.
 */
import { decodeLogRecord, type LogEdit, type LogRecall, type LogRecord } from '../codec/log-record.js';
import { type ErrorCode, MailjoinError } from '../domain/errors.js';
import { idKeyAt } from '../domain/ids.js';
import { LOG_RECORD_BYTES_MAX } from '../domain/limits.js';
import type { Coordinates, MessageRecord } from '../domain/message.js';
import type { LogEntry } from '../domain/write-ports.js';
import { insertMicros, revisionMicros } from '../write/message-ids.js';
import { recordBytes } from './record-bytes.js';

/** A record that is not archived, and why. */
export interface Poison {
  readonly entry: LogEntry;
  readonly code: ErrorCode;
  readonly reason: string;
}

export type LogEvent = LogRecall | LogEdit;

/** The INSERT or the event that one entry of the log stands for. */
export type RowChange =
  | { readonly kind: 'message'; readonly entry: LogEntry; readonly record: MessageRecord }
  | { readonly kind: 'event'; readonly entry: LogEntry; readonly event: LogEvent };

/** Everything that a batch says about one row, in the order of the log. */
export interface RowWork {
  readonly where: Coordinates;
  readonly changes: readonly RowChange[];
}

export interface ArchiveWork {
  readonly rows: readonly RowWork[];
  readonly poison: readonly Poison[];
  /** Records that are none of an archiver's business: reactions, destroyed keys, bodies of later versions. */
  readonly passed: number;
}

export function archiveWorkOf(entries: readonly LogEntry[], rowBytesMax: number): ArchiveWork {
  const rows = new Map<string, { where: Coordinates; changes: RowChange[] }>();
  const poison: Poison[] = [];
  let passed = 0;
  for (const entry of entries) {
    const found = changeOf(entry, rowBytesMax);
    if (found === undefined) passed++;
    else if ('code' in found) poison.push(found);
    else {
      const key = keyOf(found.where);
      const row = rows.get(key);
      if (row === undefined) rows.set(key, { where: found.where, changes: [found.change] });
      else row.changes.push(found.change);
    }
  }
  return { rows: [...rows.values()], poison, passed };
}

function changeOf(
  entry: LogEntry,
  rowBytesMax: number,
): { where: Coordinates; change: RowChange } | Poison | undefined {
  if (entry.value.length > LOG_RECORD_BYTES_MAX) {
    return { entry, code: 'RECORD_TOO_LARGE', reason: `${entry.value.length} bytes` };
  }
  let log: LogRecord | undefined;
  try {
    log = decodeLogRecord(entry.value);
  } catch (error) {
    if (!(error instanceof MailjoinError)) throw error;
    return { entry, code: error.code, reason: error.message };
  }
  if (log?.kind === 'message') {
    const refusal = messageRefusal(log.record, rowBytesMax);
    if (refusal !== undefined) return { entry, ...refusal };
    const { tenantId, conversationId, record } = log;
    return {
      where: { tenantId, conversationId, seq: record.seq },
      change: { kind: 'message', entry, record },
    };
  }
  if (log?.kind === 'recall' || log?.kind === 'edit') {
    const refusal = eventRefusal(log, rowBytesMax);
    if (refusal !== undefined) return { entry, ...refusal };
    const { tenantId, conversationId, target } = log;
    return {
      where: { tenantId, conversationId, seq: target.seq },
      change: { kind: 'event', entry, event: log },
    };
  }
  return undefined;
}

type Refusal = Pick<Poison, 'code' | 'reason'>;

/** Ids hold 48 bits of milliseconds; a later created_at leaves no revision above it. */
const CREATED_AT_MS_END = 1n << 48n;

function messageRefusal(record: MessageRecord, rowBytesMax: number): Refusal | undefined {
  const created = createdAtRefusal(record.createdAtMs);
  if (created !== undefined) return created;
  if (!isTinyint(record.messageType)) return invalid('message_type is no tinyint');
  if (!isTinyint(record.retentionClass)) return invalid('retention_class is no tinyint');
  return sizeRefusal(recordBytes(record), rowBytesMax);
}

function eventRefusal(event: LogEvent, rowBytesMax: number): Refusal | undefined {
  const { createdAtMs } = event.target;
  const created = createdAtRefusal(createdAtMs);
  if (created !== undefined) return created;
  // Otherwise a replayed INSERT would bring back what the event took away (D14).
  if (revisionMicros(event.lastActivityId) <= insertMicros(createdAtMs)) {
    return invalid('its revision is not above the created_at of its message (D14)');
  }
  return event.kind === 'edit' ? sizeRefusal(event.payload.length, rowBytesMax) : undefined;
}

function createdAtRefusal(createdAtMs: bigint): Refusal | undefined {
  if (createdAtMs > 0n && createdAtMs < CREATED_AT_MS_END) return undefined;
  return invalid('created_at is no time after 1970 that an id can hold');
}

function sizeRefusal(bytes: number, rowBytesMax: number): Refusal | undefined {
  if (bytes <= rowBytesMax) return undefined;
  return { code: 'MESSAGE_TOO_LARGE', reason: `${bytes} bytes, the store takes ${rowBytesMax}` };
}

function isTinyint(value: number | undefined): boolean {
  return value === undefined || (value >= -128 && value <= 127);
}

function invalid(reason: string): Refusal {
  return { code: 'MESSAGE_INVALID', reason };
}

function keyOf({ tenantId, conversationId, seq }: Coordinates): string {
  return `${idKeyAt(tenantId, 0)}${idKeyAt(conversationId, 0)}${seq}`;
}
