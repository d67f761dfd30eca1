/**
 * Bytes in flight, bounded; whoever does not fit waits in order (B31).
 *
 * A claim larger than the bound is admitted when nothing else is in flight. Order is strict: a small claim never
 * overtakes a large one, which would starve. How many may wait is bounded by those who ask (FLIGHTS_MAX).
 */
import { strict as assert } from 'node:assert';

interface Waiter {
  readonly bytes: number;
  readonly admit: () => void;
  readonly refuse: (reason: unknown) => void;
}

export class Admission {
  readonly #bytesMax: number;
  readonly #waiters: Waiter[] = [];
  #bytes = 0;
  #claims = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytesInFlight(): number {
    return this.#bytes;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /** Resolves once the bytes are claimed; rejects only through refuseAll. Each claim is released once. */
  claim(bytes: number): Promise<void> {
    if (this.#waiters.length === 0 && this.#fits(bytes)) {
      this.#take(bytes);
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => {
      this.#waiters.push({ bytes, admit, refuse });
    });
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.#claims--;
    assert(this.#bytes >= 0 && this.#claims >= 0, 'a claim is released once');
    for (let next = this.#waiters[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiters[0]) {
      this.#waiters.shift();
      this.#take(next.bytes);
      next.admit();
    }
  }

  /** Turns away everybody who waits. */
  refuseAll(reason: unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.refuse(reason);
  }

  #fits(bytes: number): boolean {
    return this.#claims === 0 || this.#bytes + bytes <= this.#bytesMax;
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#claims++;
  }
}
