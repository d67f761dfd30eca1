/**
 * Reads bodies from a region that another thread or process writes: the shared-memory path of gateways.
 *
 *     lease, generation → entry → sequence s (even) → compare header, copy body → fence → sequence still s?
 *
 * The copy may be torn, so nothing of it is believed before the last step, and every place and length is held to its bounds
 * before it is used. The fence is a read-modify-write on a word of the reader's own: a load of the sequence alone would
 * not keep the copy's plain loads before it, on ARM. A change under way, or in between, is a miss: the caller asks the sidecar.
 * Never blocks, waits or throws for what it finds; writes nothing into the region but the used mark of an entry, which is
 * harmless whenever it comes. One instance per thread; it allocates nothing per read.
 */
import { compareIdAt } from '../domain/ids.js';
import type { MessageAt } from '../domain/ports.js';
import { BodyCopier } from './body-copier.js';
import { bucketWordOf } from './directory.js';
import {
  BUCKET_WORDS,
  ENTRY_BODY_BYTES,
  ENTRY_EXPIRY_F64,
  ENTRY_FLAGS,
  ENTRY_HASH_HI,
  ENTRY_HASH_LO,
  ENTRY_SEQUENCE,
  ENTRY_SLOT,
  ENTRY_WORDS,
  SLOT_BODY_BYTES,
  SLOT_CELL,
  SLOT_CELL_GENERATION,
  SLOT_CODE,
  SLOT_HEADER_WORDS,
  SLOT_KEY,
  SLOT_REVISION,
  SLOT_STATE,
  SlotState,
  slotUnitsFor,
  UNIT_WORDS,
  USED,
  WORD_BYTES,
} from './layout.js';
import { MessageKey } from './message-key.js';
import type { Region } from './region.js';
import { summaryVersionAt } from './slot-header.js';

/** What read() answers instead of a length. */
export const READ_MISS = -1;
/** The body is there but longer than the room given; bodyBytes says how long. */
export const READ_NO_ROOM = -2;

/** Revision, version, lengths and result. */
const JUDGED_FROM = SLOT_REVISION;
const JUDGED_TO = SLOT_CODE + 1;

export class RegionReader {
  readonly #region: Region;
  readonly #words: Int32Array;
  readonly #key: MessageKey;
  readonly #copier: BodyCopier;
  readonly #fence = new Int32Array(1);
  /** A private copy of what a caller may ask of the last slot header, at its offsets. */
  readonly #judged = new Int32Array(SLOT_HEADER_WORDS);
  readonly #judgedBytes = new Uint8Array(this.#judged.buffer);

  constructor(region: Region) {
    this.#region = region;
    this.#words = region.words;
    this.#key = new MessageKey(region.seedHi, region.seedLo);
    this.#copier = new BodyCopier(region);
  }

  /**
   * Copies the published body of exactly this reference to `target` at `targetAt`; returns its length in bytes, READ_MISS or
   * READ_NO_ROOM. After a miss the target's bytes from there on are undefined, up to bodyBytesMax of them.
   */
  read(at: MessageAt, target: Uint8Array, targetAt: number, nowMs: number): number {
    if (!this.#region.isServable(nowMs)) return READ_MISS;
    const words = this.#words;
    const key = this.#key;
    key.readReference(at);
    const { hashHi, hashLo } = key;
    const { directoryWord, bucketCount } = this.#region.geometry;
    let entry = bucketWordOf(directoryWord, bucketCount, hashHi);
    const end = entry + BUCKET_WORDS;
    for (; entry < end; entry += ENTRY_WORDS) {
      if (words[entry + ENTRY_HASH_LO] !== hashLo || words[entry + ENTRY_HASH_HI] !== hashHi) continue;
      const answer = this.#readEntry(entry, target, targetAt, nowMs);
      if (answer !== READ_MISS) return answer;
    }
    return READ_MISS;
  }

  /** Length of the body that was last read or did not fit, in bytes. */
  get bodyBytes(): number {
    return this.#judged[SLOT_BODY_BYTES] as number;
  }

  /** ResultCode of the body last read. */
  get code(): number {
    return this.#judged[SLOT_CODE] as number;
  }

  /** Whether the body last read is at or above a floor: floorAt −1 = no revision floor, version 0 = none. */
  meetsFloor(floorBytes: Uint8Array, floorAt: number, summaryVersion: bigint): boolean {
    if (floorAt >= 0 && compareIdAt(this.#judgedBytes, SLOT_REVISION * WORD_BYTES, floorBytes, floorAt) < 0)
      return false;
    return summaryVersion <= 0n || summaryVersionAt(this.#judged, 0) >= summaryVersion;
  }

  #readEntry(entry: number, target: Uint8Array, targetAt: number, nowMs: number): number {
    const words = this.#words;
    // An acquire: what is loaded below is loaded after it.
    const sequence = Atomics.load(words, entry + ENTRY_SEQUENCE);
    if ((sequence & 1) !== 0) return READ_MISS;
    const slotUnit = words[entry + ENTRY_SLOT] as number;
    const bodyBytes = words[entry + ENTRY_BODY_BYTES] as number;
    const expiresAtMs = this.#region.floats[(entry >> 1) + ENTRY_EXPIRY_F64] as number;
    if (!this.#isWithinArena(slotUnit, bodyBytes) || !(nowMs < expiresAtMs)) return READ_MISS;
    const word = slotUnit * UNIT_WORDS;
    if (!this.#isOfKey(word, bodyBytes)) return READ_MISS;
    const judged = this.#judged;
    for (let i = JUDGED_FROM; i < JUDGED_TO; i++) judged[i] = words[word + i] as number;
    const hasRoom = bodyBytes <= target.length - targetAt;
    if (hasRoom) this.#copier.copy(word + SLOT_HEADER_WORDS, bodyBytes, target, targetAt);
    // A release and an acquire: the loads above stay above, the load below stays below.
    Atomics.add(this.#fence, 0, 1);
    if (Atomics.load(words, entry + ENTRY_SEQUENCE) !== sequence) return READ_MISS;
    if (!hasRoom) return READ_NO_ROOM;
    if (((words[entry + ENTRY_FLAGS] as number) & USED) === 0) Atomics.or(words, entry + ENTRY_FLAGS, USED);
    return bodyBytes;
  }

  #isWithinArena(slotUnit: number, bodyBytes: number): boolean {
    const { arenaUnit, bodyBytesMax } = this.#region.geometry;
    return (
      slotUnit >= arenaUnit &&
      bodyBytes >= 0 &&
      bodyBytes <= bodyBytesMax &&
      slotUnit + slotUnitsFor(bodyBytes) <= this.#region.units
    );
  }

  /** Whether a slot is of the key's reference and agrees with its entry, under a key that still exists. */
  #isOfKey(word: number, bodyBytes: number): boolean {
    const words = this.#words;
    const key = this.#key;
    if (!key.namesSlot(words, word + SLOT_KEY) || !key.locatesSlot(words, word + SLOT_KEY)) return false;
    if (words[word + SLOT_STATE] !== SlotState.PUBLISHED || words[word + SLOT_BODY_BYTES] !== bodyBytes)
      return false;
    const { cellsWord, cellCount } = this.#region.geometry;
    const cell = words[word + SLOT_CELL] as number;
    if (cell < 0 || cell >= cellCount) return false;
    return Atomics.load(words, cellsWord + cell) === words[word + SLOT_CELL_GENERATION];
  }
}
