/** Small caches and bodies for the tests of src/cache: ids from numbers, content from a seed byte. */
import { RegionBodyCache, type RegionBodyCacheOptions } from '../../src/cache/body-cache.js';
import { Region } from '../../src/cache/region.js';
import {
  type ActivityId,
  activityIdOf,
  type ConversationId,
  conversationIdOf,
  type MessageId,
  messageIdOf,
  type TenantId,
  tenantIdOf,
} from '../../src/domain/ids.js';
import { type BodyIdentity, type MessageAt, NO_BODY, PublishOutcome } from '../../src/domain/ports.js';
import { ResultCode } from '../../src/domain/result.js';

export const REGION_BYTES = 64 * 1024;
/** A lease that no test outlives unless it means to. */
const LEASE_MS = 1_000_000;
export const NOW_MS = 5_000;
export const LATER_MS = NOW_MS + 60_000;

/** A region whose hashes are the same in every run. */
export function newCache(options: RegionBodyCacheOptions & { regionBytes?: number } = {}): RegionBodyCache {
  const { regionBytes = REGION_BYTES, ...rest } = options;
  const region = Region.create({ regionBytes, nowMs: NOW_MS, random: [7, 0x1234567, 0x7654321] });
  return new RegionBodyCache(region, NOW_MS, { leaseMs: LEASE_MS, ...rest });
}

function idBytes(kind: number, number: number): Uint8Array {
  const bytes = new Uint8Array(16);
  bytes[0] = kind;
  new DataView(bytes.buffer).setUint32(12, number);
  return bytes;
}

export function tenant(number: number): TenantId {
  return present(tenantIdOf(idBytes(0xa0, number)));
}
export function conversation(number: number): ConversationId {
  return present(conversationIdOf(idBytes(0xc0, number)));
}
export function message(number: number): MessageId {
  return present(messageIdOf(idBytes(0x00, number)));
}
export function activity(number: number): ActivityId {
  return present(activityIdOf(idBytes(0x01, number)));
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('an id of 16 bytes');
  return value;
}

/** The identity of message `number`; everything that is not overridden follows from the number. */
export function identity(number: number, overrides: Partial<BodyIdentity> = {}): BodyIdentity {
  const bodyBytes = overrides.bodyBytes ?? 100;
  return {
    tenantId: tenant(1),
    conversationId: conversation(number >> 4),
    seq: BigInt(number),
    messageId: message(number),
    revision: activity(1),
    summaryVersion: 0n,
    code: ResultCode.OK,
    blockABytes: bodyBytes,
    bodyBytes,
    dekId: { scope: 'conversation', id: String(number >> 4), version: 1 },
    ...overrides,
  };
}

/** The reference that finds an identity, at odd offsets of a buffer as a request has them. */
export function reference(of: BodyIdentity): MessageAt {
  const bytes = new Uint8Array(48);
  bytes.set(of.conversationId, 3);
  bytes.set(of.messageId, 21);
  return {
    tenantId: of.tenantId,
    bytes,
    conversationAt: 3,
    messageAt: 21,
    seqHi: Number(of.seq >> 32n),
    seqLo: Number(of.seq & 0xffff_ffffn),
  };
}

/** Content that differs by seed in every byte. */
export function content(bodyBytes: number, seed: number): Uint8Array {
  return Uint8Array.from({ length: bodyBytes }, (_, index) => (seed * 31 + index * 7 + 1) & 0xff);
}

/** Reserves, fills and publishes; undefined when no slot was to be had. A refused slot is released. */
export function put(
  cache: RegionBodyCache,
  of: BodyIdentity,
  body = content(of.bodyBytes, Number(of.seq & 0xffn)),
  expiresAtMs = LATER_MS,
  nowMs = NOW_MS,
): PublishOutcome | undefined {
  const slot = cache.reserve(of);
  if (slot === undefined) return undefined;
  slot.bytes.set(body, slot.at);
  const outcome = cache.publish(slot, expiresAtMs, nowMs);
  if (outcome !== PublishOutcome.PUBLISHED) cache.release(slot);
  return outcome;
}

/** The body that a look-up finds, or undefined. */
export function get(cache: RegionBodyCache, of: BodyIdentity, nowMs = NOW_MS): Uint8Array | undefined {
  const handle = cache.find(reference(of), nowMs);
  if (handle === NO_BODY) return undefined;
  const target = new Uint8Array(cache.bodyBytes(handle) + 5);
  cache.copyBody(handle, target, 3);
  return target.subarray(3, target.length - 2);
}

/** How often a run of bytes occurs anywhere in the region. */
export function occurrences(cache: RegionBodyCache, canary: Uint8Array): number {
  const region = Buffer.from(cache.region.buffer);
  let count = 0;
  for (let at = region.indexOf(canary); at >= 0; at = region.indexOf(canary, at + 1)) count++;
  return count;
}
