/**
 * From the rows of one group to encoded bodies: each body's size is known before its payload is opened, so its slot is
 * reserved exactly, its fields are written in place with the sealed payload as the last one, and one job opens them all.
 *
 *     judge ─▶ result without a body (NOT_FOUND, MISMATCH, ERASED, TAMPERED, UNAVAILABLE)
 *       └────▶ draft: slot + fields ─▶ [needs opening] ─▶ open in place ─▶ ready | TAMPERED
 *
 * The row keeps the sealed bytes until the drafts are settled, so a worker that dies costs a repeat, not a read.
 * Every draft ends published or given up, by its owner (group-fetch.ts).
 */
import { strict as assert } from 'node:assert';
import { blockABytes, blockBBytes, writeBlockA, writeBlockB } from '../codec/body.js';
import {
  envelopeOverhead,
  nonceBytes,
  payloadPlaintextBytes,
  TAG_BYTES,
  writeAad,
} from '../domain/envelope.js';
import { type ActivityId, compareIdAt, ID_BYTES } from '../domain/ids.js';
import { PAYLOAD_BYTES_MAX } from '../domain/limits.js';
import {
  type DekId,
  dekKey,
  effectiveState,
  type MessageRecord,
  MessageState,
  type ReactionSummary,
} from '../domain/message.js';
import {
  OPEN_ITEM_AAD_AT,
  OPEN_ITEM_BYTES,
  OPEN_ITEM_NONCE_AT,
  OPEN_ITEM_TAG_AT,
  type OpenJob,
  writeOpenItem,
} from '../domain/open-job.js';
import {
  type BodyCache,
  type BodyIdentity,
  type BodySlot,
  PublishOutcome,
  type Unwrapped,
} from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import type { BodySource } from './batch.js';
import type { Flight } from './flights.js';

const NO_REVISION = new Uint8Array(ID_BYTES) as ActivityId;

/** A body being made for one flight. */
export class Draft implements BodySource {
  readonly flight: Flight;
  readonly identity: BodyIdentity;
  readonly slot: BodySlot;
  /** What remains of the row's life when it was read; undefined = no TTL. */
  readonly ttlSeconds: number | undefined;
  /** The envelope and where its plaintext belongs; undefined when nothing has to be opened. */
  readonly sealed: Uint8Array | undefined;
  readonly payloadAt: number;
  /** The slot is in the region and still this draft's. */
  private holdsSlot: boolean;

  constructor(
    flight: Flight,
    identity: BodyIdentity,
    slot: BodySlot,
    ttlSeconds: number | undefined,
    sealed: Uint8Array | undefined,
    payloadAt: number,
  ) {
    this.flight = flight;
    this.identity = identity;
    this.slot = slot;
    this.ttlSeconds = ttlSeconds;
    this.sealed = sealed;
    this.payloadAt = payloadAt;
    this.holdsSlot = slot.shared;
  }

  get code(): number {
    return this.identity.code;
  }

  get bodyBytes(): number {
    return this.identity.bodyBytes;
  }

  get dekId(): DekId | undefined {
    return this.identity.dekId;
  }

  meetsFloor(floorBytes: Uint8Array, floorAt: number, summaryVersion: bigint): boolean {
    if (summaryVersion > 0n && this.identity.summaryVersion < summaryVersion) return false;
    return floorAt < 0 || compareIdAt(this.identity.revision, 0, floorBytes, floorAt) >= 0;
  }

  copyTo(target: Uint8Array, at: number): void {
    target.set(this.slot.bytes.subarray(this.slot.at, this.slot.at + this.slot.bodyBytes), at);
  }

  /**
   * How long after its read the body may be cached. A store counts TTLs by the boundaries of its clock's seconds, so
   * of N seconds only more than N − 1 are certain to be left: a cached body never outlives its row.
   */
  lifeMs(ageMsMax: number): number {
    return this.ttlSeconds === undefined ? ageMsMax : Math.min(ageMsMax, (this.ttlSeconds - 1) * 1000);
  }

