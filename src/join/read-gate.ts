/**
 * At most so many group reads under way at once. Further ones wait: urgent ones (live delivery) first, and they alone may
 * use the reserve, so that a backlog on a slow store never starves them. A read whose turn comes when nobody waits for it
 * any more is not sent: its waiters left at their deadlines, and the store has enough to do.
 *
 * The queues are bounded by FLIGHTS_MAX, since every read holds at least one flight.
 */
import { strict as assert } from 'node:assert';

/** A read that wants to pass. */
export interface GatedRead<T> {
  readonly isUrgent: boolean;
  /** Asked when it may go. */
  isWanted(): boolean;
  send(): Promise<T>;
}

/** First in, first out, without moving what waits. */
class Line {
  private waiting: (() => void)[] = [];
  private head = 0;

  add(go: () => void): void {
    this.waiting.push(go);
  }

  next(): (() => void) | undefined {
    const go = this.waiting[this.head];
    if (go === undefined) return undefined;
    this.head++;
    if (this.head === this.waiting.length) {
      this.waiting = [];
      this.head = 0;
    }
    return go;
  }
}

export class ReadGate {
  private readonly readsMax: number;
  private readonly reserve: number;
  private readonly urgent = new Line();
  private readonly others = new Line();
  private under = 0;

  constructor(readsMax: number, reserve: number) {
    assert(reserve < readsMax);
    this.readsMax = readsMax;
    this.reserve = reserve;
  }

  /** Reads under way now. */
  get underWay(): number {
    return this.under;
  }

  /** Sends a read when there is room; undefined when nobody wants it by then. Rejects with what the read rejects with. */
  async run<T>(read: GatedRead<T>): Promise<T | undefined> {
    if (this.hasRoom(read.isUrgent)) this.under++;
    else await new Promise<void>((go) => (read.isUrgent ? this.urgent : this.others).add(go));
    if (!read.isWanted()) {
      this.leave();
      return undefined;
    }
    try {
      return await read.send();
    } finally {
      this.leave();
    }
  }

  private hasRoom(isUrgent: boolean): boolean {
    return this.under < (isUrgent ? this.readsMax : this.readsMax - this.reserve);
  }

  /** Hands the place to the next in line, or gives it up. */
  private leave(): void {
    this.under--;
    const go = (this.hasRoom(true) && this.urgent.next()) || (this.hasRoom(false) && this.others.next());
    if (!go) return;
    this.under++;
    go();
  }
}
