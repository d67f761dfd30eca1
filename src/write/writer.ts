/**
 * The write side as one object over its ports: commit, recall, edit, reactions and holds share the allocator, the head
 * queue and the counting of alerts. Owned by one thread; every operation may run beside any other, in any number of
 * processes. close() writes the heads that still wait and leaves the ports open: they belong to whoever made them.
 */
import type { Clock, MessageReader, MessageWriter } from '../domain/ports.js';
import type { Sealer } from '../domain/sealing.js';
import type { LogReader, Outbox, WriteStore } from '../domain/write-ports.js';
import type { AlertListener } from './alerts.js';
import { type SequenceAllocator, WindowAllocator } from './allocator.js';
import { type Acknowledgement, Committer, type RecordMode } from './commit.js';
import { Editor, type EditRequest } from './edit.js';
import { CountedEpochs, type EpochSource } from './head-epochs.js';
import { HeadWriter, type HeadWriterStats } from './heads.js';
import { HoldKeeper, type LiftedClass } from './holds.js';
import type { MessageToCommit } from './message-to-commit.js';
import { type ReactionAcknowledgement, type ReactionRequest, Reactor } from './reactions.js';
import { type EventAcknowledgement, Recaller, type RecallRequest } from './recall.js';
import { type RecoveryReport, recover } from './recovery.js';
import { Retention } from './retention.js';
import type { RetentionPolicies } from './retention-policies.js';
import type { MessageTarget } from './row-change.js';
import type { StepWatcher } from './steps.js';

export interface WriterOptions {
  /** Both sides of one store. */
  readonly messages: MessageReader & MessageWriter;
  readonly writes: WriteStore;
  readonly outbox: Outbox;
  readonly sealer: Sealer;
  readonly retention: RetentionPolicies;
  readonly clock: Clock;
  /** Who inserts rows (D15): sync unless said otherwise. */
  readonly record?: RecordMode;
  /** WindowAllocator on `writes` unless said otherwise. */
  readonly allocator?: SequenceAllocator;
  /** CountedEpochs on `writes` unless the deployment has leadership of its own (D2). */
  readonly epochs?: EpochSource;
  readonly onAlert: AlertListener;
  readonly watchStep?: StepWatcher;
}

export class Writer {
  readonly #committer: Committer;
  readonly #recaller: Recaller;
  readonly #editor: Editor;
  readonly #reactor: Reactor;
  readonly #holds: HoldKeeper;
  readonly #heads: HeadWriter;
  readonly #with: WriterOptions;

  constructor(options: WriterOptions) {
    const { writes, clock, onAlert } = options;
    const retention = new Retention(options.retention, () => onAlert('RETENTION_UNKNOWN'));
    const allocator = options.allocator ?? new WindowAllocator({ store: writes, clock });
    const epochs = options.epochs ?? new CountedEpochs(writes, clock);
    this.#heads = new HeadWriter({ store: writes, epochs, sealer: options.sealer, clock, onAlert });
    const shared = { ...options, allocator, retention, heads: this.#heads };
    this.#committer = new Committer({ ...shared, record: options.record ?? 'sync' });
    this.#recaller = new Recaller(shared);
    this.#editor = new Editor(shared);
    this.#reactor = new Reactor(shared);
    this.#holds = new HoldKeeper(shared);
    this.#with = options;
  }

  /** R5.1; a retry with the same client_message_id gives the same acknowledgement. */
  commit(message: MessageToCommit): Promise<Acknowledgement> {
    return this.#committer.commit(message);
  }

  /** R5.4; once acknowledged, no read of the row shows its content. */
  recall(request: RecallRequest): Promise<EventAcknowledgement> {
    return this.#recaller.recall(request);
  }

  /** R5.4. */
  edit(request: EditRequest): Promise<EventAcknowledgement> {
    return this.#editor.edit(request);
  }

  /** R5.5. */
  react(request: ReactionRequest): Promise<ReactionAcknowledgement> {
    return this.#reactor.react(request);
  }

  /** R3.1, D20. */
  placeHold(target: MessageTarget): Promise<void> {
    return this.#holds.placeHold(target);
  }

  /** R3.1, D20. */
  liftHold(target: MessageTarget, retentionClass: LiftedClass): Promise<void> {
    return this.#holds.liftHold(target, retentionClass);
  }

  /** D17; `log` reads what `outbox` appends to. */
  recover(log: Pick<LogReader, 'ends' | 'read'>, signal: AbortSignal): Promise<RecoveryReport> {
    return recover({ ...this.#with, heads: this.#heads, holds: this.#holds, log }, signal);
  }

  headStats(): HeadWriterStats {
    return this.#heads.stats();
  }

  /** Resolves when no head waits to be written. */
  headsIdle(): Promise<void> {
    return this.#heads.idle();
  }

  /** Waits for pending heads at most so long; resolves to how many were left unwritten. */
  close(withinMs: number): Promise<number> {
    return this.#heads.close(withinMs);
  }
}
