/**
 * Time that only tests move: both clocks, and the delays of a Scheduler, which come due in order.
 */
import type { Scheduler } from '../../src/crypto/scheduler.js';
import type { Clock } from '../../src/domain/ports.js';

export class ManualTime implements Clock, Scheduler {
  #nowMs = 1_000;
  /** How far the wall clock is from the monotonic one. */
  epochOffsetMs = 1_700_000_000_000;
  readonly #due = new Set<{ readonly atMs: number; readonly task: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  epochMs(): number {
    return this.#nowMs + this.epochOffsetMs;
  }

  /** Delays that have neither come due nor been taken back. */
  get pending(): number {
    return this.#due.size;
  }

  after(delayMs: number, task: () => void): () => void {
    const entry = { atMs: this.#nowMs + delayMs, task };
    this.#due.add(entry);
    return () => {
      this.#due.delete(entry);
    };
  }

  /** Moves on, running what comes due on the way. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const next = [...this.#due].filter((entry) => entry.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#due.delete(next);
      this.#nowMs = next.atMs;
      next.task();
    }
    this.#nowMs = endMs;
  }
}
