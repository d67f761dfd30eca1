/**
 * Edit (R5.4, D8, D12, D14): the CONTROL event with the new payload first into the log, then payload, dek_id, state and
 * revision in one statement; old versions are not kept. recall_event_conversation_seq is never touched.
 *
 *     read ─ assign ─ seal ─ log ─ row ─ head
 *
 * A crash after the log leaves the row to the recovery run (D17). Of two edits the one with the higher revision stays.
 * Fails with MESSAGE_RECALLED, MESSAGE_NOT_FOUND (also for an expired row, which is not brought back: B15),
 * MESSAGE_MISMATCH, MESSAGE_TOO_LARGE, and what its ports fail with.
 */
import { eventId } from '../codec/event-id.js';
import { encodeLogRecord } from '../codec/log-record.js';
import { MailjoinError } from '../domain/errors.js';
import { type ActivityId, compareIdAt } from '../domain/ids.js';
import { PREVIEW_BYTES_MAX, ROW_ATTEMPTS_MAX } from '../domain/limits.js';
import { type DekId, dekKey, effectiveState, type MessageRecord, MessageState } from '../domain/message.js';
import type { Clock, MessageWriter } from '../domain/ports.js';
import type { Sealer } from '../domain/sealing.js';
import { assertSeq } from '../domain/seq.js';
import type { Outbox, WriteStore } from '../domain/write-ports.js';
import type { SequenceAllocator } from './allocator.js';
import type { HeadWriter } from './heads.js';
import { revisionAbove, revisionMicros } from './message-ids.js';
import { checkId, checkSize } from './message-to-commit.js';
import type { EventAcknowledgement } from './recall.js';
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

export interface EditorOptions {
  readonly messages: Pick<MessageWriter, 'editRecord'>;
  readonly writes: Pick<WriteStore, 'readRecord'>;
  readonly outbox: Outbox;
  readonly allocator: SequenceAllocator;
  readonly sealer: Sealer;
  readonly heads: Pick<HeadWriter, 'revise'>;
  readonly clock: Clock;
  readonly watchStep?: StepWatcher | undefined;
}

export interface EditRequest extends MessageTarget {
  /** Replaces the payload whole. */
  readonly payload: Uint8Array;
  /** Plaintext of the head's preview while this is the last message; none where absent. */
  readonly preview?: Uint8Array | undefined;
}

/** A logged edit: what its row must come to show. */
export interface LoggedEdit {
  readonly payload: Uint8Array;
  readonly dekId: DekId | undefined;
  /** The event's revision: the row's edited_at_activity_id. */
  readonly lastActivityId: ActivityId;
}

export class Editor {
  readonly #with: EditorOptions;

  constructor(options: EditorOptions) {
    this.#with = options;
  }

