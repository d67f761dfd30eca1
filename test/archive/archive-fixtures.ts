/**
 * What the tests of the archiver share: records of the log about messages of one tenant, a log that hands over given
 * pages, and an archiver on any store that does not really wait.
 */
import { randomBytes } from 'node:crypto';
import type { Poison } from '../../src/archive/archive-work.js';
import { Archiver, type ArchiverOptions } from '../../src/archive/archiver.js';
import {
  encodeLogRecord,
  type LogEdit,
  type LogMessage,
  type LogRecall,
  type LogRecord,
} from '../../src/codec/log-record.js';
import type { ActivityId, ConversationId, MessageId, TenantId } from '../../src/domain/ids.js';
import { LOG_RECORD_BYTES_MAX } from '../../src/domain/limits.js';
import type { MessageRecord } from '../../src/domain/message.js';
import type { LogEntry, LogReader, Outbox } from '../../src/domain/write-ports.js';
import { conversationCheck, idOf } from '../../src/write/message-ids.js';
import { Retention } from '../../src/write/retention.js';
import { NO_POLICIES, type RetentionPolicies } from '../../src/write/retention-policies.js';
import { conversation, fullRecord, tenant } from '../stores/fixtures.js';

export interface Chat {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
}

export function chat(): Chat {
  return { tenantId: tenant(), conversationId: conversation() };
}

/** An id or revision of a millisecond: 48 bits of time, a counter, a check, random bytes. */
export function revisionAt(where: Chat, epochMs: bigint, counter = 0n): ActivityId {
  return idOf((epochMs << 16n) | counter, conversationCheck(where.conversationId)) as ActivityId;
}

/** A message as it is committed: its first revision is its id. */
export function messageAt(
  where: Chat,
  seq: bigint,
  createdAtMs: bigint,
  over: Partial<MessageRecord> = {},
): LogMessage {
  const id = revisionAt(where, createdAtMs, seq & 0xffffn);
  const record = fullRecord(seq, {
    messageId: id as Uint8Array as MessageId,
    lastActivityId: id,
    createdAtMs,
    ...over,
  });
  return { kind: 'message', ...where, appendedAtMs: createdAtMs, record };
}

function eventOn({ record, appendedAtMs: _, kind: __, ...where }: LogMessage, atMs: bigint, seq: bigint) {
  const { messageId, createdAtMs, retentionClass } = record;
  return {
    ...where,
    appendedAtMs: atMs,
    eventId: 1n,
    seq,
    target: { seq: record.seq, messageId, createdAtMs, retentionClass },
    lastActivityId: revisionAt(where, atMs),
  };
}

export function recallOf(message: LogMessage, atMs: bigint, seq = 1000n): LogRecall {
  return { kind: 'recall', ...eventOn(message, atMs, seq) };
}

export function editOf(message: LogMessage, atMs: bigint, seq = 1001n): LogEdit {
  const dekId = { scope: 'conversation', id: 'k1', version: 2 };
  return { kind: 'edit', ...eventOn(message, atMs, seq), payload: randomBytes(48), dekId };
}

export function append(log: Outbox, record: LogRecord): Promise<unknown> {
  const key = record.kind === 'keyDestroyed' ? new Uint8Array(16) : record.conversationId;
  return log.append({ key, value: encodeLogRecord(record) });
}

export async function appendAll(log: Outbox, records: readonly LogRecord[]): Promise<void> {
  await Promise.all(records.map((record) => append(log, record)));
}

export function entryOf(value: Uint8Array, offset = 0n): LogEntry {
  return { partition: 0, offset, value, appendedAtMs: 1_750_000_000_000 };
}

/** Hands over the given records in pages, in whatever order they have; a real log keeps each conversation's. */
export function pagedLog(pages: readonly (readonly LogRecord[])[]): Pick<LogReader, 'consume'> {
  return {
    async consume({ onEntries, signal }) {
      let offset = 0n;
      for (const page of pages) {
        if (signal.aborted) return;
        await onEntries(page.map((record) => entryOf(encodeLogRecord(record), offset++)));
      }
    },
  };
}

/** Keeps what is parked. */
export class KeptParking {
  readonly parked: Poison[] = [];
  async park(records: readonly Poison[]): Promise<number> {
    this.parked.push(...records);
    return 0;
  }
}

export type StorePorts = Pick<ArchiverOptions, 'messages' | 'writes' | 'clock'>;

export function archiverOn(
  ports: StorePorts,
  log: Pick<LogReader, 'consume'>,
  over: Partial<ArchiverOptions> & { readonly policies?: RetentionPolicies } = {},
): Archiver {
  const { policies = NO_POLICIES, ...options } = over;
  return new Archiver({
    ...ports,
    log,
    group: 'archive',
    retention: new Retention(policies, () => undefined),
    parking: new KeptParking(),
    rowBytesMax: LOG_RECORD_BYTES_MAX,
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
    random: () => 0,
    ...options,
  });
}

/** A signal that nobody aborts. */
export function unstopped(): AbortSignal {
  return new AbortController().signal;
}
