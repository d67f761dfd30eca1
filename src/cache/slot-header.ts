/**
 * What a slot's header says of its body: written once, at reservation, by the writer's thread, and compared at every
 * hit. `slotUnit`: the slot's place in units from the region's start. Pure functions on the region's memory.
 */
import { compareIdAt } from '../domain/ids.js';
import type { BodyIdentity } from '../domain/ports.js';
import type { NameAt } from './floors.js';
import {
  KEY_MESSAGE,
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
  UNIT_BYTES,
  UNIT_WORDS,
  WORD_BYTES,
} from './layout.js';
import type { MessageKey } from './message-key.js';
import type { Region } from './region.js';

/** Writes all but state, size and the key's cell. `key` holds the identity's name and coordinates. */
export function writeSlotHeader(
  region: Region,
  slotUnit: number,
  identity: BodyIdentity,
  key: MessageKey,
): void {
  const { words } = region;
  const word = slotUnit * UNIT_WORDS;
  words.set(key.words, word + SLOT_KEY);
  region.bytes.set(identity.revision, revisionAt(slotUnit));
  // An Int32Array keeps the low 32 bits as they are; versions are signed 64-bit.
  words[word + SLOT_VERSION_HI] = Number(identity.summaryVersion >> 32n);
  words[word + SLOT_VERSION_LO] = Number(identity.summaryVersion & 0xffff_ffffn);
  words[word + SLOT_BODY_BYTES] = identity.bodyBytes;
  words[word + SLOT_BLOCK_A_BYTES] = identity.blockABytes;
  words[word + SLOT_CODE] = identity.code;
  words[word + SLOT_HASH_HI] = key.hashHi;
  words[word + SLOT_HASH_LO] = key.hashLo;
  words[word + SLOT_ENTRY] = 0;
}

/** Byte offset of the 16 bytes of revision. */
export function revisionAt(slotUnit: number): number {
  return slotUnit * UNIT_BYTES + SLOT_REVISION * WORD_BYTES;
}

/** The version of the reaction summary, from a header that starts at `word`. */
export function summaryVersionAt(words: Int32Array, word: number): bigint {
  const low = BigInt((words[word + SLOT_VERSION_LO] as number) >>> 0);
  return (BigInt(words[word + SLOT_VERSION_HI] as number) << 32n) | low;
}

/** The message's name where it lies in a header. */
export function messageNameAt(region: Region, slotUnit: number): NameAt {
  const keyAt = slotUnit * UNIT_BYTES + SLOT_KEY * WORD_BYTES;
  return {
    hash: region.words[slotUnit * UNIT_WORDS + SLOT_HASH_LO] as number,
    tenantBytes: region.bytes,
    tenantAt: keyAt,
    messageBytes: region.bytes,
    messageAt: keyAt + KEY_MESSAGE * WORD_BYTES,
  };
}

/** Whether block A of a slot is that of an identity: same revision, result and length. Name and key are compared elsewhere. */
export function hasBlockAOf(region: Region, slotUnit: number, identity: BodyIdentity): boolean {
  const { words } = region;
  const word = slotUnit * UNIT_WORDS;
  return (
    words[word + SLOT_CODE] === identity.code &&
    words[word + SLOT_BLOCK_A_BYTES] === identity.blockABytes &&
    compareIdAt(region.bytes, revisionAt(slotUnit), identity.revision, 0) === 0
  );
}

/** How two bodies of one message compare: in their revisions and in their summary versions (negative, 0 or positive). */
export function compareRevisions(region: Region, slotUnit: number, otherUnit: number): number {
  return compareIdAt(region.bytes, revisionAt(slotUnit), region.bytes, revisionAt(otherUnit));
}

/** As compareRevisions, for the summary versions; no bigint is made. */
export function compareVersions(region: Region, slotUnit: number, otherUnit: number): number {
  const { words } = region;
  const word = slotUnit * UNIT_WORDS;
  const other = otherUnit * UNIT_WORDS;
  const high = (words[word + SLOT_VERSION_HI] as number) - (words[other + SLOT_VERSION_HI] as number);
  if (high !== 0) return high;
  return (
    ((words[word + SLOT_VERSION_LO] as number) >>> 0) - ((words[other + SLOT_VERSION_LO] as number) >>> 0)
  );
}
