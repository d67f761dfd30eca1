/**
 * The fence of conversation_head (D2), the same in both adapters: a head write's timestamp is its epoch and version in
 * one number, so that the store's own last-write-wins keeps an older owner's writes out, whatever the clocks say.
 *
 *     timestamp (63 bits):  fencing_epoch 23 | head_version 40
 *
 * Version 0 is the owner's claim to the epoch and carries no content. The owner of an epoch uses a version once. Two writes at one timestamp are reconciled column by column, as every
 * store of this kind does: the greater value by its bytes stays. So repeating a write changes nothing, and two
 * different writes under one version would leave a mix.
 */
import { strict as assert } from 'node:assert';
import { ID_BYTES, type UserId } from './ids.js';
import type { ConversationHead } from './write-ports.js';

const VERSION_BITS = 40n;
const EPOCH_END = 1n << 23n;
/** An owner's claim to its epoch, without content. */
const CLAIM_VERSION = 0n;
const VERSION_END = 1n << VERSION_BITS;

/** Which owner wrote, and the how-manieth of its writes it is. */
export interface HeadFence {
  /** 0 ≤ epoch < 2^23. */
  readonly fencingEpoch: bigint;
  /** 0 ≤ version < 2^40; 0 is a claim. */
  readonly headVersion: bigint;
}

/** The fence of an owner's claim to an epoch: below all its writes, above all earlier epochs'. */
export function claimOf(fencingEpoch: bigint): HeadFence {
  return { fencingEpoch, headVersion: CLAIM_VERSION };
}

/** The timestamp of a head write (D2). An epoch or version out of its range is a bug of the owner. */
export function headTimestamp(fence: HeadFence): bigint {
  assert(fence.headVersion > CLAIM_VERSION, 'head_version starts at 1 (D2)');
  return fenceTimestamp(fence);
}

/** The timestamp of an owner's claim (D2). */
export function claimTimestamp(fencingEpoch: bigint): bigint {
  return fenceTimestamp(claimOf(fencingEpoch));
}

function fenceTimestamp({ fencingEpoch, headVersion }: HeadFence): bigint {
  assert(fencingEpoch >= 0n && fencingEpoch < EPOCH_END, 'fencing_epoch does not fit its 23 bits (D2)');
  assert(headVersion >= 0n && headVersion < VERSION_END, 'head_version does not fit its 40 bits (D2)');
  return (fencingEpoch << VERSION_BITS) | headVersion;
}

/** True when a head that was read back carries a later write or claim than this one: its owner was superseded (D2). */
export function isSuperseded(head: ConversationHead | undefined, fence: HeadFence): boolean {
  if (head?.fencingEpoch === undefined || head.headVersion === undefined) return false;
  const { fencingEpoch, headVersion } = head;
  return fenceTimestamp({ fencingEpoch, headVersion }) > fenceTimestamp(fence);
}

/** True while the owner of the head's epoch has claimed it, and has not written under it yet (D2). */
export function isClaimed(head: ConversationHead | undefined): boolean {
  return head?.headVersion === CLAIM_VERSION;
}

// A head without a sender or a preview must not keep its predecessor's, and a null would be a tombstone (D18): so
// "none" is written as a value, and read as undefined.
const NO_SENDER = new Uint8Array(ID_BYTES);
const NO_PREVIEW = new Uint8Array(0);

/** last_sender_id as it is stored: 16 zero bytes stand for "none". */
export function storedSender(sender: UserId | undefined): Uint8Array {
  return sender ?? NO_SENDER;
}

/** What a stored last_sender_id means. */
export function senderOf(stored: UserId | undefined): UserId | undefined {
  return stored?.some((byte) => byte !== 0) ? stored : undefined;
}

/** preview_or_placeholder as it is stored: no bytes stand for "none". */
export function storedPreview(preview: Uint8Array | undefined): Uint8Array {
  return preview ?? NO_PREVIEW;
}

/** What a stored preview_or_placeholder means. */
export function previewOf(stored: Uint8Array | undefined): Uint8Array | undefined {
  return stored === undefined || stored.length === 0 ? undefined : stored;
}
