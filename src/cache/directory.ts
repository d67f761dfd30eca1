/**
 * The directory: the one index of the region. 8-way buckets of entries; an entry says where a slot lies, and the slot
 * says back which entry is its own. At most one entry per (tenant, message id).
 *
 * Owned by the writer's thread. Readers elsewhere copy a slot and then look at the entry's sequence word again, so:
 * the bytes of a slot change only while no entry points to it or its entry's sequence is odd, and the sequence never
 * returns to a former value. The sequence is made odd by a store (release) that a load (acquire) follows: both are
 * sequentially consistent, so nothing that comes after moves before them, on ARM either. A writer that dies between
 * open() and close() leaves an odd sequence: a miss for ever.
 */
import {
  BUCKET_WORDS,
  CELL_SHIFT,
  ENTRY_BODY_BYTES,
  ENTRY_EXPIRY_F64,
  ENTRY_FLAGS,
  ENTRY_HASH_HI,
  ENTRY_HASH_LO,
  ENTRY_SEQUENCE,
  ENTRY_SLOT,
  ENTRY_WORDS,
  type EntryWord,
  NO_ENTRY,
  NO_SLOT,
  SLOT_KEY,
  type SlotUnit,
  slotWord,
  USED,
} from './layout.js';
import type { MessageKey } from './message-key.js';
import type { Region } from './region.js';

const TWO_POW_32 = 4_294_967_296;

/** Word index of a hash's bucket. Exact: the product stays below 2^53. */
export function bucketWordOf(directoryWord: number, bucketCount: number, hashHi: number): number {
  return directoryWord + ((((hashHi >>> 0) * bucketCount) / TWO_POW_32) | 0) * BUCKET_WORDS;
}

/** How old what lies at a place is: lower is older. */
export interface SlotAges {
  ageRankOf(slotUnit: SlotUnit): number;
}

export class Directory {
  readonly #words: Int32Array;
  readonly #floats: Float64Array;
  readonly #directoryWord: number;
  readonly #directoryEndWord: number;
  readonly #bucketCount: number;

  constructor(region: Region) {
    this.#words = region.words;
    this.#floats = region.floats;
    this.#directoryWord = region.geometry.directoryWord;
    this.#directoryEndWord = region.geometry.directoryEndWord;
    this.#bucketCount = region.geometry.bucketCount;
  }

