/**
 * Recall (R5.4, D12, D14): the CONTROL event first, into the log and with a conversation_seq of its own; then the row's
 * state, recall_event_conversation_seq and revision in one statement; then the head's preview, if it is the last message.
 *
 *     read ─ assign ─ log ─ row ─ head
 *
 * A crash after the log leaves the row to the recovery run (D17); a crash before it was never acknowledged and the
 * caller retries. Repeatable: a message that is recalled already is acknowledged again. If an edit by somebody else got a
 * higher revision, caches may hold it above this event's floor: so event and row are repeated above that revision.
 * Fails with MESSAGE_NOT_FOUND, MESSAGE_MISMATCH, LOG_UNAVAILABLE, STORE_UNAVAILABLE.
 */
import { eventId } from '../codec/event-id.js';
import { encodeLogRecord } from '../codec/log-record.js';
import { type ActivityId, compareIdAt } from '../domain/ids.js';
import { ROW_ATTEMPTS_MAX } from '../domain/limits.js';
import { type MessageRecord, MessageState } from '../domain/message.js';
import type { Clock, MessageWriter } from '../domain/ports.js';
import { assertSeq } from '../domain/seq.js';
import type { Outbox, WriteStore } from '../domain/write-ports.js';
import type { SequenceAllocator } from './allocator.js';
import type { HeadWriter } from './heads.js';
import { revisionAbove, revisionMicros } from './message-ids.js';
import { checkId } from './message-to-commit.js';
import {
  contended,
  hasSameLife,
  type MessageTarget,
  type ReadRow,
  readRow,
  readTarget,
  updateLife,
} from './row-change.js';
import { type EventStep, StepTimer, type StepWatcher } from './steps.js';

export interface RecallerOptions {
  readonly messages: Pick<MessageWriter, 'recallRecord'>;
  readonly writes: Pick<WriteStore, 'readRecord'>;
  readonly outbox: Outbox;
  readonly allocator: SequenceAllocator;
  readonly heads: Pick<HeadWriter, 'revise'>;
  readonly clock: Clock;
  readonly watchStep?: StepWatcher | undefined;
}

/** What to show instead, in the head's preview; none where absent. */
export interface RecallRequest extends MessageTarget {
  readonly placeholder?: Uint8Array | undefined;
}

export interface EventAcknowledgement {
  /** The event's own conversation_seq. */
  readonly eventSeq: bigint;
  /** The body's new revision: a caller's floor. */
  readonly lastActivityId: ActivityId;
}

export class Recaller {
  readonly #with: RecallerOptions;

  constructor(options: RecallerOptions) {
    this.#with = options;
  }

  async recall(request: RecallRequest): Promise<EventAcknowledgement> {
    const { clock, writes, watchStep } = this.#with;
    const steps = new StepTimer<EventStep>('recall', clock, watchStep);
    checkId(request.messageId, 'message_id');
    const row = await readTarget(writes, clock, request);
    await steps.done('read');

    const acknowledgement = recallShown(row.record) ?? (await this.#recallRow(request, row, steps));

    const { tenantId, conversationId, seq, messageId, placeholder: preview } = request;
    const { lastActivityId } = acknowledgement;
    const { createdAtMs: keyAtMs, senderId } = row.record;
    await this.#with.heads.revise({
      tenantId,
      conversationId,
      seq,
      messageId,
      senderId,
      lastActivityId,
      preview,
      keyAtMs,
    });
    await steps.done('head');
    return acknowledgement;
  }

  async #recallRow(
    target: MessageTarget,
    row: ReadRow,
    steps: StepTimer<EventStep>,
  ): Promise<EventAcknowledgement> {
    const { tenantId, conversationId, messageId } = target;
    const { seq, lastActivityId } = await this.#with.allocator.allocateEvent(
      tenantId,
      conversationId,
      row.record,
    );
    assertSeq(seq, 'the event’s conversation_seq');
    await steps.done('assign');
    const id = eventId({ kind: 'recall', tenantId, conversationId, messageId, seq });
    const event = { eventId: id, seq, lastActivityId };
    const revision = await applyRecall(this.#with, target, row, event, () => steps.done('log'));
    await steps.done('row');
    return { eventSeq: seq, lastActivityId: revision };
  }
}

/** A recall's event: what the log is told, and what the row must come to show. */
export interface RecallEvent {
  readonly eventId: bigint;
  readonly seq: bigint;
  /** The revision that the event was assigned. */
  readonly lastActivityId: ActivityId;
}

/**
 * Logs a recall and writes it into its row until the row shows it; also what the recovery run does (D17). The log comes
 * first, also where the revision must be raised above the row's: the same event again, with a floor that covers what
 * caches may hold by now. Answers the row's revision. A row that expired meanwhile is not brought back (B15).
 */
export async function applyRecall(
  ports: Pick<RecallerOptions, 'messages' | 'writes' | 'outbox' | 'clock'>,
  target: MessageTarget,
  found: ReadRow,
  event: RecallEvent,
  onLogged: () => Promise<void>,
): Promise<ActivityId> {
  const { clock, messages, writes } = ports;
  let row = found;
  let logged: ActivityId | undefined;
  for (let attempt = 0; attempt < ROW_ATTEMPTS_MAX; attempt++) {
    const lastActivityId = revisionAbove(row.record, logged ?? event.lastActivityId);
    await appendRecall(ports, target, row.record, { ...event, lastActivityId });
    logged = lastActivityId;
    await onLogged();

    const life = updateLife(row, clock, revisionMicros(lastActivityId));
    if (life === 'expired') return lastActivityId;
    await messages.recallRecord(target, { recallEventSeq: event.seq, lastActivityId }, life);
    const after = await readRow(writes, clock, target);
    if (after === undefined) return lastActivityId;
    const shown = recallShown(after.record);
    if (shown !== undefined && hasSameLife(row.record, after.record)) return shown.lastActivityId;
    row = after;
  }
  throw contended();
}

async function appendRecall(
  { outbox, clock }: Pick<RecallerOptions, 'outbox' | 'clock'>,
  { tenantId, conversationId, seq, messageId }: MessageTarget,
  { createdAtMs, retentionClass }: MessageRecord,
  event: RecallEvent,
): Promise<void> {
  const appendedAtMs = BigInt(Math.floor(clock.epochMs()));
  const target = { seq, messageId, createdAtMs, retentionClass };
  const record = { kind: 'recall', tenantId, conversationId, appendedAtMs, target, ...event } as const;
  await outbox.append({ key: conversationId, value: encodeLogRecord(record) });
}

/** Whether a row shows a recall, and by which event; undefined also when an edit's columns lie above the recall's. */
export function recallShown(record: MessageRecord): EventAcknowledgement | undefined {
  const { state, recallEventSeq, lastActivityId } = record;
  if (state !== MessageState.RECALLED || recallEventSeq === undefined || lastActivityId === undefined)
    return undefined;
  const { editedAtActivityId } = record;
  // An edit in the same microsecond may have won some columns: its revision was told to caches, and is above the row's.
  if (editedAtActivityId !== undefined && compareIdAt(editedAtActivityId, 0, lastActivityId, 0) > 0)
    return undefined;
  return { eventSeq: recallEventSeq, lastActivityId };
}
