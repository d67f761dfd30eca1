/**
 * The one description of the shared region: every offset that a thread or process needs lies here and nowhere else.
 * Pure arithmetic; no memory is touched. A change of anything below raises LAYOUT_VERSION.
 *
 *     | header 256 B | DEK generation cells | directory: buckets of 8 entries | arena: segments of equal size |
 *
 *     entry, 32 B:   sequence | hashHi | hashLo | slot | expiry f64 | bodyBytes | flags
 *     slot, 128 B + body, rounded up to 16:
 *       state | units | tenant 4 | message 4 | conversation 4 | seqHi | seqLo | revision 4 | versionHi | versionLo
 *       | bodyBytes | blockABytes | code | cell | cellGeneration | dekHashHi | dekHashLo | hashHi | hashLo | entry | body…
 *
 * Words are 32-bit in the machine's order, which is little-endian everywhere Node runs a gateway (asserted). Places in
 * the arena are counted in units of 16 bytes, so that a region of 4 GiB needs no number above 2^30.
 * Bytes of the arena that belong to no slot, and the bodies of DEAD slots, are zero.
 */
import { strict as assert } from 'node:assert';
import { endianness } from 'node:os';
import { REGION_BYTES_DEFAULT, REGION_BYTES_MIN } from '../domain/limits.js';

assert.equal(endianness(), 'LE', 'the region is little-endian');

/** 'MJRG' */
export const MAGIC = 0x47524a4d;
export const LAYOUT_VERSION = 1;

declare const brand: unique symbol;
/** Place of a slot, in units from the region's start. */
export type SlotUnit = number & { readonly [brand]: 'SlotUnit' };
/** Place of a directory entry, in words from the region's start. */
export type EntryWord = number & { readonly [brand]: 'EntryWord' };

export const WORD_BYTES = 4;
export const UNIT_BYTES = 16;
export const UNIT_WORDS = UNIT_BYTES / WORD_BYTES;

// ---------------------------------------------------------------- header (word indexes from the region's start)

export const HEADER_BYTES = 256;
export const HEADER_MAGIC = 0;
export const HEADER_VERSION = 1;
/** Another number for every region ever made; 0 = retired, nothing in it may be served. */
export const HEADER_GENERATION = 2;
/** In ticks of LEASE_TICK_MS since the base, as an unsigned number. */
export const HEADER_LEASE_UNTIL = 3;
/** Monotonic milliseconds at creation, as a float64 (index in float64s). */
export const HEADER_BASE_F64 = 2;
export const HEADER_SEED_HI = 6;
export const HEADER_SEED_LO = 7;
export const HEADER_REGION_UNITS = 8;

/** One 32-bit word holds 8 years of leases in steps of this length; a lease is rounded down, never up. */
export const LEASE_TICK_MS = 64;

// ---------------------------------------------------------------- directory entry (word offsets)

export const ENTRY_WORDS = 8;
/** Ways of a bucket. */
export const WAYS = 8;
export const BUCKET_WORDS = ENTRY_WORDS * WAYS;
/** Odd while the writer changes the entry or moves its slot; it only ever grows (modulo 2^32). */
export const ENTRY_SEQUENCE = 0;
export const ENTRY_HASH_HI = 1;
export const ENTRY_HASH_LO = 2;
/** Place of the slot in units from the region's start; 0 = empty entry. */
export const ENTRY_SLOT = 3;
/** Float64 index: (entry >> 1) + ENTRY_EXPIRY_F64. Monotonic milliseconds. */
export const ENTRY_EXPIRY_F64 = 2;
export const ENTRY_BODY_BYTES = 6;
/** USED | cell << CELL_SHIFT. The mark lies here, because a late reader may set it at any time without touching a body. */
export const ENTRY_FLAGS = 7;
export const USED = 1;
export const CELL_SHIFT = 8;

// ---------------------------------------------------------------- slot header (word offsets)

export const SLOT_HEADER_WORDS = 32;
export const SLOT_HEADER_BYTES = SLOT_HEADER_WORDS * WORD_BYTES;
export const SLOT_STATE = 0;
/** Size of the slot in units, header included. */
export const SLOT_UNITS = 1;
/** tenant, message, conversation, seqHi, seqLo: the key as a run of words. */
export const SLOT_KEY = 2;
export const KEY_MESSAGE = 4;
export const KEY_CONVERSATION = 8;
export const KEY_SEQ_HI = 12;
export const KEY_SEQ_LO = 13;
export const KEY_WORDS = 14;
/** The words of the key that name the message (tenant and message id); the rest are its coordinates. */
export const KEY_NAME_WORDS = KEY_CONVERSATION;
export const SLOT_REVISION = SLOT_KEY + KEY_WORDS;
export const SLOT_VERSION_HI = 20;
export const SLOT_VERSION_LO = 21;
export const SLOT_BODY_BYTES = 22;
export const SLOT_BLOCK_A_BYTES = 23;
export const SLOT_CODE = 24;
export const SLOT_CELL = 25;
export const SLOT_CELL_GENERATION = 26;
export const SLOT_DEK_HI = 27;
export const SLOT_DEK_LO = 28;
export const SLOT_HASH_HI = 29;
export const SLOT_HASH_LO = 30;
/** Word index of the entry that points here; 0 while the slot is not PUBLISHED. */
export const SLOT_ENTRY = 31;

