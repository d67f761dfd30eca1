/**
 * The published bodies of a region: directory entries and arena slots as one structure with exact accounts.
 *
 * A body is entered (from a reserved slot) and goes in one of four ways, each counted: replaced, evicted, expired,
 * removed. Owned by the writer's thread; every method leaves entries, slots and accounts consistent, and readers in other
 * threads see a body whole or not at all (directory.ts). `entry`: word index; `slotUnit`: place in units.
 */
import { Directory } from './directory.js';
import { KeyCells } from './key-cells.js';
import {
  type EntryWord,
  NO_ENTRY,
  NO_SLOT,
  SLOT_ENTRY,
  SLOT_KEY,
  SLOT_UNITS,
  type SlotUnit,
  slotWord,
  UNIT_BYTES,
} from './layout.js';
import type { MessageKey } from './message-key.js';
import type { Region } from './region.js';
import { Segments } from './segments.js';
import { compareRevisions, compareVersions } from './slot-header.js';

export class PublishedBodies {
  readonly segments: Segments;
  readonly cells: KeyCells;
  readonly #region: Region;
  readonly #words: Int32Array;
  readonly #directory: Directory;
  /** The latest time that the cache was told; reclaims tell expired from evicted by it. */
  nowMs: number;
  #usedUnits = 0;
  #count = 0;
  #evicted = 0;
  #expired = 0;
  #removed = 0;

  constructor(region: Region, nowMs: number) {
    this.nowMs = nowMs;
    this.cells = new KeyCells(region);
    this.#region = region;
    this.#words = region.words;
    this.#directory = new Directory(region);
    this.segments = new Segments(region, {
      keeps: (slotUnit) => this.#keeps(this.#entryOf(slotUnit)),
      evict: (slotUnit) => {
        const entry = this.#entryOf(slotUnit);
        this.#countGone(entry);
        this.#forget(entry);
      },
      beforeMove: (slotUnit) => this.#directory.open(this.#entryOf(slotUnit)),
      afterMove: (slotUnit) => {
        const entry = this.#entryOf(slotUnit);
        this.#directory.moveSlot(entry, slotUnit);
        this.#directory.close(entry);
      },
    });
  }

  get count(): number {
    return this.#count;
  }

  get usedBytes(): number {
    return this.#usedUnits * UNIT_BYTES;
  }

  get evicted(): number {
    return this.#evicted;
  }

  get expired(): number {
    return this.#expired;
  }

  get removed(): number {
    return this.#removed;
  }

  /** The entry of the message that the key names, or NO_ENTRY. */
  entryOf(key: MessageKey): EntryWord {
    return this.#directory.find(key);
  }

