/**
 * The arena: a ring of segments. Slots are appended to the open segment; when it is full, the oldest segment without
 * reserved slots is reclaimed and becomes the open one.
 *
 *     FREE ──▶ OPEN ──full──▶ CLOSED, youngest … oldest ──reclaimed: survivors slide to its start──▶ OPEN
 *
 * Reclaiming keeps bodies whose used mark is set (their second chance: the mark is cleared) up to half of the segment,
 * so every reclaim yields at least half a segment, which is the largest slot: it always makes progress. A segment all of
 * whose slots are dead goes to the oldest end of the ring: nothing live is evicted while dead bytes can be had.
 * Owned by the writer's thread; the accounts lie outside the region, because a writer that restarts makes a new one.
 */
import { strict as assert } from 'node:assert';
import {
  type Geometry,
  NO_SLOT,
  SLOT_HEADER_WORDS,
  SLOT_STATE,
  SLOT_UNITS,
  SlotState,
  type SlotUnit,
  slotWord,
  UNIT_WORDS,
} from './layout.js';
import type { Region } from './region.js';

const NONE = -1;

/** Who knows which entry a slot belongs to. `slotUnit`: place in units from the region's start. */
export interface SlotOwner {
  /** Whether a published body survives the reclaim of its segment; clears its used mark. */
  keeps(slotUnit: SlotUnit): boolean;
  /** It does not: its entry goes. The bytes are overwritten or zeroed by the caller. */
  evict(slotUnit: SlotUnit): void;
  /** Around the move of a survivor's bytes. */
  beforeMove(slotUnit: SlotUnit): void;
  afterMove(slotUnit: SlotUnit): void;
}

const SegmentState = { FREE: 0, OPEN: 1, CLOSED: 2 } as const;

export class Segments {
  readonly #words: Int32Array;
  readonly #floats: Float64Array;
  readonly #owner: SlotOwner;
  readonly #geometry: Geometry;
  readonly #segmentShift: number;
  readonly #state: Uint8Array;
  /** Units written since the segment's start, dead ones included. */
  readonly #writtenUnits: Int32Array;
  /** Units of published and reserved slots. */
  readonly #liveUnits: Int32Array;
  /** Reserved slots: workers write into them, so they cannot move. */
  readonly #reserved: Int32Array;
  /** Counts up with every opening: the age of what lies in the segment. */
  readonly #openedAs: Float64Array;
  /** The ring of closed segments, oldest first. */
  readonly #younger: Int32Array;
  readonly #older: Int32Array;
  #oldest = NONE;
  #youngest = NONE;
  #closedReserved = 0;
  #closedCount = 0;
  #openings = 0;
  #open = NONE;
  #nextFree = 0;
  #copiedUnits = 0;

  constructor(region: Region, owner: SlotOwner) {
    const { segmentCount, segmentUnits } = region.geometry;
    this.#words = region.words;
    this.#floats = region.floats;
    this.#owner = owner;
    this.#geometry = region.geometry;
    this.#segmentShift = Math.log2(segmentUnits);
    this.#state = new Uint8Array(segmentCount);
    this.#writtenUnits = new Int32Array(segmentCount);
    this.#liveUnits = new Int32Array(segmentCount);
    this.#reserved = new Int32Array(segmentCount);
    this.#openedAs = new Float64Array(segmentCount);
    this.#younger = new Int32Array(segmentCount).fill(NONE);
    this.#older = new Int32Array(segmentCount).fill(NONE);
  }

  /** What second chances have moved so far, in units; for the bench. */
  get copiedUnits(): number {
    return this.#copiedUnits;
  }

