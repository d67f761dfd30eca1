/**
 * Generations of data keys: each DEK is hashed to one of the region's cells; destroying a key raises its cell, which
 * makes every slot stamped before invalid at once, for all readers, before a single byte is zeroed.
 *
 * Two keys may share a cell: the writer then stamps the other key's slots anew, so a collision costs at most a false
 * miss of a reader in that moment. Owned by the writer's thread; readers only load.
 */
import type { DekId } from '../domain/message.js';
import { DekHash } from './dek-hash.js';
import {
  CELL_NONE,
  SLOT_CELL,
  SLOT_CELL_GENERATION,
  SLOT_DEK_HI,
  SLOT_DEK_LO,
  type SlotUnit,
  slotWord,
} from './layout.js';
import type { Region } from './region.js';

export class KeyCells {
  readonly #words: Int32Array;
  readonly #cellsWord: number;
  readonly #cellCount: number;
  readonly #hash: DekHash;
  /** Published slots of each cell: a destruction looks no further than the last of them. */
  readonly #published: Int32Array;

  constructor(region: Region) {
    this.#words = region.words;
    this.#cellsWord = region.geometry.cellsWord;
    this.#cellCount = region.geometry.cellCount;
    this.#hash = new DekHash(region.seedHi, region.seedLo);
    this.#published = new Int32Array(this.#cellCount);
  }

  /** Chooses the key that the other methods speak of. */
  read(dekId: DekId | undefined): void {
    this.#hash.read(dekId);
  }

  /** The chosen key's cell. */
  get cell(): number {
    const { hashHi, hashLo } = this.#hash;
    return hashHi === 0 && hashLo === 0 ? CELL_NONE : 1 + ((hashLo >>> 0) % (this.#cellCount - 1));
  }

  /** Published slots in the chosen key's cell. */
  get publishedInCell(): number {
    return this.#published[this.cell] as number;
  }

  /** Marks a slot as sealed by the chosen key, as of now. */
  stamp(slotUnit: SlotUnit): void {
    const words = this.#words;
    const word = slotWord(slotUnit);
    words[word + SLOT_CELL] = this.cell;
    words[word + SLOT_DEK_HI] = this.#hash.hashHi;
    words[word + SLOT_DEK_LO] = this.#hash.hashLo;
    this.stampAnew(slotUnit);
  }

  /** Lifts a slot to its cell's generation of now. */
  stampAnew(slotUnit: SlotUnit): void {
    const word = slotWord(slotUnit);
    this.#words[word + SLOT_CELL_GENERATION] = this.#generationOf(this.#words[word + SLOT_CELL] as number);
  }

  /** Whether the chosen key sealed a slot. */
  sealed(slotUnit: SlotUnit): boolean {
    const word = slotWord(slotUnit);
    return (
      this.#words[word + SLOT_DEK_LO] === this.#hash.hashLo &&
      this.#words[word + SLOT_DEK_HI] === this.#hash.hashHi
    );
  }

  /** Whether a slot's cell is still at the generation it was stamped with. */
  isCurrent(slotUnit: SlotUnit): boolean {
    const words = this.#words;
    const word = slotWord(slotUnit);
    return words[word + SLOT_CELL_GENERATION] === this.#generationOf(words[word + SLOT_CELL] as number);
  }

  cellOf(slotUnit: SlotUnit): number {
    return this.#words[slotWord(slotUnit) + SLOT_CELL] as number;
  }

  /** Raises the chosen key's cell. Sequentially consistent: what is zeroed afterwards is zeroed after it. */
  raise(): void {
    Atomics.add(this.#words, this.#cellsWord + this.cell, 1);
  }

  /** Counts a slot as published (1) or no longer published (-1). */
  count(slotUnit: SlotUnit, change: number): void {
    const cell = this.cellOf(slotUnit);
    this.#published[cell] = (this.#published[cell] as number) + change;
  }

  #generationOf(cell: number): number {
    return this.#words[this.#cellsWord + cell] as number;
  }
}