  async edit(request: EditRequest): Promise<EventAcknowledgement> {
    const { clock, writes, outbox, watchStep } = this.#with;
    const steps = new StepTimer<EventStep>('edit', clock, watchStep);
    checkId(request.messageId, 'message_id');
    checkSize(request.payload, 0, outbox.recordBytesMax);
    if ((request.preview?.length ?? 0) > PREVIEW_BYTES_MAX) {
      throw new MailjoinError('MESSAGE_TOO_LARGE', `a preview has at most ${PREVIEW_BYTES_MAX} bytes`);
    }
    const row = await readTarget(writes, clock, request);
    if (effectiveState(row.record) === MessageState.RECALLED) throw new MailjoinError('MESSAGE_RECALLED');
    await steps.done('read');

    const { tenantId, conversationId, seq, messageId, preview } = request;
    const event = await this.#with.allocator.allocateEvent(tenantId, conversationId, row.record);
    assertSeq(event.seq, 'the event’s conversation_seq');
    const { lastActivityId } = event;
    await steps.done('assign');

    const nowEpochMs = Math.floor(clock.epochMs());
    const sealed = { ...(await this.#seal(request, nowEpochMs)), lastActivityId };
    await steps.done('seal');

    // Found out before the event is logged: an edit of a row that ends now has nothing to tell.
    if (updateLife(row, clock, 0n) === 'expired') throw new MailjoinError('MESSAGE_NOT_FOUND');
    const id = eventId({ kind: 'edit', tenantId, conversationId, messageId, seq: event.seq });
    const identity = { eventId: id, seq: event.seq };
    const log = (edit: LoggedEdit): Promise<void> => this.#log(request, row.record, identity, edit);
    await log(sealed);
    await steps.done('log');

    const after = await applyEdit(this.#with, request, row, sealed, log);
    await steps.done('row');

    // Where somebody recalled or edited it meanwhile, the head is theirs to revise.
    const isOwn = after !== undefined && Buffer.compare(after.payload ?? NO_BYTES, sealed.payload) === 0;
    const revision = (isOwn ? after.lastActivityId : undefined) ?? lastActivityId;
    if (isOwn && effectiveState(after) !== MessageState.RECALLED) {
      const { senderId } = after;
      const content = {
        tenantId,
        conversationId,
        seq,
        messageId,
        senderId,
        lastActivityId: revision,
        preview,
      };
      await this.#with.heads.revise({ ...content, keyAtMs: BigInt(nowEpochMs) });
    }
    await steps.done('head');
    return { eventSeq: event.seq, lastActivityId: revision };
  }

  async #log(
    { tenantId, conversationId, seq, messageId }: EditRequest,
    { createdAtMs, retentionClass }: MessageRecord,
    event: { readonly eventId: bigint; readonly seq: bigint },
    edit: LoggedEdit,
  ): Promise<void> {
    const value = encodeLogRecord({
      kind: 'edit',
      tenantId,
      conversationId,
      appendedAtMs: BigInt(Math.floor(this.#with.clock.epochMs())),
      target: { seq, messageId, createdAtMs, retentionClass },
      ...event,
      ...edit,
    });
    await this.#with.outbox.append({ key: conversationId, value });
  }

  async #seal(
    { tenantId, conversationId, seq, payload, preview }: EditRequest,
    nowEpochMs: number,
  ): Promise<{ payload: Uint8Array; dekId: DekId | undefined }> {
    const { sealer } = this.#with;
    const dekId = await sealer.keyAt(tenantId, conversationId, nowEpochMs);
    if (dekId !== undefined) {
      return { payload: await sealer.sealPayload({ tenantId, conversationId, seq }, dekId, payload), dekId };
    }
    if (preview === undefined) return { payload, dekId };
    throw new MailjoinError('MESSAGE_INVALID', 'a conversation without a data key has no preview (D22)');
  }
}

/**
 * Writes a logged edit into its row until it, or a later edit, is shown; also what the recovery run does (D17). Written
 * at the event's own revision, which every repetition has again. Where the row is above that by now, the revision is
 * raised. Its writer then logs it again as an edit of that revision (`logRaised`): it is the later one now, and caches
 * need the higher floor. The recovery run, which has later edits still before it, leaves the event its place among them.
 * Answers the row as it reads then, or undefined when it has expired.
 */
export async function applyEdit(
  ports: Pick<EditorOptions, 'messages' | 'writes' | 'clock'>,
  target: MessageTarget,
  found: ReadRow,
  logged: LoggedEdit,
  logRaised: ((edit: LoggedEdit) => Promise<void>) | undefined,
): Promise<MessageRecord | undefined> {
  let row = found;
  let edit = logged;
  for (let attempt = 0; attempt < ROW_ATTEMPTS_MAX; attempt++) {
    // On a recalled row it has nothing to show: it keeps its place, and never comes to lie above a later recall.
    const isMoot = attempt === 0 && effectiveState(row.record) === MessageState.RECALLED;
    const revision = isMoot ? edit.lastActivityId : revisionAbove(row.record, edit.lastActivityId);
    if (revision !== edit.lastActivityId && logRaised !== undefined) {
      edit = { ...edit, lastActivityId: revision };
      await logRaised(edit);
    }
    const life = updateLife(row, ports.clock, revisionMicros(revision));
    if (life === 'expired') return undefined;
    const { payload, dekId, lastActivityId: editedAtActivityId } = edit;
    await ports.messages.editRecord(
      target,
      { payload, dekId, editedAtActivityId, lastActivityId: revision },
      life,
    );
    const after = await readRow(ports.writes, ports.clock, target);
    if (after === undefined) return undefined;
    const isSettled = hasSameLife(row.record, after.record) || isOutdone(after.record, edit);
    if (isSettled && isEditShown(after.record, edit)) return after.record;
    row = after;
  }
  throw contended();
}

/**
 * Whether the row shows this edit whole, or a later one (D17). Two edits written in one microsecond leave a mix of both
 * (the store reconciles them column by column): that shows neither.
 */
export function isEditShown(record: MessageRecord, edit: LoggedEdit): boolean {
  const { editedAtActivityId, lastActivityId } = record;
  if (editedAtActivityId === undefined || lastActivityId === undefined) return false;
  // Of two events in one microsecond the row may have the lower one's revision beside the higher one's columns.
  if (compareIdAt(lastActivityId, 0, editedAtActivityId, 0) < 0) return false;
  const order = compareIdAt(editedAtActivityId, 0, edit.lastActivityId, 0);
  if (order > 0) return revisionMicros(lastActivityId) !== revisionMicros(edit.lastActivityId);
  return (
    order === 0 &&
    Buffer.compare(record.payload ?? NO_BYTES, edit.payload) === 0 &&
    keyName(record.dekId) === keyName(edit.dekId)
  );
}

/** Whether the row shows a later edit whole: nothing of this one is left in it, so nothing of it has a life to be set right. */
export function isOutdone(record: MessageRecord, edit: LoggedEdit): boolean {
  const { editedAtActivityId } = record;
  return (
    editedAtActivityId !== undefined &&
    compareIdAt(editedAtActivityId, 0, edit.lastActivityId, 0) > 0 &&
    isEditShown(record, edit)
  );
}

const NO_BYTES = new Uint8Array(0);

function keyName(dekId: DekId | undefined): string | undefined {
  return dekId && dekKey(dekId);
}