  /**
   * A reserved slot of so many units (at most slotUnitsMax) with zeroed bytes beyond its state and size, or NO_SLOT when every segment
   * that could give one has reserved slots. Amortised O(1): a reclaim walks one segment and frees half of it.
   */
  allocate(units: number): SlotUnit {
    assert(units <= this.#geometry.slotUnitsMax);
    if (this.#open === NONE || !this.#fits(units)) {
      if (!this.#openAnother()) return NO_SLOT;
      assert(this.#fits(units), 'a reclaimed segment has room for the largest slot');
    }
    const segment = this.#open;
    // Where the last slot of the segment ends, the next begins.
    const slotUnit = (this.#startOf(segment) + (this.#writtenUnits[segment] as number)) as SlotUnit;
    this.#writtenUnits[segment] = (this.#writtenUnits[segment] as number) + units;
    this.#liveUnits[segment] = (this.#liveUnits[segment] as number) + units;
    this.#reserved[segment] = (this.#reserved[segment] as number) + 1;
    const word = slotWord(slotUnit);
    this.#words[word + SLOT_STATE] = SlotState.RESERVED;
    this.#words[word + SLOT_UNITS] = units;
    return slotUnit;
  }

  /** A reserved slot was published: it may move from now on. */
  settle(slotUnit: SlotUnit): void {
    this.#unreserve(this.#segmentOf(slotUnit));
    this.#words[slotWord(slotUnit) + SLOT_STATE] = SlotState.PUBLISHED;
  }

  /** Gives a slot's bytes back and zeroes them. No entry points to it any more. */
  free(slotUnit: SlotUnit): void {
    const words = this.#words;
    const word = slotWord(slotUnit);
    const units = words[word + SLOT_UNITS] as number;
    const segment = this.#segmentOf(slotUnit);
    if (words[word + SLOT_STATE] === SlotState.RESERVED) this.#unreserve(segment);
    this.#zero(slotUnit, slotUnit + units);
    this.#liveUnits[segment] = (this.#liveUnits[segment] as number) - units;
    const end = this.#startOf(segment) + (this.#writtenUnits[segment] as number);
    if (segment === this.#open && slotUnit + units === end) {
      this.#writtenUnits[segment] = (this.#writtenUnits[segment] as number) - units;
      return;
    }
    words[word + SLOT_STATE] = SlotState.DEAD;
    words[word + SLOT_UNITS] = units;
    if (this.#liveUnits[segment] === 0 && this.#state[segment] === SegmentState.CLOSED) {
      this.#unlink(segment);
      this.#linkOldest(segment);
    }
  }

  /** Lets every published body go, segment by segment; `forget` empties its entry. Reserved slots stay. */
  discardAll(forget: (slotUnit: SlotUnit) => void): void {
    for (let segment = 0; segment < this.#nextFree; segment++) {
      if (this.#reserved[segment] === 0) this.#discard(segment, forget);
      else this.#discardAround(segment, forget);
    }
  }

  /** Age of what lies at a place: lower is older. */
  ageRankOf(slotUnit: SlotUnit): number {
    const segment = this.#segmentOf(slotUnit);
    return (
      (this.#openedAs[segment] as number) * this.#geometry.segmentUnits + (slotUnit - this.#startOf(segment))
    );
  }

  /** The accounts of one segment, for checks: compared with what a walk over its slots finds. */
  accountOf(segment: number): {
    startUnit: number;
    writtenUnits: number;
    liveUnits: number;
    reserved: number;
  } {
    return {
      startUnit: this.#startOf(segment),
      writtenUnits: this.#writtenUnits[segment] as number,
      liveUnits: this.#liveUnits[segment] as number,
      reserved: this.#reserved[segment] as number,
    };
  }

  #fits(units: number): boolean {
    return (this.#writtenUnits[this.#open] as number) + units <= this.#geometry.segmentUnits;
  }

  #openAnother(): boolean {
    let next = this.#nextFree;
    if (next < this.#geometry.segmentCount) {
      this.#nextFree++;
    } else {
      next = this.#takeVictim();
      if (next === NONE) return false;
      this.#reclaim(next);
    }
    if (this.#open !== NONE && this.#open !== next) this.#closeOpen();
    this.#state[next] = SegmentState.OPEN;
    this.#openedAs[next] = ++this.#openings;
    this.#open = next;
    return true;
  }

  /** The oldest segment that has no reserved slots, out of the ring; the open one where it is the only such. */
  #takeVictim(): number {
    if (this.#closedReserved === this.#closedCount)
      return this.#reserved[this.#open] === 0 ? this.#open : NONE;
    let victim = this.#oldest;
    while (this.#reserved[victim] !== 0) victim = this.#younger[victim] as number;
    this.#unlink(victim);
    return victim;
  }

  #closeOpen(): void {
    const segment = this.#open;
    this.#state[segment] = SegmentState.CLOSED;
    if (this.#liveUnits[segment] === 0) this.#linkOldest(segment);
    else this.#linkYoungest(segment);
  }

  #reclaim(segment: number): void {
    const words = this.#words;
    const owner = this.#owner;
    const start = this.#startOf(segment);
    const end = start + (this.#writtenUnits[segment] as number);
    const keptEndMax = start + this.#geometry.segmentUnits / 2;
    let keptEnd = start;
    for (let place = start; place < end; ) {
      // Slots follow each other without a gap.
      const slotUnit = place as SlotUnit;
      const word = slotWord(slotUnit);
      const units = words[word + SLOT_UNITS] as number;
      if (words[word + SLOT_STATE] === SlotState.PUBLISHED) {
        if (keptEnd + units <= keptEndMax && owner.keeps(slotUnit)) {
          if (slotUnit !== keptEnd) this.#move(slotUnit, keptEnd as SlotUnit, units);
          keptEnd += units;
        } else {
          owner.evict(slotUnit);
        }
      }
      place += units;
    }
    this.#zero(keptEnd, end);
    this.#writtenUnits[segment] = keptEnd - start;
    this.#liveUnits[segment] = keptEnd - start;
  }

  /** A segment without reserved slots is zeroed in one run. */
  #discard(segment: number, forget: (slotUnit: SlotUnit) => void): void {
    const start = this.#startOf(segment);
    const end = start + (this.#writtenUnits[segment] as number);
    for (let place = start; place < end; ) {
      const slotUnit = place as SlotUnit;
      place += this.#words[slotWord(slotUnit) + SLOT_UNITS] as number;
      if (this.#words[slotWord(slotUnit) + SLOT_STATE] === SlotState.PUBLISHED) forget(slotUnit);
    }
    this.#zero(start, end);
    this.#writtenUnits[segment] = 0;
    this.#liveUnits[segment] = 0;
    if (this.#state[segment] !== SegmentState.CLOSED) return;
    this.#unlink(segment);
    this.#linkOldest(segment);
  }

  #discardAround(segment: number, forget: (slotUnit: SlotUnit) => void): void {
    const start = this.#startOf(segment);
    const end = start + (this.#writtenUnits[segment] as number);
    for (let place = start; place < end; ) {
      const slotUnit = place as SlotUnit;
      place += this.#words[slotWord(slotUnit) + SLOT_UNITS] as number;
      if (this.#words[slotWord(slotUnit) + SLOT_STATE] !== SlotState.PUBLISHED) continue;
      forget(slotUnit);
      this.free(slotUnit);
    }
  }

  #move(fromUnit: SlotUnit, toUnit: SlotUnit, units: number): void {
    this.#owner.beforeMove(fromUnit);
    this.#floats.copyWithin(toUnit * 2, fromUnit * 2, (fromUnit + units) * 2);
    this.#owner.afterMove(toUnit);
    this.#copiedUnits += units;
  }

  #zero(fromUnit: number, toUnit: number): void {
    this.#floats.fill(0, fromUnit * 2, toUnit * 2);
  }

  #unreserve(segment: number): void {
    const left = (this.#reserved[segment] as number) - 1;
    this.#reserved[segment] = left;
    if (left === 0 && this.#state[segment] === SegmentState.CLOSED) this.#closedReserved--;
  }

  #segmentOf(slotUnit: SlotUnit): number {
    return (slotUnit - this.#geometry.arenaUnit) >> this.#segmentShift;
  }

  #startOf(segment: number): number {
    return this.#geometry.arenaUnit + segment * this.#geometry.segmentUnits;
  }

  #linkYoungest(segment: number): void {
    this.#older[segment] = this.#youngest;
    this.#younger[segment] = NONE;
    if (this.#youngest === NONE) this.#oldest = segment;
    else this.#younger[this.#youngest] = segment;
    this.#youngest = segment;
    this.#countClosed(segment, 1);
  }

  #linkOldest(segment: number): void {
    this.#younger[segment] = this.#oldest;
    this.#older[segment] = NONE;
    if (this.#oldest === NONE) this.#youngest = segment;
    else this.#older[this.#oldest] = segment;
    this.#oldest = segment;
    this.#countClosed(segment, 1);
  }

  #unlink(segment: number): void {
    const older = this.#older[segment] as number;
    const younger = this.#younger[segment] as number;
    if (older === NONE) this.#oldest = younger;
    else this.#younger[older] = younger;
    if (younger === NONE) this.#youngest = older;
    else this.#older[younger] = older;
    this.#countClosed(segment, -1);
  }

  #countClosed(segment: number, change: number): void {
    this.#closedCount += change;
    if (this.#reserved[segment] !== 0) this.#closedReserved += change;
  }
}

assert.equal(SLOT_HEADER_WORDS % UNIT_WORDS, 0);
