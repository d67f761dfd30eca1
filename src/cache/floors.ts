/**
 * Installed floors: revisions below which a message must not be served or cached any more, because an event said so
 * before the row shows it (design: "be older than asked, or come back").
 *
 * Bounded: when a floor cannot be installed any more, caching pauses, so that nothing can be cached that the lost floor
 * would have kept out, until there is room *and* the lost floor would have reached its age. A floor goes at its age: the
 * table's, or a longer one that it was raised with, until a body at or above it is published. One with an age of its
 * own (a recall's) must also hold against rows as they are read, so it may take the place of an ordinary one, for which
 * the pause has to do. Owned by the writer's thread; never in the region.
 *
 * Maps in the order of raising rather than an lru-cache: otherwise a floor must never give way to another one.
 */
import { type ActivityId, compareIdAt, ID_BYTES, idKeyAt } from '../domain/ids.js';
import type { Floor } from '../domain/ports.js';

/** Floors looked at per sweep at most, so that no call waits for many. */
const SWEEP_MAX = 64;
/** Counters of installed floors by hash: most look-ups end here, without a key being built. */
const SIEVE_SIZE = 65_536;

interface Installed {
  activityId: ActivityId | undefined;
  summaryVersion: bigint;
  recalled: boolean;
  raisedAtMs: number;
  /** It stays until then at least, whatever the age of floors. */
  keepUntilMs: number;
  /** A body at or above it was published since it was raised last. */
  settled: boolean;
  readonly hash: number;
}

/** The name of a message: where its ids lie, and the cache's hash of them. */
export interface NameAt {
  readonly hash: number;
  readonly tenantBytes: Uint8Array;
  readonly tenantAt: number;
  readonly messageBytes: Uint8Array;
  readonly messageAt: number;
}

export class Floors {
  readonly #floorsMax: number;
  readonly #ageMsMax: number;
  /** Each in the order of raising: those that go at the table's age, and those with a longer one of their own. */
  readonly #ordinary = new Map<string, Installed>();
  readonly #kept = new Map<string, Installed>();
  readonly #sieve = new Int32Array(SIEVE_SIZE);
  /** Until then a lost floor could still matter. */
  #lostUntilMs = Number.NEGATIVE_INFINITY;
  #nowMs = Number.NEGATIVE_INFINITY;

  constructor(floorsMax: number, ageMsMax: number) {
    this.#floorsMax = floorsMax;
    this.#ageMsMax = ageMsMax;
  }

  get size(): number {
    return this.#ordinary.size + this.#kept.size;
  }

  /** Whether caching pauses, as of the last sweep. */
  get paused(): boolean {
    return this.size >= this.#floorsMax || this.#nowMs < this.#lostUntilMs;
  }

  /** Installs a floor, keeping the higher revision and the higher version. Without room for it caching pauses. */
  raise(name: NameAt, floor: Floor, nowMs: number, ageMsMin = 0): void {
    this.sweep(nowMs);
    const key = keyOf(name);
    const installed = this.#get(key);
    if (installed === undefined) {
      if (this.size >= this.#floorsMax) {
        this.#lostUntilMs = nowMs + this.#ageMsMax;
        if (ageMsMin === 0 || !this.#loseOldest()) return;
      }
      this.#count(name.hash, 1);
      // The caller's bytes may be a view on a buffer that is reused.
      const activityId = floor.activityId === undefined ? undefined : copyOf(floor.activityId);
      this.#put(key, {
        activityId,
        summaryVersion: floor.summaryVersion,
        recalled: floor.recalled === true,
        raisedAtMs: nowMs,
        keepUntilMs: nowMs + ageMsMin,
        settled: false,
        hash: name.hash,
      });
      return;
    }
    if (
      floor.activityId !== undefined &&
      (installed.activityId === undefined || compareIdAt(floor.activityId, 0, installed.activityId, 0) > 0)
    ) {
      installed.activityId = copyOf(floor.activityId);
    }
    if (floor.summaryVersion > installed.summaryVersion) installed.summaryVersion = floor.summaryVersion;
    if (floor.recalled === true) installed.recalled = true;
    installed.settled = false;
    installed.raisedAtMs = nowMs;
    installed.keepUntilMs = Math.max(installed.keepUntilMs, nowMs + ageMsMin);
    this.#put(key, installed);
  }

  /** The floor of a message, or undefined. */
  floorOf(name: NameAt): Floor | undefined {
    if (this.#sieve[name.hash & (SIEVE_SIZE - 1)] === 0) return undefined;
    const floor = this.#get(keyOf(name));
    // Sweeps are bounded, so a floor may still be here after its age.
    return floor === undefined || this.#isOver(floor) ? undefined : floor;
  }

  /**
   * A body at or above the floor is published: from here on it stays for the table's age alone, for rows that were read
   * before (a history page's) and come to be published when that body may be gone.
   */
  settle(name: NameAt): void {
    const key = keyOf(name);
    const installed = this.#get(key);
    if (installed === undefined || installed.settled) return;
    installed.settled = true;
    installed.raisedAtMs = this.#nowMs;
    installed.keepUntilMs = this.#nowMs;
    this.#put(key, installed);
  }

  /** Lets floors go that have reached their age, a bounded number at a time. */
  sweep(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    this.#sweep(this.#ordinary, nowMs);
    this.#sweep(this.#kept, nowMs);
  }

  #sweep(floors: Map<string, Installed>, nowMs: number): void {
    let looked = 0;
    for (const [key, installed] of floors) {
      if (installed.raisedAtMs + this.#ageMsMax > nowMs || looked++ === SWEEP_MAX) return;
      floors.delete(key);
      if (installed.keepUntilMs > nowMs) {
        // To the end of the Map's order, to be looked at again after another age.
        installed.raisedAtMs = nowMs;
        floors.set(key, installed);
      } else {
        this.#count(installed.hash, -1);
      }
    }
  }

  #isOver({ raisedAtMs, keepUntilMs }: Installed): boolean {
    return raisedAtMs + this.#ageMsMax <= this.#nowMs && keepUntilMs <= this.#nowMs;
  }

  /** Makes room for a floor with an age of its own: the oldest one without goes. */
  #loseOldest(): boolean {
    for (const [key, { hash }] of this.#ordinary) {
      this.#ordinary.delete(key);
      this.#count(hash, -1);
      return true;
    }
    return false;
  }

  #get(key: string): Installed | undefined {
    return this.#ordinary.get(key) ?? this.#kept.get(key);
  }

  /** Last in the order of raising. */
  #put(key: string, installed: Installed): void {
    this.#ordinary.delete(key);
    this.#kept.delete(key);
    (installed.keepUntilMs > installed.raisedAtMs ? this.#kept : this.#ordinary).set(key, installed);
  }

  #count(hash: number, change: number): void {
    const index = hash & (SIEVE_SIZE - 1);
    this.#sieve[index] = (this.#sieve[index] as number) + change;
  }
}

function keyOf(name: NameAt): string {
  return idKeyAt(name.tenantBytes, name.tenantAt) + idKeyAt(name.messageBytes, name.messageAt);
}

function copyOf(id: ActivityId): ActivityId {
  const copy = new Uint8Array(ID_BYTES);
  copy.set(id);
  // A copy of an id's 16 bytes is one.
  return copy as ActivityId;
}
