/** Records of the log as tests append them, made with the codec that writers use. */
import { encodeLogRecord, type LogRecord } from '../../src/codec/log-record.js';
import type { ActivityId, ConversationId, MessageId, TenantId } from '../../src/domain/ids.js';
import type { DekId, MessageRecord } from '../../src/domain/message.js';
import type { LogEntry, Outbox } from '../../src/domain/write-ports.js';

/** The message that an event changes, and where it lies. */
export interface Target {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  readonly messageId: MessageId;
}

const EVENT = { eventId: 7n, seq: 900n } as const;

function inConversation({ tenantId, conversationId }: Target) {
  return { tenantId, conversationId, appendedAtMs: BigInt(Date.now()) };
}

function targetOf({ seq, messageId }: Target) {
  return { seq, messageId, createdAtMs: 1n };
}

export function recallOf(target: Target, lastActivityId: ActivityId): LogRecord {
  return { kind: 'recall', ...inConversation(target), ...EVENT, target: targetOf(target), lastActivityId };
}

export function editOf(target: Target, lastActivityId: ActivityId): LogRecord {
  return {
    kind: 'edit',
    ...inConversation(target),
    ...EVENT,
    target: targetOf(target),
    lastActivityId,
    payload: new Uint8Array(3),
    dekId: undefined,
  };
}

export function reactionsOf(
  target: Target,
  summaryVersion: bigint,
  counts: readonly (readonly [string, number])[],
): LogRecord {
  const updatedAtMs = 5n;
  return {
    kind: 'reactions',
    ...inConversation(target),
    target: targetOf(target),
    summaryVersion,
    counts,
    updatedAtMs,
  };
}

export function keyDestroyed(dekId: DekId): LogRecord {
  return { kind: 'keyDestroyed', appendedAtMs: BigInt(Date.now()), dekId };
}

export function messageOf(
  target: Pick<Target, 'tenantId' | 'conversationId'>,
  record: MessageRecord,
): LogRecord {
  const { tenantId, conversationId } = target;
  return { kind: 'message', tenantId, conversationId, appendedAtMs: record.createdAtMs, record };
}

/** A record as a reader hands it over. */
export function entryOf(record: LogRecord | Uint8Array, offset = 0n): LogEntry {
  const value = record instanceof Uint8Array ? record : encodeLogRecord(record);
  return { partition: 0, offset, value, appendedAtMs: 0 };
}

/** Appends a record under its conversation's key. */
export async function append(outbox: Outbox, record: LogRecord | Uint8Array): Promise<void> {
  if (record instanceof Uint8Array) {
    await outbox.append({ key: new Uint8Array(16), value: record });
    return;
  }
  const key = record.kind === 'keyDestroyed' ? new Uint8Array(16) : record.conversationId;
  await outbox.append({ key, value: encodeLogRecord(record) });
}
