/**
 * At most so many group reads under way at once. Further ones wait: urgent ones (live delivery) first, and they alone may
 * use the reserve, so that a backlog on a slow store never starves them. A read that turns urgent while it waits moves up. A read whose turn comes when nobody waits for it
 * any more is not sent: its waiters left at their deadlines, and the store has enough to do.
 *
 * The queues are bounded by FLIGHTS_MAX, since every read holds at least one flight.
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

/** A read's place in a line. One that was hurried has a place in both and leaves the later one unused. */
interface Place {
  hasGone: boolean;
  readonly go: () => void;
}

/** First in, first out, without moving what waits. */
class Line {
  private waiting: Place[] = [];
  private head = 0;

  add(place: Place): void {
    this.waiting.push(place);
  }

  next(): Place | undefined {
    for (;;) {
      const place = this.waiting[this.head];
      if (place === undefined) return undefined;
      this.head++;
      if (this.head === this.waiting.length) {
        this.waiting = [];
        this.head = 0;
      }
      if (!place.hasGone) return place;
    }
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
      const place: Place = { hasGone: false, go };
      if (turn.isUrgent) {
        this.urgent.add(place);
        return;
      }
      this.others.add(place);
      turn.moveUp = () => {
        if (place.hasGone) return;
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
    const place = (this.hasRoom(true) && this.urgent.next()) || (this.hasRoom(false) && this.others.next());
    if (!place) return;
    place.hasGone = true;
    this.under++;
    place.go();
  }
}
