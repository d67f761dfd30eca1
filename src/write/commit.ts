/**
 * The commit of a message, step by step in the order of R5.1 with D14–D16.
 *
 *     validate ─ assign ─ reserve ─ seal ─ record ─ log ─ complete ─▶ acknowledge ─▶ head (asynchronous)
 *
 * Ids are assigned before the deduplication row is inserted, because that row carries what a retry replays (D16); a
 * loser's seq becomes a hole. What a retry finds decides what it does:
 *
 *     no row     a first attempt
 *     RESERVED   the attempt before ended somewhere: seal … complete again with the stored ids and created_at
 *     COMMITTED  the same acknowledgement, nothing is written
 *
 * So a crash between any two steps and a retry, from this process or another, give one message and the same
 * acknowledgement. The log may then have the message twice; its readers drop duplicates by message_id (D16). Fails with
 * the errors of its ports, which leave a row that a retry takes up, or with those of message-to-commit.ts, which leave
 * nothing.
 */
import { encodeLogRecord } from '../codec/log-record.js';
import { MailjoinError } from '../domain/errors.js';
import { equalIdAt, type MessageId } from '../domain/ids.js';
import {
  type Coordinates,
  type DekId,
  type MessageRecord,
  MessageState,
  RetentionClass,
} from '../domain/message.js';
import type { Clock, MessageWriter, WriteLife } from '../domain/ports.js';
import type { Sealer } from '../domain/sealing.js';
import { assertSeq } from '../domain/seq.js';
import { type DedupEntry, DedupState, type Outbox, type WriteStore } from '../domain/write-ports.js';
import type { SequenceAllocator } from './allocator.js';
import type { HeadWriter } from './heads.js';
import { insertMicros, isOfConversation } from './message-ids.js';
import { checkMessage, type MessageToCommit } from './message-to-commit.js';
import type { Retention } from './retention.js';
import { type CommitStep, StepTimer, type StepWatcher } from './steps.js';

/** It means committed, not delivered (R5.1). A retry's says the same. */
export interface Acknowledgement {
  readonly messageId: MessageId;
  readonly seq: bigint;
  readonly createdAtMs: bigint;
}

/** Who inserts the row (D15): the writer, or the archiver that reads the log. */
export type RecordMode = 'sync' | 'archive';

export interface CommitterOptions {
  readonly messages: Pick<MessageWriter, 'insertRecord'>;
  readonly writes: Pick<WriteStore, 'reserve' | 'complete' | 'readRecord' | 'putIndex'>;
  readonly outbox: Outbox;
  readonly allocator: SequenceAllocator;
  readonly sealer: Sealer;
  readonly retention: Retention;
  readonly heads: Pick<HeadWriter, 'update'>;
  readonly clock: Clock;
  readonly record: RecordMode;
  readonly watchStep?: StepWatcher | undefined;
}

/** The row that is inserted and logged; `isStored` when a former attempt got that far. */
interface SealedMessage {
  readonly record: MessageRecord;
  readonly isStored: boolean;
}

export class Committer {
  readonly #with: CommitterOptions;

  constructor(options: CommitterOptions) {
    this.#with = options;
  }

  async commit(message: MessageToCommit): Promise<Acknowledgement> {
    const { clock, outbox, watchStep } = this.#with;
    const steps = new StepTimer<CommitStep>('commit', clock, watchStep);
    checkMessage(message, outbox.recordBytesMax);
    await steps.done('validate');

    const assigned = await this.#assign(message);
    await steps.done('assign');

    const found = await this.#with.writes.reserve(assigned);
    if (found !== undefined && !isOfConversation(found.messageId, message.conversationId)) {
      throw new MailjoinError('CLIENT_MESSAGE_ID_REUSED');
    }
    await steps.done('reserve');
    const entry = found ?? assigned;
    if (entry.state !== DedupState.COMMITTED) {
      await this.#write(message, entry, found !== undefined, steps);
    }
    this.#updateHead(message, entry, found !== undefined);
    return { messageId: entry.messageId, seq: entry.seq, createdAtMs: entry.createdAtMs };
  }

