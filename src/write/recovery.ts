/**
 * The recovery run (D17, S-7): what a crash between "event logged" and "row changed" left behind is made good.
 *
 * It reads the log's CONTROL records from its checkpoint to the end as it was at the start, and for each whose row does
 * not show it yet: announces it again under the same event_id and applies it. The announcement comes first, as R5.4 has
 * it; a crash in between leaves the event to the next run. Repeatable and idempotent, also beside running writers: an
 * event is applied at its own revision, whoever does it. Rows that are gone are not brought back (B15). Bounded: it
 * stops at the ends it started with; what it announces is read by the next run, which finds it applied. Records that
 * cannot be decoded are counted and passed over; any other failure stops the run before its checkpoint moves over it.
 */
import { eventId } from '../codec/event-id.js';
import { decodeLogRecord, encodeLogRecord, type LogEdit, type LogRecall } from '../codec/log-record.js';
import { MailjoinError } from '../domain/errors.js';
import { compareIdAt, equalIdAt } from '../domain/ids.js';
import { type MessageRecord, RetentionClass } from '../domain/message.js';
import type { LogEntry, LogPosition, LogReader } from '../domain/write-ports.js';
import { applyEdit, type EditorOptions, isEditShown } from './edit.js';
import type { HoldKeeper, LiftedClass } from './holds.js';
import { applyRecall, type RecallerOptions, recallShown } from './recall.js';
import { isHeldInPart, isLiftedInPart, type MessageTarget, type ReadRow, readRow } from './row-change.js';

export interface RecoveryOptions {
  readonly messages: RecallerOptions['messages'] & EditorOptions['messages'];
  readonly writes: RecallerOptions['writes'] & CheckpointPorts;
  readonly outbox: RecallerOptions['outbox'];
  readonly heads: RecallerOptions['heads'];
  readonly holds: Pick<HoldKeeper, 'placeHold' | 'liftHold'>;
  readonly clock: RecallerOptions['clock'];
  readonly log: Pick<LogReader, 'ends' | 'read'>;
  /** Names the checkpoint; runs of one log share one. */
  readonly checkpoint?: string;
}

interface CheckpointPorts {
  loadCheckpoint(name: string): Promise<string | undefined>;
  saveCheckpoint(name: string, value: string): Promise<void>;
}

/** What a run saw and did. */
export interface RecoveryReport {
  /** Records read, of every kind. */
  readonly records: number;
  readonly recalls: number;
  readonly edits: number;
  /** Events whose row showed them, or something later, already. */
  readonly shown: number;
  /** Events applied and announced again. */
  readonly applied: number;
  /** Events whose message is gone, or never was. */
  readonly absent: number;
  /** Records that cannot be decoded. */
  readonly undecodable: number;
}

type Counts = { -readonly [K in keyof RecoveryReport]: number };

const CHECKPOINT = 'recovery';
const DECIMAL = /^[0-9]{1,19}$/;

/** One run. Stops early, its checkpoint saved, when `signal` aborts. Fails with STORE_UNAVAILABLE, LOG_UNAVAILABLE. */
export async function recover(options: RecoveryOptions, signal: AbortSignal): Promise<RecoveryReport> {
  const name = options.checkpoint ?? CHECKPOINT;
  const { log, writes } = options;
  const counts: Counts = {
    records: 0,
    recalls: 0,
    edits: 0,
    shown: 0,
    applied: 0,
    absent: 0,
    undecodable: 0,
  };
  let isHeadLeft = false;
  const revise: RecallerOptions['heads']['revise'] = async (revision) => {
    const isTold = await options.heads.revise(revision);
    isHeadLeft ||= !isTold;
    return isTold;
  };
  const watched = { ...options, heads: { revise } };
  // In this order, so that a checkpoint lies beyond the ends only where the log was made anew: then it is read whole.
  const reached = parseCheckpoint(await writes.loadCheckpoint(name));
  const until = await log.ends();
  for (const [partition, next] of reached) {
    const end = until.find((position) => position.partition === partition)?.offset ?? 0n;
    if (next > end) reached.delete(partition);
  }
  await log.read({
    from: positionsOf(reached),
    until,
    signal,
    onEntries: async (entries) => {
      for (const entry of entries) {
        counts.records++;
        await recoverEntry(watched, entry, counts);
        reached.set(entry.partition, entry.offset + 1n);
      }
      // The rows behind a head that could not be written do not wait for it; the next run repeats them, and the head.
      if (!isHeadLeft) await writes.saveCheckpoint(name, formatCheckpoint(reached));
    },
  });
  if (isHeadLeft) throw new MailjoinError('STORE_UNAVAILABLE', 'a head still shows what was recalled');
  return counts;
}

async function recoverEntry(options: RecoveryOptions, entry: LogEntry, counts: Counts): Promise<void> {
  let record: ReturnType<typeof decodeLogRecord>;
  try {
    record = decodeLogRecord(entry.value);
  } catch (error) {
    if (!(error instanceof MailjoinError && error.code === 'LOG_CORRUPT')) throw error;
    counts.undecodable++;
    return;
  }
  if (record?.kind === 'recall') {
    counts.recalls++;
    counts[await recoverRecall(options, record)]++;
  } else if (record?.kind === 'edit') {
    counts.edits++;
    counts[await recoverEdit(options, record)]++;
  }
}