  /** Makes the body visible in the cache. Unless it is PUBLISHED the slot stays the draft's, and readable. */
  publish(cache: BodyCache, expiresAtMs: number, nowMs: number): PublishOutcome {
    if (!this.holdsSlot) return PublishOutcome.NOT_CACHED;
    const outcome = cache.publish(this.slot, expiresAtMs, nowMs);
    if (outcome === PublishOutcome.PUBLISHED) this.holdsSlot = false;
    return outcome;
  }

  /** Gives the slot up unseen, unless it was published. Repeatable. */
  giveUp(cache: BodyCache): void {
    if (!this.holdsSlot) return;
    this.holdsSlot = false;
    cache.release(this.slot);
  }

  /** Puts the ciphertext where the plaintext shall be; again when a worker died over it. */
  placeCiphertext(): void {
    const { sealed } = this;
    assert(sealed !== undefined);
    const from = 1 + nonceBytes(sealed[0] as number);
    this.slot.bytes.set(sealed.subarray(from, sealed.length - TAG_BYTES), this.payloadAt);
  }
}

/** Whether a row has content that its reader may see (D12). */
export function hasContent(record: MessageRecord): boolean {
  const state = effectiveState(record);
  return state !== MessageState.RECALLED && state !== MessageState.DELETED;
}

/**
 * The result of a row that yields no body, or OK / RECALLED when it does. `key` is the answer for its DEK, undefined
 * for a row without one.
 */
export function judge(
  flight: Flight,
  record: MessageRecord | undefined,
  key: Unwrapped | undefined,
  allowUnsealed: boolean,
): ResultCode {
  if (record === undefined) return ResultCode.NOT_FOUND;
  if (Buffer.compare(record.messageId, flight.messageId) !== 0) return ResultCode.MISMATCH;
  if (effectiveState(record) === MessageState.DELETED) return ResultCode.NOT_FOUND;
  if (key?.status === 'destroyed') return ResultCode.ERASED;
  if (!hasContent(record)) return ResultCode.RECALLED;
  const { payload } = record;
  if (payload !== undefined) {
    if (record.dekId === undefined && !allowUnsealed) return ResultCode.TAMPERED;
    const payloadBytes = record.dekId === undefined ? payload.length : payloadPlaintextBytes(payload);
    if (payloadBytes < 0 || payloadBytes > PAYLOAD_BYTES_MAX) return ResultCode.TAMPERED;
  }
  // Thumbnail and mentions are content as well: a key that cannot be asked for may have been destroyed (D12).
  return record.dekId === undefined || key?.status === 'ok' ? ResultCode.OK : ResultCode.UNAVAILABLE;
}

