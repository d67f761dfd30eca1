/**
 * What a slot's header says of its body: written once, at reservation, by the writer's thread, and compared at every
 * hit. `slotUnit`: the slot's place in units from the region's start. Pure functions on the region's memory.
 */
import { compareIdAt } from '../domain/ids.js';
import type { BodyIdentity } from '../domain/ports.js';
import type { NameAt } from './floors.js';
import {
  KEY_MESSAGE,
  KEY_WORDS,
  SLOT_BLOCK_A_BYTES,
  SLOT_BODY_BYTES,
  SLOT_CODE,
  SLOT_ENTRY,
  SLOT_HASH_HI,
  SLOT_HASH_LO,
  SLOT_KEY,
  SLOT_REVISION,
  SLOT_VERSION_HI,
  SLOT_VERSION_LO,
  type SlotUnit,
  slotWord,
  UNIT_BYTES,
  WORD_BYTES,
} from './layout.js';
import { type MessageKey, wordOf } from './message-key.js';
import type { Region } from './region.js';

/** Splits 64-bit numbers into words without making bigints. */
const split64 = new BigInt64Array(1);
const split32 = new Int32Array(split64.buffer);

/** Writes all but state, size and the key's cell. `key` holds the identity's name and coordinates. */
export function writeSlotHeader(
  region: Region,
  slotUnit: SlotUnit,
  identity: BodyIdentity,
  key: MessageKey,
): void {
  const { words } = region;
  const word = slotWord(slotUnit);
  for (let i = 0; i < KEY_WORDS; i++) words[word + SLOT_KEY + i] = key.words[i] as number;
  const { revision } = identity;
  for (let i = 0; i < 4; i++) words[word + SLOT_REVISION + i] = wordOf(revision, i * WORD_BYTES);
  split64[0] = identity.summaryVersion;
  words[word + SLOT_VERSION_HI] = split32[1] as number;
  words[word + SLOT_VERSION_LO] = split32[0] as number;
  words[word + SLOT_BODY_BYTES] = identity.bodyBytes;
  words[word + SLOT_BLOCK_A_BYTES] = identity.blockABytes;
  words[word + SLOT_CODE] = identity.code;
  words[word + SLOT_HASH_HI] = key.hashHi;
  words[word + SLOT_HASH_LO] = key.hashLo;
  words[word + SLOT_ENTRY] = 0;
}

/** Byte offset of the 16 bytes of revision. */
export function revisionAt(slotUnit: SlotUnit): number {
  return slotUnit * UNIT_BYTES + SLOT_REVISION * WORD_BYTES;
}

/** The version of the reaction summary, from a header that starts at `word`. */
export function summaryVersionAt(words: Int32Array, word: number): bigint {
  const low = BigInt((words[word + SLOT_VERSION_LO] as number) >>> 0);
  return (BigInt(words[word + SLOT_VERSION_HI] as number) << 32n) | low;
}

/** The message's name where it lies in a header. */
export function messageNameAt(region: Region, slotUnit: SlotUnit): NameAt {
  const keyAt = slotUnit * UNIT_BYTES + SLOT_KEY * WORD_BYTES;
  return {
    hash: region.words[slotWord(slotUnit) + SLOT_HASH_LO] as number,
    tenantBytes: region.bytes,
    tenantAt: keyAt,
    messageBytes: region.bytes,
    messageAt: keyAt + KEY_MESSAGE * WORD_BYTES,
  };
}

/** Whether block A of a slot is that of an identity: same revision, result and length. Name and key are compared elsewhere. */
export function hasBlockAOf(region: Region, slotUnit: SlotUnit, identity: BodyIdentity): boolean {
  const { words } = region;
  const word = slotWord(slotUnit);
  return (
    words[word + SLOT_CODE] === identity.code &&
    words[word + SLOT_BLOCK_A_BYTES] === identity.blockABytes &&
    compareIdAt(region.bytes, revisionAt(slotUnit), identity.revision, 0) === 0
  );
}

/** How two bodies of one message compare: in their revisions and in their summary versions (negative, 0 or positive). */
export function compareRevisions(region: Region, slotUnit: SlotUnit, otherUnit: SlotUnit): number {
  return compareIdAt(region.bytes, revisionAt(slotUnit), region.bytes, revisionAt(otherUnit));
}

/** As compareRevisions, for the summary versions; no bigint is made. */
export function compareVersions(region: Region, slotUnit: SlotUnit, otherUnit: SlotUnit): number {
  const { words } = region;
  const word = slotWord(slotUnit);
  const other = slotWord(otherUnit);
  const high = (words[word + SLOT_VERSION_HI] as number) - (words[other + SLOT_VERSION_HI] as number);
  if (high !== 0) return high;
  return (
    ((words[word + SLOT_VERSION_LO] as number) >>> 0) - ((words[other + SLOT_VERSION_LO] as number) >>> 0)
  );
}