async function recoverRecall(
  options: RecoveryOptions,
  event: LogRecall,
): Promise<'shown' | 'applied' | 'absent'> {
  const target = targetOf(event);
  const row = await readWholeRow(options, target);
  if (row === undefined || !equalIdAt(row.record.messageId, 0, target.messageId, 0)) return 'absent';
  const shown = recallShown(row.record);
  // Shown below the event's floor: another event of the same message has not been applied; then this one is.
  const isShown = shown !== undefined && compareIdAt(shown.lastActivityId, 0, event.lastActivityId, 0) >= 0;
  const lastActivityId = isShown
    ? shown.lastActivityId
    : await applyRecall(options, target, row, event, async () => undefined);
  // The head may have missed it, too (D12); where it is not the last message's this changes nothing.
  const { createdAtMs: keyAtMs, senderId } = row.record;
  await options.heads.revise({ ...target, senderId, lastActivityId, preview: undefined, keyAtMs });
  return isShown ? 'shown' : 'applied';
}

async function recoverEdit(
  options: RecoveryOptions,
  event: LogEdit,
): Promise<'shown' | 'applied' | 'absent'> {
  const target = targetOf(event);
  const row = await readWholeRow(options, target);
  if (row === undefined || !equalIdAt(row.record.messageId, 0, target.messageId, 0)) return 'absent';
  if (isEditShown(row.record, event)) {
    return (await recallAgain(options, target, row)) ? 'applied' : 'shown';
  }
  const appendedAtMs = BigInt(Math.floor(options.clock.epochMs()));
  const value = encodeLogRecord({ ...event, appendedAtMs });
  await options.outbox.append({ key: event.conversationId, value });
  const after = await applyEdit(options, target, row, event, undefined);
  if (after === undefined) return 'absent';
  const edited = await readRow(options.writes, options.clock, target);
  if (edited !== undefined) await recallAgain(options, target, edited);
  return 'applied';
}

/**
 * An edit that was logged before its writer knew of the recall takes its place among the row's revisions, as an archiver
 * has it. Where that is above the recall's, the recall is told and written again above it: what caches were told of the
 * edit is reached, and the row says RECALLED in every column, whatever is repeated after (S-7). True where it was so,
 * whoever wrote the edit: an archiver, a writer or a recovery run that ended in between.
 */
async function recallAgain(options: RecoveryOptions, target: MessageTarget, row: ReadRow): Promise<boolean> {
  const { recallEventSeq: seq, lastActivityId } = row.record;
  if (seq === undefined || lastActivityId === undefined) return false;
  if (recallShown(row.record) !== undefined) return false;
  const { tenantId, conversationId, messageId } = target;
  const id = eventId({ kind: 'recall', tenantId, conversationId, messageId, seq });
  await applyRecall(options, target, row, { eventId: id, seq, lastActivityId }, async () => undefined);
  return true;
}

/**
 * The event's row. Where a hold was placed while the event was written, and its writer ended before it read that, the
 * event's columns still expire and would take the held row with them: so the hold is placed once more, whole (D20). Where
 * it was lifted meanwhile, they would never expire: so it is lifted once more.
 */
async function readWholeRow(
  { writes, clock, holds }: RecoveryOptions,
  target: MessageTarget,
): Promise<ReadRow | undefined> {
  const row = await readRow(writes, clock, target);
  if (row === undefined || !equalIdAt(row.record.messageId, 0, target.messageId, 0)) return row;
  try {
    if (isHeldInPart(row.record)) await holds.placeHold(target);
    else if (isLiftedInPart(row.record)) await holds.liftHold(target, liftedClassOf(row.record));
    else return row;
  } catch (error) {
    // It ended meanwhile, or governance has deleted it: no hold of it is to be set right.
    if (!(error instanceof MailjoinError && error.code === 'MESSAGE_NOT_FOUND')) throw error;
    return undefined;
  }
  return readRow(writes, clock, target);
}

function liftedClassOf({ retentionClass = RetentionClass.DEFAULT }: MessageRecord): LiftedClass {
  return retentionClass as LiftedClass; // it is lifted: isLiftedInPart
}

function targetOf({ tenantId, conversationId, target }: LogRecall | LogEdit): MessageTarget {
  return { tenantId, conversationId, seq: target.seq, messageId: target.messageId };
}

/** Next offset by partition, as `partition:offset` pairs. What is not one is read from the beginning: that is repeatable. */
function parseCheckpoint(text: string | undefined): Map<number, bigint> {
  const reached = new Map<number, bigint>();
  for (const pair of text?.split(' ') ?? []) {
    const [partition = '', offset = ''] = pair.split(':');
    if (DECIMAL.test(partition) && DECIMAL.test(offset)) reached.set(Number(partition), BigInt(offset));
  }
  return reached;
}

function formatCheckpoint(reached: ReadonlyMap<number, bigint>): string {
  return [...reached].map(([partition, offset]) => `${partition}:${offset}`).join(' ');
}

function positionsOf(reached: ReadonlyMap<number, bigint>): LogPosition[] {
  return [...reached].map(([partition, offset]) => ({ partition, offset }));
}