  /** R5.1 steps 3 to 5, the same for a first attempt and for a retry that found RESERVED. */
  async #write(
    message: MessageToCommit,
    entry: DedupEntry,
    isRetry: boolean,
    steps: StepTimer<CommitStep>,
  ): Promise<void> {
    const sealed = await this.#seal(message, entry, isRetry);
    await steps.done('seal');

    const life = this.#life(message, sealed.record);
    // Expired between the attempts: what a retry writes now would come after its end (B14). It is committed and gone.
    if (life !== 'expired') {
      if (this.#with.record === 'sync') await this.#insert(message, sealed, life);
      await steps.done('record');

      await this.#append(message, sealed.record);
      await steps.done('log');
    }
    // False where another retry was faster, or the row's two hours are over: either way there is nothing left to do.
    await this.#with.writes.complete(entry);
    await steps.done('complete');
  }

  /** Step 2: one critical section gives message_id, seq and last_activity_id (= message_id). */
  async #assign(message: MessageToCommit): Promise<DedupEntry> {
    const { tenantId, conversationId, senderId, clientMessageId } = message;
    const { seq, messageId } = await this.#with.allocator.allocateMessage(tenantId, conversationId);
    // R1.1, D6: computed inside, so a bug; nothing has been written yet.
    assertSeq(seq, 'conversation_seq');
    const createdAtMs = BigInt(Math.floor(this.#with.clock.epochMs()));
    return { tenantId, senderId, clientMessageId, messageId, seq, state: DedupState.RESERVED, createdAtMs };
  }

  async #keyOf(message: MessageToCommit, entry: DedupEntry): Promise<DekId | undefined> {
    const { tenantId, conversationId, preview } = message;
    const dekId = await this.#with.sealer.keyAt(tenantId, conversationId, Number(entry.createdAtMs));
    if (dekId === undefined && preview !== undefined) {
      throw new MailjoinError('MESSAGE_INVALID', 'a conversation without a data key has no preview (D22)');
    }
    return dekId;
  }

  /** The row; on a retry the stored one where there is one, so that row and log have the same sealed bytes. */
  async #seal(message: MessageToCommit, entry: DedupEntry, isRetry: boolean): Promise<SealedMessage> {
    const where = coordinatesOf(message, entry);
    const stored =
      isRetry && this.#with.record === 'sync' ? await this.#with.writes.readRecord(where) : undefined;
    if (stored !== undefined) {
      if (!equalIdAt(stored.messageId, 0, entry.messageId, 0)) {
        throw new MailjoinError('STORE_CORRUPT', 'the reserved seq holds another message');
      }
      // Seen, and changed by an event, before it was acknowledged: the log gets the message as it was committed.
      if (stored.state === MessageState.NORMAL && stored.recallEventSeq === undefined) {
        return { record: stored, isStored: true };
      }
    }
    const dekId = await this.#keyOf(message, entry);
    const payload =
      dekId === undefined
        ? message.payload
        : await this.#with.sealer.sealPayload(where, dekId, message.payload);
    return { record: recordOf(message, entry, payload, dekId), isStored: stored !== undefined };
  }

  /** D14: the INSERT's timestamp is created_at, so that no repetition undoes what happened to the row since. */
  #life(message: MessageToCommit, record: MessageRecord): WriteLife | 'expired' {
    const { retention, clock } = this.#with;
    const ttlSeconds = retention.ttlFor(message.tenantId, record, clock.epochMs());
    if (ttlSeconds === 'expired') return 'expired';
    return { ttlSeconds, timestampMicros: insertMicros(record.createdAtMs) };
  }

  /** Step 3: message_record first, message_index second (R3.3), with the same life (D21). */
  async #insert(message: MessageToCommit, sealed: SealedMessage, life: WriteLife): Promise<void> {
    const { messages, writes } = this.#with;
    const { tenantId, conversationId } = message;
    const { record, isStored } = sealed;
    const { seq, messageId } = record;
    if (!isStored) await messages.insertRecord({ tenantId, conversationId, seq }, record, life);
    await writes.putIndex(tenantId, messageId, { conversationId, seq }, life);
  }

  /** Step 4. */
  async #append(message: MessageToCommit, record: MessageRecord): Promise<void> {
    const { tenantId, conversationId } = message;
    const appendedAtMs = BigInt(Math.floor(this.#with.clock.epochMs()));
    // As it was committed: a hold that was placed since is the row's, and no INSERT's that somebody replays.
    const retentionClass = message.retentionClass ?? RetentionClass.DEFAULT;
    const lastActivityId = record.messageId as Uint8Array as MessageRecord['lastActivityId'];
    const committed = { ...record, retentionClass, lastActivityId };
    const value = encodeLogRecord({
      kind: 'message',
      tenantId,
      conversationId,
      appendedAtMs,
      record: committed,
    });
    await this.#with.outbox.append({ key: conversationId, value });
  }

  /** Step 7: only queued here. A retry queues it too: the attempt before may have ended between steps 5 and 7. */
  #updateHead(message: MessageToCommit, entry: DedupEntry, isRepeated: boolean): void {
    this.#with.heads.update({
      ...coordinatesOf(message, entry),
      messageId: entry.messageId,
      senderId: message.senderId,
      preview: message.preview,
      createdAtMs: entry.createdAtMs,
      isRepeated,
    });
  }
}

function coordinatesOf(message: MessageToCommit, { seq }: DedupEntry): Coordinates {
  return { tenantId: message.tenantId, conversationId: message.conversationId, seq };
}

function recordOf(
  message: MessageToCommit,
  entry: DedupEntry,
  payload: Uint8Array,
  dekId: DekId | undefined,
): MessageRecord {
  return {
    seq: entry.seq,
    messageId: entry.messageId,
    // The first revision is the message_id itself: the same bytes under the other name (see AllocatedMessage).
    lastActivityId: entry.messageId as Uint8Array as MessageRecord['lastActivityId'],
    senderId: message.senderId,
    senderDeviceId: message.senderDeviceId,
    clientMessageId: message.clientMessageId,
    messageType: message.messageType,
    customType: message.customType,
    schemaVersion: message.schemaVersion,
    payload,
    mediaMetadata: message.mediaMetadata,
    replyToSeq: message.replyToSeq,
    mentionTargets: message.mentionTargets,
    state: MessageState.NORMAL,
    recallEventSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs: entry.createdAtMs,
    retentionClass: message.retentionClass ?? RetentionClass.DEFAULT,
    dekId,
    ttlSeconds: undefined,
  };
}
