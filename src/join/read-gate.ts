/**
 * At most so many group reads under way at once; further ones wait in order (limits.GROUP_READS_MAX). Bounded by
 * FLIGHTS_MAX, since every waiter holds at least one flight.
 */
import { strict as assert } from 'node:assert';

export class ReadGate {
  private readonly readsMax: number;
  private readonly waiting: (() => void)[] = [];
  private head = 0;
  private under = 0;

  constructor(readsMax: number) {
    this.readsMax = readsMax;
  }

  /** Reads under way now. */
  get underWay(): number {
    return this.under;
  }

  /** Runs `read` when there is room; its result or failure is passed on. */
  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.under >= this.readsMax) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.under++;
    try {
      return await read();
    } finally {
      this.leave();
    }
  }

  /** Hands the place to the next in line, or gives it up. */
  private leave(): void {
    const next = this.waiting[this.head];
    if (next === undefined) {
      this.under--;
      assert(this.under >= 0);
      return;
    }
    this.head++;
    if (this.head === this.waiting.length) {
      this.waiting.length = 0;
      this.head = 0;
    }
    next();
  }
}
