/**
 * How long the store's reads may hold the event loop at a stretch. They are synchronous, and a batch of thousands of
 * groups resolves one after the other in microtasks: without a pause no timer, no deadline and no other connection
 * would be served until the last one. All readers of a store share one allowance per turn of the loop; who finds it
 * spent waits for the next turn, in order of asking. Owner: the main thread. It cannot fail.
 */
import type { Clock } from '../domain/ports.js';

/** Milliseconds of one turn of the loop, the work between two reads included. */
const HELD_MS_MAX = 4;

export class LoopShare {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #turnBeganMs: number | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Whether this turn of the loop is used up; then await nextTurn() and ask again. */
  isSpent(): boolean {
    const nowMs = this.#clock.nowMs();
    if (this.#turnBeganMs === undefined) {
      this.#turnBeganMs = nowMs;
      this.#turn = new Promise((resolve) => {
        setImmediate(() => {
          this.#turnBeganMs = undefined;
          resolve();
        });
      });
    }
    return nowMs - this.#turnBeganMs >= HELD_MS_MAX;
  }

  /** The next turn of the loop, after its I/O. Others may use it up first. */
  nextTurn(): Promise<void> {
    return this.#turn;
  }
}
