/**
 * A published body under a new reaction summary, made of its own bytes: block A is copied, the payload is not opened
 * again (design: "A body is block A || block B"). All in one call of the writer's thread, so no reservation is seen by
 * anyone: the new slot takes over the old one's name, coordinates, revision, key generation and expiry.
 *
 * Nothing happens (false) where there is no body to rewrite, where it has that version or a later one, or where no
 * slot can be had; what then lies below the version is for the caller to drop.
 */
import type { ActivityId } from '../domain/ids.js';
import type { BodyIdentity } from '../domain/ports.js';
import {
  NO_ENTRY,
  NO_SLOT,
  SLOT_BLOCK_A_BYTES,
  SLOT_CELL,
  SLOT_CELL_GENERATION,
  SLOT_CODE,
  SLOT_DEK_HI,
  SLOT_DEK_LO,
  SLOT_HEADER_BYTES,
  slotUnitsFor,
  slotWord,
  UNIT_BYTES,
} from './layout.js';
import type { MessageKey } from './message-key.js';
import type { PublishedBodies } from './published-bodies.js';
import type { Region } from './region.js';
import { revisionAt, summaryVersionAt, writeSlotHeader } from './slot-header.js';

/** Of the header, what does not follow from an identity: the key that sealed the body, and its generation. */
const SEAL_WORDS = [SLOT_CELL, SLOT_CELL_GENERATION, SLOT_DEK_HI, SLOT_DEK_LO];
const REVISION_BYTES = 16;

/** `key`: the message's name and coordinates, as `where` has them. */
export function rewriteSummary(
  region: Region,
  bodies: PublishedBodies,
  key: MessageKey,
  where: Pick<BodyIdentity, 'tenantId' | 'conversationId' | 'seq' | 'messageId'>,
  summaryVersion: bigint,
  blockB: Uint8Array,
): boolean {
  const { words, bytes } = region;
  const oldest = bodies.findForUse(key);
  if (oldest === NO_SLOT || summaryVersionAt(words, slotWord(oldest)) >= summaryVersion) return false;
  const blockABytes = words[slotWord(oldest) + SLOT_BLOCK_A_BYTES] as number;
  const bodyBytes = blockABytes + blockB.length;
  const units = slotUnitsFor(bodyBytes);
  const slotUnit = units > region.geometry.slotUnitsMax ? NO_SLOT : bodies.segments.allocate(units);
  if (slotUnit === NO_SLOT) return false;
  // Making room may have moved the body, or let it go.
  const entry = bodies.entryOf(key);
  const from = entry === NO_ENTRY ? NO_SLOT : bodies.slotUnitOf(entry);
  if (from === NO_SLOT) {
    bodies.segments.free(slotUnit);
    return false;
  }
  const revision = bytes.slice(revisionAt(from), revisionAt(from) + REVISION_BYTES);
  const identity: BodyIdentity = {
    ...where,
    // The 16 bytes that a slot holds as its revision.
    revision: revision as ActivityId,
    summaryVersion,
    code: words[slotWord(from) + SLOT_CODE] as number,
    blockABytes,
    bodyBytes,
    dekId: undefined,
  };
  writeSlotHeader(region, slotUnit, identity, key);
  for (const word of SEAL_WORDS) words[slotWord(slotUnit) + word] = words[slotWord(from) + word] as number;
  const at = slotUnit * UNIT_BYTES + SLOT_HEADER_BYTES;
  const fromAt = from * UNIT_BYTES + SLOT_HEADER_BYTES;
  bytes.copyWithin(at, fromAt, fromAt + blockABytes);
  bytes.set(blockB, at + blockABytes);
  bodies.enter(key, entry, slotUnit, bodyBytes, bodies.expiresAtMs(entry));
  return true;
}