/** Reserves a place for a row's body and writes everything but the opened payload. `code`: OK or RECALLED, by judge. */
export function draftBody(
  cache: BodyCache,
  flight: Flight,
  record: MessageRecord,
  summary: ReactionSummary | undefined,
  code: ResultCode,
  nowMs: number,
): Draft {
  const withContent = code === ResultCode.OK;
  const payload = withContent ? record.payload : undefined;
  const isSealed = payload !== undefined && record.dekId !== undefined;
  const payloadBytes =
    payload === undefined ? -1 : isSealed ? payloadPlaintextBytes(payload) : payload.length;
  const aBytes = blockABytes(record, withContent, payloadBytes);
  const identity: BodyIdentity = {
    tenantId: flight.tenantId,
    conversationId: flight.conversationId,
    seq: flight.seq,
    messageId: flight.messageId,
    revision: record.lastActivityId ?? NO_REVISION,
    summaryVersion: summary?.version ?? 0n,
    code,
    blockABytes: aBytes,
    bodyBytes: aBytes + blockBBytes(summary),
    dekId: record.dekId,
  };
  const slot = (flight.detached ? undefined : cache.reserve(identity)) ?? privateSlot(identity.bodyBytes);
  writeBlockB(slot.bytes, slot.at + aBytes, summary);
  // Without a revision (rows of foreign writers) equal lengths prove nothing.
  const mayCopyA = isSealed && record.lastActivityId !== undefined;
  if (mayCopyA && cache.copyBlockA(identity, slot.bytes, slot.at, nowMs)) {
    return new Draft(flight, identity, slot, record.ttlSeconds, undefined, 0);
  }
  const payloadAt = writeBlockA(
    slot.bytes,
    slot.at,
    flight.conversationId,
    record,
    withContent,
    payloadBytes,
  );
  assert.equal(payloadAt + Math.max(0, payloadBytes), slot.at + aBytes, 'block A has exactly its size');
  if (payload === undefined || !isSealed) {
    if (payload !== undefined) slot.bytes.set(payload, payloadAt);
    return new Draft(flight, identity, slot, record.ttlSeconds, undefined, payloadAt);
  }
  const draft = new Draft(flight, identity, slot, record.ttlSeconds, payload, payloadAt);
  draft.placeCiphertext();
  return draft;
}

/** One job that opens all drafts that need it. `keys`: the opened DEK of each by dekKey. */
export function openJobOf(sealedDrafts: readonly Draft[], keys: ReadonlyMap<string, Unwrapped>): OpenJob {
  const items = new Uint8Array(sealedDrafts.length * OPEN_ITEM_BYTES);
  const privateBuffers: SharedArrayBuffer[] = [];
  const keyList: Uint8Array[] = [];
  const keyIndexes = new Map<string, number>();
  let bytes = 0;
  for (let index = 0; index < sealedDrafts.length; index++) {
    const draft = sealedDrafts[index] as Draft;
    const { sealed, slot, flight } = draft;
    const dekId = draft.identity.dekId as DekId;
    assert(sealed !== undefined);
    const suite = sealed[0] as number;
    const lengthBytes = sealed.length - envelopeOverhead(suite);
    let bufferIndex = 0;
    if (!slot.shared) bufferIndex = privateBuffers.push(slot.bytes.buffer as SharedArrayBuffer);
    const keyIndex = indexOfKey(dekId, keys, keyList, keyIndexes);
    const itemAt = writeOpenItem(items, index, draft.payloadAt, lengthBytes, bufferIndex, keyIndex, suite);
    items.set(sealed.subarray(1, 1 + nonceBytes(suite)), itemAt + OPEN_ITEM_NONCE_AT);
    items.set(sealed.subarray(sealed.length - TAG_BYTES), itemAt + OPEN_ITEM_TAG_AT);
    writeAad(
      items,
      itemAt + OPEN_ITEM_AAD_AT,
      flight.tenantId,
      flight.conversationId,
      flight.seq,
      dekId.version,
    );
    bytes += lengthBytes;
  }
  const restore = () => {
    for (const draft of sealedDrafts) draft.placeCiphertext();
  };
  return { items, count: sealedDrafts.length, keys: keyList, privateBuffers, bytes, restore };
}

function indexOfKey(
  dekId: DekId,
  keys: ReadonlyMap<string, Unwrapped>,
  keyList: Uint8Array[],
  keyIndexes: Map<string, number>,
): number {
  const name = dekKey(dekId);
  const known = keyIndexes.get(name);
  if (known !== undefined) return known;
  const key = keys.get(name);
  assert(key?.status === 'ok', 'only rows whose key is open are drafted for opening');
  keyIndexes.set(name, keyList.length);
  return keyList.push(key.key) - 1;
}

/** Memory of the slot's shape outside the region: served once, never cached. */
function privateSlot(bodyBytes: number): BodySlot {
  return { bytes: new Uint8Array(new SharedArrayBuffer(bodyBytes)), at: 0, bodyBytes, shared: false };
}
