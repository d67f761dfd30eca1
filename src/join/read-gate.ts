/**
 * At most so many reads of a store under way at once: reads of groups, of history pages, of reactions, each kind by a gate
 * of its own. Further ones wait: urgent ones (live delivery) first, and they alone may use the reserve, so that a backlog on
 * a slow store never starves them. A read that turns urgent while it waits moves up. A read whose turn comes when nobody
 * waits for it any more is not sent: its waiters left at their deadlines, and the store has enough to do.
 *
 * Who asks bounds the lines: flights (FLIGHTS_MAX), and the requests that are admitted for pages and details.
 */
import { strict as assert } from 'node:assert';

/** What a read is waiting for its turn with; live delivery that comes to wait for the same read hurries it. */
export class Turn {
  private urgent: boolean;
  /** Set while the read waits among those that are not urgent. */
  moveUp: (() => void) | undefined = undefined;

  constructor(isUrgent: boolean) {
    this.urgent = isUrgent;
  }

  get isUrgent(): boolean {
    return this.urgent;
  }

  /** From now on it goes before all that is not urgent. */
  hurry(): void {
    if (this.urgent) return;
    this.urgent = true;
    this.moveUp?.();
  }
}

/** A read that wants to pass. */
export interface GatedRead<T> {
  readonly turn: Turn;
  /** Asked when it may go. */
  isWanted(): boolean;
  send(): Promise<T>;
}

/** A read's place in a line. One that was hurried stands in both lines until it goes by one of them. */
interface Place {
  hasGone: boolean;
  isInBoth: boolean;
  readonly go: () => void;
}

/** Slots of a line that are kept although nobody stands in them, before it is put together anew. */
const EMPTY_SLOTS_MAX = 1_024;

/** First in, first out; what waits is moved only when most slots are empty, so that a line that never ends stays short. */
class Line {
  private waiting: Place[] = [];
  private head = 0;
  /** Places behind the head that have gone by the other line. */
  private gone = 0;

  get slots(): number {
    return this.waiting.length;
  }

  add(place: Place): void {
    this.waiting.push(place);
  }

  next(): Place | undefined {
    for (;;) {
      const place = this.waiting[this.head];
      if (place === undefined) return undefined;
      this.head++;
      if (place.hasGone) this.gone--;
      this.shorten();
      if (!place.hasGone) return place;
    }
  }

  /** One of its places has gone by the other line. */
  lose(): void {
    this.gone++;
    this.shorten();
  }

  private shorten(): void {
    const empty = this.head + this.gone;
    if (this.head < this.waiting.length && (empty <= EMPTY_SLOTS_MAX || 2 * empty <= this.waiting.length))
      return;
    const before = this.waiting;
    this.waiting = [];
    for (let at = this.head; at < before.length; at++) {
      const place = before[at] as Place;
      if (!place.hasGone) this.waiting.push(place);
    }
    this.head = 0;
    this.gone = 0;
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

  /** Memory of the lines, in reads: those that wait, and a bounded number of slots beside them. */
  get slots(): number {
    return this.urgent.slots + this.others.slots;
  }

  /** Sends a read when there is room; undefined when nobody wants it by then. Rejects with what the read rejects with. */
  async run<T>(read: GatedRead<T>): Promise<T | undefined> {
    if (this.hasRoom(read.turn.isUrgent)) this.under++;
    else await this.inLine(read.turn);
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

  /** Resolves when the read has a place, which is counted. */
  private inLine(turn: Turn): Promise<void> {
    return new Promise<void>((go) => {
      const place: Place = { hasGone: false, isInBoth: false, go };
      if (turn.isUrgent) {
        this.urgent.add(place);
        return;
      }
      this.others.add(place);
      turn.moveUp = () => {
        if (place.hasGone) return;
        place.isInBoth = true;
        this.urgent.add(place);
        this.admitNext();
      };
    });
  }

  private leave(): void {
    this.under--;
    this.admitNext();
  }

  /** Gives a place to the next in line, if there is one for it. */
  private admitNext(): void {
    const urgent = this.hasRoom(true) ? this.urgent.next() : undefined;
    const place = urgent ?? (this.hasRoom(false) ? this.others.next() : undefined);
    if (place === undefined) return;
    place.hasGone = true;
    if (place.isInBoth) (urgent === undefined ? this.urgent : this.others).lose();
    this.under++;
    place.go();
  }
}