/**
 *     NONE ──reserve──▶ RESERVED ──publish──▶ PUBLISHED ──drop──▶ DEAD ──segment reclaimed──▶ NONE
 *                          └────────────────release──────────────────▶ DEAD
 */
export const SlotState = { NONE: 0, RESERVED: 1, PUBLISHED: 2, DEAD: 3 } as const;

// ---------------------------------------------------------------- geometry

/** The largest region: its places still fit 2^30 words and one typed array. */
export const REGION_BYTES_MAX = 4 * 1024 ** 3;
const SEGMENT_BYTES_MAX = 1024 * 1024;
const SEGMENT_BYTES_MIN = 8 * 1024;
/** A region below 32 MiB has smaller segments: about so many, so that reclaiming one costs a small part of it. */
const SEGMENTS_ABOUT = 32;
/** One directory entry per so many bytes: with bodies of 560 B the 8-way buckets are then a little over half full. */
const BYTES_PER_ENTRY = 384;
const CELLS_MAX = 65_536;
const BYTES_PER_CELL = 1024;
/** No key: slots of unsealed rows. Its generation never moves. */
export const CELL_NONE = 0;

/** Where things lie in a region of a certain size. */
export interface Geometry {
  readonly regionBytes: number;
  /** A power of two. */
  readonly cellCount: number;
  readonly cellsWord: number;
  readonly bucketCount: number;
  readonly directoryWord: number;
  readonly directoryEndWord: number;
  readonly arenaUnit: number;
  readonly segmentCount: number;
  /** A power of two. */
  readonly segmentUnits: number;
  /** A slot takes at most half a segment, so that a reclaimed segment, at most half kept, always has room for it. */
  readonly slotUnitsMax: number;
  readonly bodyBytesMax: number;
}

/** The geometry of a region of `regionBytes`, which is within REGION_BYTES_MIN … REGION_BYTES_MAX. */
export function geometryOf(regionBytes: number): Geometry {
  assert(regionBytes >= REGION_BYTES_MIN && regionBytes <= REGION_BYTES_MAX);
  const bucketBytes = BUCKET_WORDS * WORD_BYTES;
  const wholeBytes = floorTo(regionBytes, bucketBytes);
  const segmentBytes = Math.min(
    SEGMENT_BYTES_MAX,
    Math.max(SEGMENT_BYTES_MIN, powerOfTwoBelow(wholeBytes / SEGMENTS_ABOUT)),
  );
  const cellCount = Math.min(CELLS_MAX, powerOfTwoBelow(wholeBytes / BYTES_PER_CELL));
  const cellsBytes = cellCount * WORD_BYTES;
  const directoryAt = HEADER_BYTES + cellsBytes;
  const directoryBytesWanted = Math.ceil(wholeBytes / BYTES_PER_ENTRY / WAYS) * bucketBytes;
  const segmentCount = Math.floor((wholeBytes - directoryAt - directoryBytesWanted) / segmentBytes);
  const arenaAt = wholeBytes - segmentCount * segmentBytes;
  // What is left beside whole segments goes to the directory.
  const bucketCount = Math.floor((arenaAt - directoryAt) / bucketBytes);
  const segmentUnits = segmentBytes / UNIT_BYTES;
  const slotUnitsMax = segmentUnits / 2;
  return {
    regionBytes: wholeBytes,
    cellCount,
    cellsWord: HEADER_BYTES / WORD_BYTES,
    bucketCount,
    directoryWord: directoryAt / WORD_BYTES,
    directoryEndWord: directoryAt / WORD_BYTES + bucketCount * BUCKET_WORDS,
    arenaUnit: arenaAt / UNIT_BYTES,
    segmentCount,
    segmentUnits,
    slotUnitsMax,
    bodyBytesMax: slotUnitsMax * UNIT_BYTES - SLOT_HEADER_BYTES,
  };
}

/** No slot: the region's header lies there. */
export const NO_SLOT = 0 as SlotUnit;
/** No entry. */
export const NO_ENTRY = -1 as EntryWord;

/** Word index of a slot's header. */
export function slotWord(slotUnit: SlotUnit): number {
  return slotUnit * UNIT_WORDS;
}

/** Units of a slot that holds a body of so many bytes. */
export function slotUnitsFor(bodyBytes: number): number {
  return Math.ceil((SLOT_HEADER_BYTES + bodyBytes) / UNIT_BYTES);
}

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}

function powerOfTwoBelow(value: number): number {
  return 2 ** Math.floor(Math.log2(value));
}

assert.equal(SLOT_ENTRY + 1, SLOT_HEADER_WORDS);
assert.equal(SLOT_HEADER_BYTES % UNIT_BYTES, 0);
assert(geometryOf(REGION_BYTES_MIN).segmentCount >= 4);
assert(
  geometryOf(REGION_BYTES_DEFAULT).directoryEndWord * WORD_BYTES <=
    geometryOf(REGION_BYTES_DEFAULT).arenaUnit * UNIT_BYTES,
);
