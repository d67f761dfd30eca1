/**
 * The named steps of the write side's operations, for step latencies and for tests that end a process between two
 * steps. A watcher is told of a step when it is done; what it throws ends the operation there, as a crash would.
 */
import type { Clock } from '../domain/ports.js';

/** R5.1; 'head' is queued after the acknowledgement and is no step of it. */
export type CommitStep = 'validate' | 'assign' | 'reserve' | 'seal' | 'record' | 'log' | 'complete';
/** R5.4: the event first into the log, then the row. */
export type EventStep = 'read' | 'assign' | 'seal' | 'log' | 'row' | 'head';
export type ReactionStep = 'read' | 'reaction' | 'summary' | 'log';

export type Operation = 'commit' | 'recall' | 'edit' | 'react';
export type Step = CommitStep | EventStep | ReactionStep;

export type StepWatcher = (operation: Operation, step: Step, elapsedMs: number) => void | Promise<void>;

/** Times one operation's steps. */
export class StepTimer<S extends Step> {
  readonly #operation: Operation;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #watch: StepWatcher | undefined;
  #sinceMs: number;

  constructor(operation: Operation, clock: Pick<Clock, 'nowMs'>, watch: StepWatcher | undefined) {
    this.#operation = operation;
    this.#clock = clock;
    this.#watch = watch;
    this.#sinceMs = watch === undefined ? 0 : clock.nowMs();
  }

  /** The step since the last one is done. */
  async done(step: S): Promise<void> {
    if (this.#watch === undefined) return;
    const nowMs = this.#clock.nowMs();
    const elapsedMs = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    await this.#watch(this.#operation, step, elapsedMs);
  }
}
