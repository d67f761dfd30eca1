/**
 * Brings one row of message_record to what the log says of it (R3.3, D14, D15, D21).
 *
 * The result does not depend on the order of the log's records, nor on how often they come: an INSERT is written at its
 * created_at, an event at its own revision, which lies above, and the store keeps the higher one column by column. So a
 * replayed INSERT undoes nothing. The events of a batch are written before its INSERT: until that comes the row is
 * incomplete and absent, so the content of a message that is recalled in the same batch is never seen.
 *
 * Lives: an INSERT has what remains of its policy. An event has what remains of its row (D8), which a hold may have
 * changed since it was logged; where the row is not there, of the policy of its class. What has expired is not written:
 * an event alone brings no row back (B15). A hold that is placed or lifted while an event is written is found out by
 * reading again, and the event is written once more above it, with the life that the row has now (D20).
 *
 * Repeatable; keeps nothing. Fails with what the stores fail with.
 */
import { compareIdAt, equalIdAt } from '../domain/ids.js';
import { ROW_ATTEMPTS_MAX } from '../domain/limits.js';
import { type Coordinates, type MessageRecord, MessageState, RetentionClass } from '../domain/message.js';
import type { Clock, MessageWriter, WriteLife } from '../domain/ports.js';
import type { WriteStore } from '../domain/write-ports.js';
import { isEditShown, isOutdone } from '../write/edit.js';
import { insertMicros, revisionAbove, revisionMicros } from '../write/message-ids.js';
import type { RetainedRow, Retention } from '../write/retention.js';
import {
  contended,
  isHeldInPart,
  isLiftedInPart,
  type ReadRow,
  readRow,
  updateLife,
} from '../write/row-change.js';
import type { LogEvent, RowChange, RowWork } from './archive-work.js';

export interface RowArchiverPorts {
  readonly messages: Pick<MessageWriter, 'insertRecord' | 'editRecord' | 'recallRecord'>;
  readonly writes: Pick<WriteStore, 'readRecord' | 'putIndex'>;
  readonly retention: Retention;
  readonly clock: Clock;
}

/** What became of one record of the log. */
export type ChangeOutcome =
  /** The INSERT or the event was written. */
  | 'written'
  /** Its time was over: nothing was written (B14). */
  | 'expired'
  /** The row shows the event already. */
  | 'shown'
  /** The row at the event's coordinates is another message. */
  | 'mismatch';

export class RowArchiver {
  readonly #ports: RowArchiverPorts;

  constructor(ports: RowArchiverPorts) {
    this.#ports = ports;
  }

  /** One outcome for each change, in their order. */
  async archive({ where, changes }: RowWork): Promise<readonly ChangeOutcome[]> {
    const outcomes = new Map<RowChange, ChangeOutcome>();
    const inserted = changes.find((change) => change.kind === 'message')?.record;
    for (const change of changes) {
      if (change.kind === 'event') {
        outcomes.set(change, await this.#applyEvent(where, change.event, inserted));
      }
    }
    for (const change of changes) {
      if (change.kind === 'message') outcomes.set(change, await this.insert(where, change.record));
    }
    return changes.map((change) => outcomes.get(change) ?? 'written');
  }

  async insert(where: Coordinates, record: MessageRecord): Promise<'written' | 'expired'> {
    const life = this.#policyLife(where, record, insertMicros(record.createdAtMs));
    if (life === 'expired') return 'expired';
    await this.#ports.messages.insertRecord(where, record, life);
    return 'written';
  }

  /** The message_index row of a message whose row was written, with the same life (R3.3, D21). */
  async index(where: Coordinates, record: MessageRecord): Promise<void> {
    const { tenantId, conversationId, seq } = where;
    const life = this.#policyLife(where, record, insertMicros(record.createdAtMs));
    if (life === 'expired') return;
    await this.#ports.writes.putIndex(tenantId, record.messageId, { conversationId, seq }, life);
  }

  async #applyEvent(
    where: Coordinates,
    event: LogEvent,
    inserted: MessageRecord | undefined,
  ): Promise<ChangeOutcome> {
    const { writes, clock } = this.#ports;
    let found = await readRow(writes, clock, where);
    if (found !== undefined && isShown(found.record, event) && !isInPart(found.record)) return 'shown';
    for (let attempt = 0; attempt < ROW_ATTEMPTS_MAX; attempt++) {
      const messageId = found?.record.messageId ?? inserted?.messageId ?? event.target.messageId;
      if (!equalIdAt(messageId, 0, event.target.messageId, 0)) return 'mismatch';
      const isRepair = found !== undefined && (attempt > 0 || isInPart(found.record));
      // A later edit is what the row shows: written again above it, this one would undo it. Its own record repairs the row.
      if (isRepair && found !== undefined && event.kind === 'edit' && isOutdone(found.record, event))
        return 'shown';
      // The same timestamp with another life would not win over what is there.
      const revision =
        isRepair && found !== undefined
          ? revisionAbove(found.record, event.lastActivityId)
          : event.lastActivityId;
      const life = this.#eventLife(where, event, found, revisionMicros(revision));
      if (life === 'expired') return 'expired';
      await this.#write(where, event, revision, life);
      const after = await readRow(writes, clock, where);
      const formerClass = found === undefined ? event.target.retentionClass : found.record.retentionClass;
      if (after === undefined || isSameClass(formerClass, after.record.retentionClass)) return 'written';
      found = after;
    }
    throw contended();
  }