  /** The entry of the message that the key names, whatever its coordinates. */
  find(key: MessageKey): EntryWord {
    const words = this.#words;
    const { hashHi, hashLo } = key;
    let entry = bucketWordOf(this.#directoryWord, this.#bucketCount, hashHi);
    const end = entry + BUCKET_WORDS;
    for (; entry < end; entry += ENTRY_WORDS) {
      if (words[entry + ENTRY_HASH_LO] !== hashLo || words[entry + ENTRY_HASH_HI] !== hashHi) continue;
      // ENTRY_SLOT holds nothing else.
      const slotUnit = words[entry + ENTRY_SLOT] as SlotUnit;
      if (slotUnit !== NO_SLOT && key.namesSlot(words, slotWord(slotUnit) + SLOT_KEY)) {
        // Whole entries from a bucket's start.
        return entry as EntryWord;
      }
    }
    return NO_ENTRY;
  }

  /**
   * The entry that a new message of this hash takes: an empty one, or else the one whose body goes: an expired one,
   * the oldest one without the used mark, the oldest one. Where marks had to be passed over they are cleared.
   */
  placeFor(hashHi: number, nowMs: number, ages: SlotAges): EntryWord {
    const first = bucketWordOf(this.#directoryWord, this.#bucketCount, hashHi);
    const end = first + BUCKET_WORDS;
    let oldest = NO_ENTRY;
    let oldestRank = Number.POSITIVE_INFINITY;
    let oldestUnused = NO_ENTRY;
    let oldestUnusedRank = Number.POSITIVE_INFINITY;
    for (let word = first; word < end; word += ENTRY_WORDS) {
      // Whole entries from a bucket's start.
      const entry = word as EntryWord;
      const slotUnit = this.slotUnitOf(entry);
      if (slotUnit === NO_SLOT || this.expiresAtMs(entry) <= nowMs) return entry;
      const rank = ages.ageRankOf(slotUnit);
      if (rank < oldestRank) {
        oldest = entry;
        oldestRank = rank;
      }
      if (!this.isUsed(entry) && rank < oldestUnusedRank) {
        oldestUnused = entry;
        oldestUnusedRank = rank;
      }
    }
    if (oldestUnused !== NO_ENTRY) return oldestUnused;
    for (let word = first; word < end; word += ENTRY_WORDS) this.clearUsed(word as EntryWord);
    return oldest;
  }

  /**
   * The first entry after this one whose key belongs to a cell other than CELL_NONE, which empty entries show too;
   * NO_ENTRY before the first and after the last. One word of each entry is looked at.
   */
  nextOfCell(entry: EntryWord, cell: number): EntryWord {
    const words = this.#words;
    const end = this.#directoryEndWord;
    let next: number = entry === NO_ENTRY ? this.#directoryWord : entry + ENTRY_WORDS;
    while (next < end && (words[next + ENTRY_FLAGS] as number) >>> CELL_SHIFT !== cell) next += ENTRY_WORDS;
    return next < end ? (next as EntryWord) : NO_ENTRY;
  }

  /** Begins a change that readers must not see half of. */
  open(entry: EntryWord): void {
    const words = this.#words;
    Atomics.store(words, entry + ENTRY_SEQUENCE, ((words[entry + ENTRY_SEQUENCE] as number) + 1) | 0);
    Atomics.load(words, entry + ENTRY_SEQUENCE);
  }

  /** Ends it: what was written since open() is ordered before. */
  close(entry: EntryWord): void {
    const words = this.#words;
    Atomics.store(words, entry + ENTRY_SEQUENCE, ((words[entry + ENTRY_SEQUENCE] as number) + 1) | 0);
  }

  /** Writes a whole entry, unmarked. Between open() and close(). */
  fill(
    entry: EntryWord,
    hashHi: number,
    hashLo: number,
    slotUnit: SlotUnit,
    bodyBytes: number,
    cell: number,
    expiresAtMs: number,
  ): void {
    const words = this.#words;
    words[entry + ENTRY_HASH_HI] = hashHi;
    words[entry + ENTRY_HASH_LO] = hashLo;
    words[entry + ENTRY_SLOT] = slotUnit;
    words[entry + ENTRY_BODY_BYTES] = bodyBytes;
    words[entry + ENTRY_FLAGS] = cell << CELL_SHIFT;
    this.#floats[(entry >> 1) + ENTRY_EXPIRY_F64] = expiresAtMs;
  }

  /** Empties an entry: no reader takes its slot for valid any more. */
  empty(entry: EntryWord): void {
    this.open(entry);
    this.fill(entry, 0, 0, NO_SLOT, 0, 0, 0);
    this.close(entry);
  }

  /** Points an entry to its slot's new place. Between open() and close(). */
  moveSlot(entry: EntryWord, slotUnit: SlotUnit): void {
    this.#words[entry + ENTRY_SLOT] = slotUnit;
  }

  slotUnitOf(entry: EntryWord): SlotUnit {
    // ENTRY_SLOT holds nothing else.
    return this.#words[entry + ENTRY_SLOT] as SlotUnit;
  }

  expiresAtMs(entry: EntryWord): number {
    return this.#floats[(entry >> 1) + ENTRY_EXPIRY_F64] as number;
  }

  isUsed(entry: EntryWord): boolean {
    return ((this.#words[entry + ENTRY_FLAGS] as number) & USED) !== 0;
  }

  markUsed(entry: EntryWord): void {
    // The other bits are this thread's alone, so that a reader setting the mark meanwhile loses nothing.
    const flags = this.#words[entry + ENTRY_FLAGS] as number;
    if ((flags & USED) === 0) this.#words[entry + ENTRY_FLAGS] = flags | USED;
  }

  clearUsed(entry: EntryWord): void {
    this.#words[entry + ENTRY_FLAGS] = (this.#words[entry + ENTRY_FLAGS] as number) & ~USED;
  }
}