  /** The slot of the key's message at exactly the key's coordinates, if it may be served now, or NO_SLOT. Marks it as used. */
  findForUse(key: MessageKey): SlotUnit {
    const entry = this.#directory.find(key);
    if (entry === NO_ENTRY) return NO_SLOT;
    const slotUnit = this.#directory.slotUnitOf(entry);
    if (!key.locatesSlot(this.#words, slotWord(slotUnit) + SLOT_KEY)) return NO_SLOT;
    if (this.#isExpired(entry)) {
      this.#expired++;
      this.#drop(entry);
      return NO_SLOT;
    }
    if (!this.cells.isCurrent(slotUnit)) return NO_SLOT;
    this.#directory.markUsed(entry);
    return slotUnit;
  }

  slotUnitOf(entry: EntryWord): SlotUnit {
    return this.#directory.slotUnitOf(entry);
  }

  expiresAtMs(entry: EntryWord): number {
    return this.#directory.expiresAtMs(entry);
  }

  /**
   * Whether a body may take the place of what its key holds (`entry`, or NO_ENTRY). Reads of one message can overtake each other, so an older
   * body never replaces a newer one; where each is newer in one respect neither is to be trusted and the old one goes.
   */
  admits(key: MessageKey, entry: EntryWord, slotUnit: SlotUnit): boolean {
    if (entry === NO_ENTRY) return true;
    const heldUnit = this.#directory.slotUnitOf(entry);
    if (!key.locatesSlot(this.#words, slotWord(heldUnit) + SLOT_KEY) || this.#isExpired(entry)) return true;
    const revision = compareRevisions(this.#region, slotUnit, heldUnit);
    const version = compareVersions(this.#region, slotUnit, heldUnit);
    if (revision >= 0 && version >= 0) return true;
    if (revision > 0 || version > 0) this.remove(entry);
    return false;
  }

  /** Publishes a reserved slot under its key, in place of what the key held (`held`) or of what must go from its bucket. */
  enter(key: MessageKey, held: EntryWord, slotUnit: SlotUnit, bodyBytes: number, expiresAtMs: number): void {
    const directory = this.#directory;
    const { hashHi, hashLo } = key;
    const entry = held === NO_ENTRY ? this.#vacate(hashHi) : held;
    const replacedUnit = directory.slotUnitOf(entry);
    this.#words[slotWord(slotUnit) + SLOT_ENTRY] = entry;
    this.segments.settle(slotUnit);
    directory.open(entry);
    directory.fill(entry, hashHi, hashLo, slotUnit, bodyBytes, this.cells.cellOf(slotUnit), expiresAtMs);
    directory.close(entry);
    this.#account(slotUnit, 1);
    if (replacedUnit === NO_SLOT) return;
    this.#account(replacedUnit, -1);
    this.segments.free(replacedUnit);
  }

  /** Takes a body out and zeroes it. */
  remove(entry: EntryWord): void {
    this.#removed++;
    this.#drop(entry);
  }

  removeAll(): void {
    this.segments.discardAll((slotUnit) => {
      this.#removed++;
      this.#forget(this.#entryOf(slotUnit));
    });
  }

  /** Removes the bodies that the cells' chosen key sealed, and lifts its neighbours' in the cell; returns how many went. */
  removeSealed(): number {
    const { cells } = this;
    let removed = 0;
    let entry = NO_ENTRY;
    for (let left = cells.publishedInCell; left > 0; left--) {
      entry = this.#directory.nextOfCell(entry, cells.cell);
      const slotUnit = this.#directory.slotUnitOf(entry);
      if (cells.sealed(slotUnit)) {
        this.remove(entry);
        removed++;
      } else {
        cells.stampAnew(slotUnit);
      }
    }
    return removed;
  }

  /** An empty entry of a hash's bucket, if need be after its former body has gone. */
  #vacate(hashHi: number): EntryWord {
    const entry = this.#directory.placeFor(hashHi, this.nowMs, this.segments);
    if (this.#directory.slotUnitOf(entry) !== NO_SLOT) {
      this.#countGone(entry);
      this.#drop(entry);
    }
    return entry;
  }

  #drop(entry: EntryWord): void {
    const slotUnit = this.#directory.slotUnitOf(entry);
    this.#forget(entry);
    this.segments.free(slotUnit);
  }

  /** A body whose bytes are overwritten or zeroed next. */
  #forget(entry: EntryWord): void {
    this.#account(this.#directory.slotUnitOf(entry), -1);
    this.#directory.empty(entry);
  }

  /** A second chance for bodies that were used since the last one. */
  #keeps(entry: EntryWord): boolean {
    if (!this.#directory.isUsed(entry) || this.#isExpired(entry)) return false;
    this.#directory.clearUsed(entry);
    return true;
  }

  #countGone(entry: EntryWord): void {
    if (this.#isExpired(entry)) this.#expired++;
    else this.#evicted++;
  }

  /** Counts a published body in (1) or out (-1). */
  #account(slotUnit: SlotUnit, change: number): void {
    this.#count += change;
    this.#usedUnits += change * (this.#words[slotWord(slotUnit) + SLOT_UNITS] as number);
    this.cells.count(slotUnit, change);
  }

  #isExpired(entry: EntryWord): boolean {
    return this.#directory.expiresAtMs(entry) <= this.nowMs;
  }

  #entryOf(slotUnit: SlotUnit): EntryWord {
    // SLOT_ENTRY holds nothing else while the slot is published.
    return this.#words[slotWord(slotUnit) + SLOT_ENTRY] as EntryWord;
  }
}