  async #write(
    where: Coordinates,
    event: LogEvent,
    lastActivityId: LogEvent['lastActivityId'],
    life: WriteLife,
  ): Promise<void> {
    const { messages } = this.#ports;
    if (event.kind === 'recall') {
      await messages.recallRecord(where, { recallEventSeq: event.seq, lastActivityId }, life);
      return;
    }
    const { payload, dekId, lastActivityId: editedAtActivityId } = event;
    await messages.editRecord(where, { payload, dekId, editedAtActivityId, lastActivityId }, life);
  }

  #eventLife(
    where: Coordinates,
    event: LogEvent,
    found: ReadRow | undefined,
    timestampMicros: bigint,
  ): WriteLife | 'expired' {
    if (found !== undefined) return updateLife(found, this.#ports.clock, timestampMicros);
    return this.#policyLife(where, event.target, timestampMicros);
  }

  #policyLife(
    { tenantId }: Coordinates,
    { retentionClass, createdAtMs }: Partial<RetainedRow> & Pick<RetainedRow, 'createdAtMs'>,
    timestampMicros: bigint,
  ): WriteLife | 'expired' {
    const { retention, clock } = this.#ports;
    const ttlSeconds = retention.ttlFor(tenantId, { retentionClass, createdAtMs }, clock.epochMs());
    return ttlSeconds === 'expired' ? 'expired' : { ttlSeconds, timestampMicros };
  }
}

/** Whether writing the event once more would change nothing. */
function isShown(record: MessageRecord, event: LogEvent): boolean {
  const { lastActivityId, editedAtActivityId } = record;
  if (event.kind === 'recall') {
    return (
      record.state === MessageState.RECALLED &&
      record.recallEventSeq === event.seq &&
      lastActivityId !== undefined &&
      compareIdAt(lastActivityId, 0, event.lastActivityId, 0) >= 0
    );
  }
  if (editedAtActivityId === undefined || !isEditShown(record, event)) return false;
  // Of two edits in one microsecond the store decides column by column, which only writing both can bring about.
  return (
    equalIdAt(editedAtActivityId, 0, event.lastActivityId, 0) ||
    revisionMicros(editedAtActivityId) > revisionMicros(event.lastActivityId)
  );
}

/** A change met a hold that was placed or lifted, and its writer ended before it read that (D20). */
function isInPart(record: MessageRecord): boolean {
  return isHeldInPart(record) || isLiftedInPart(record);
}

function isSameClass(a: number | undefined, b: number | undefined): boolean {
  return (a ?? RetentionClass.DEFAULT) === (b ?? RetentionClass.DEFAULT);
}
