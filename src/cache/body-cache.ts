/**
 * The node's shared LRU of encoded bodies on a region: the port BodyCache (R4.3 steps 2 and 5).
 *
 * One writer: everything here runs on the main thread, synchronously. A handle is a slot's place in units; it is valid
 * until the next call that can move or drop bodies (reserve, publish, remove, raiseFloor, destroyKey, clear).
 * What a hit never is: of another tenant, at other coordinates, expired, below a floor, under a destroyed key. Each is
 * kept out where it arises and, floors apart, compared again at the hit. Bytes that are dropped are zeroed at once.
 * Where there is no room it refuses (reserve → undefined); it throws for bugs only.
 */
import { isBelow } from '../domain/floor.js';
import { compareIdAt, type MessageId, type TenantId } from '../domain/ids.js';
import { FLOOR_AGE_MS_MAX_DEFAULT, FLOORS_MAX, REGION_LEASE_MS_DEFAULT } from '../domain/limits.js';
import type { Coordinates, DekId } from '../domain/message.js';
import {
  type BodyCache,
  type BodyCacheStats,
  type BodyHandle,
  type BodyIdentity,
  type BodySlot,
  type Floor,
  type MessageAt,
  NO_BODY,
  PublishOutcome,
} from '../domain/ports.js';
import { BodyCopier } from './body-copier.js';
import { Floors, type NameAt } from './floors.js';
import {
  NO_ENTRY,
  NO_SLOT,
  SLOT_BODY_BYTES,
  SLOT_CODE,
  SLOT_HEADER_WORDS,
  type SlotUnit,
  slotUnitsFor,
  slotWord,
} from './layout.js';
import { MessageKey } from './message-key.js';
import { PublishedBodies } from './published-bodies.js';
import type { Region } from './region.js';
import { Reservations } from './reservations.js';
import type { Segments } from './segments.js';
import { hasBlockAOf, messageNameAt, revisionAt, summaryVersionAt, writeSlotHeader } from './slot-header.js';
import { rewriteSummary } from './summary-rewrite.js';

export interface RegionBodyCacheOptions {
  readonly floorsMax?: number;
  readonly floorAgeMsMax?: number;
  /** How long readers in other threads may go on after renewLease(). */
  readonly leaseMs?: number;
}

export class RegionBodyCache implements BodyCache {
  readonly region: Region;
  readonly #words: Int32Array;
  readonly #bodies: PublishedBodies;
  readonly #reservations: Reservations;
  readonly #floors: Floors;
  readonly #copier: BodyCopier;
  readonly #key: MessageKey;
  readonly #leaseMs: number;
  #hits = 0;
  #misses = 0;
  #published = 0;
  #refused = 0;
  #keysDestroyed = 0;

  /** Takes over a region that Region.create has just made, and grants its first lease. */
  constructor(region: Region, nowMs: number, options: RegionBodyCacheOptions = {}) {
    this.region = region;
    this.#words = region.words;
    this.#bodies = new PublishedBodies(region, nowMs);
    this.#reservations = new Reservations(region);
    this.#floors = new Floors(
      options.floorsMax ?? FLOORS_MAX,
      options.floorAgeMsMax ?? FLOOR_AGE_MS_MAX_DEFAULT,
    );
    this.#copier = new BodyCopier(region);
    this.#key = new MessageKey(region.seedHi, region.seedLo);
    this.#leaseMs = options.leaseMs ?? REGION_LEASE_MS_DEFAULT;
    this.renewLease(nowMs);
  }

  // ---------------------------------------------------------------- look-up

  hash(at: MessageAt): number {
    this.#key.readReferenceName(at);
    return this.#key.hashLo;
  }

  find(at: MessageAt, nowMs: number): BodyHandle {
    this.#bodies.nowMs = nowMs;
    this.#key.readReference(at);
    const slotUnit = this.#bodies.findForUse(this.#key);
    if (slotUnit === NO_SLOT) {
      this.#misses++;
      return NO_BODY;
    }
    this.#hits++;
    return slotUnit;
  }

  bodyBytes(body: BodyHandle): number {
    return this.#words[slotWord(unitOf(body)) + SLOT_BODY_BYTES] as number;
  }

  codeOf(body: BodyHandle): number {
    return this.#words[slotWord(unitOf(body)) + SLOT_CODE] as number;
  }

  meetsFloor(body: BodyHandle, floorBytes: Uint8Array, floorAt: number, summaryVersion: bigint): boolean {
    if (floorAt >= 0 && compareIdAt(this.region.bytes, revisionAt(unitOf(body)), floorBytes, floorAt) < 0)
      return false;
    return summaryVersion <= 0n || summaryVersionAt(this.#words, slotWord(unitOf(body))) >= summaryVersion;
  }

  copyBody(body: BodyHandle, target: Uint8Array, targetAt: number): void {
    this.#copy(unitOf(body), this.bodyBytes(body), target, targetAt);
  }

  copyBlockA(identity: BodyIdentity, target: Uint8Array, targetAt: number, nowMs: number): boolean {
    this.#bodies.nowMs = nowMs;
    this.#readIdentity(identity);
    const slotUnit = this.#bodies.findForUse(this.#key);
    if (slotUnit === NO_SLOT) return false;
    this.#bodies.cells.read(identity.dekId);
    if (!this.#bodies.cells.sealed(slotUnit) || !hasBlockAOf(this.region, slotUnit, identity)) return false;
    this.#copy(slotUnit, identity.blockABytes, target, targetAt);
    return true;
  }

  // ---------------------------------------------------------------- filling

  reserve(identity: BodyIdentity): BodySlot | undefined {
    const units = slotUnitsFor(identity.bodyBytes);
    const isRefused = units > this.region.geometry.slotUnitsMax || this.#floors.paused;
    const slotUnit = isRefused ? NO_SLOT : this.#bodies.segments.allocate(units);
    if (slotUnit === NO_SLOT) {
      this.#refused++;
      return undefined;
    }
    this.#readIdentity(identity);
    writeSlotHeader(this.region, slotUnit, identity, this.#key);
    this.#bodies.cells.read(identity.dekId);
    this.#bodies.cells.stamp(slotUnit);
    return this.#reservations.add(slotUnit, identity.bodyBytes);
  }

  publish(slot: BodySlot, expiresAtMs: number, nowMs: number): PublishOutcome {
    const reservation = this.#reservations.openOf(slot);
    const { slotUnit } = reservation;
    this.#bodies.nowMs = nowMs;
    this.#floors.sweep(nowMs);
    if (!this.#bodies.cells.isCurrent(slotUnit)) return this.#refuse(PublishOutcome.KEY_CHANGED);
    if (reservation.cancelled || this.#floors.paused || !(expiresAtMs > nowMs)) {
      return this.#refuse(PublishOutcome.NOT_CACHED);
    }
    const name = this.#floors.size === 0 ? undefined : messageNameAt(this.region, slotUnit);
    const floor = name === undefined ? undefined : this.#floors.floorOf(name);
    if (floor !== undefined && this.#liesBelow(floor, slotUnit))
      return this.#refuse(PublishOutcome.NOT_CACHED);
    this.#key.readSlot(this.#words, slotWord(slotUnit));
    const held = this.#bodies.entryOf(this.#key);
    if (!this.#bodies.admits(this.#key, held, slotUnit)) return this.#refuse(PublishOutcome.NOT_CACHED);
    this.#reservations.settle(reservation);
    this.#bodies.enter(this.#key, held, slotUnit, reservation.bodyBytes, expiresAtMs);
    this.#published++;
    if (name !== undefined && floor !== undefined) this.#floors.settle(name);
    return PublishOutcome.PUBLISHED;
  }

  release(slot: BodySlot): void {
    const reservation = this.#reservations.openOf(slot);
    this.#reservations.settle(reservation);
    this.#bodies.segments.free(reservation.slotUnit);
  }

  // ---------------------------------------------------------------- invalidation

  remove(tenantId: TenantId, messageId: MessageId): void {
    this.#key.readName(tenantId, messageId);
    this.#reservations.cancel(this.#key);
    const entry = this.#bodies.entryOf(this.#key);
    if (entry !== NO_ENTRY) this.#bodies.remove(entry);
  }

  raiseFloor(tenantId: TenantId, messageId: MessageId, floor: Floor, nowMs: number, ageMsMin = 0): void {
    this.#bodies.nowMs = nowMs;
    this.#floors.raise(this.#nameOf(tenantId, messageId), floor, nowMs, ageMsMin);
    const entry = this.#bodies.entryOf(this.#key);
    if (entry !== NO_ENTRY && this.#liesBelow(floor, this.#bodies.slotUnitOf(entry)))
      this.#bodies.remove(entry);
  }

  replaceSummary(
    where: Coordinates,
    messageId: MessageId,
    summaryVersion: bigint,
    blockB: Uint8Array,
    nowMs: number,
  ): boolean {
    if (this.#floors.paused) return false;
    this.#bodies.nowMs = nowMs;
    this.#key.readName(where.tenantId, messageId);
    this.#key.readCoordinates(where.conversationId, where.seq);
    const { tenantId, conversationId, seq } = where;
    const named = { tenantId, conversationId, seq, messageId };
    return rewriteSummary(this.region, this.#bodies, this.#key, named, summaryVersion, blockB);
  }

  floorOf(tenantId: TenantId, messageId: MessageId): Floor | undefined {
    return this.#floors.size === 0 ? undefined : this.#floors.floorOf(this.#nameOf(tenantId, messageId));
  }

  /**
   * Published bodies of the key are gone and zeroed when this returns. A slot that is reserved for one is its flight's,
   * and a worker may be writing into it: its publication fails with KEY_CHANGED, and its release zeroes it.
   */
  destroyKey(dekId: DekId): number {
    this.#keysDestroyed++;
    const { cells } = this.#bodies;
    cells.read(dekId);
    cells.raise();
    for (const { slotUnit } of this.#reservations.all()) {
      if (cells.cellOf(slotUnit) === cells.cell && !cells.sealed(slotUnit)) cells.stampAnew(slotUnit);
    }
    return this.#bodies.removeSealed();
  }

  get keysDestroyed(): number {
    return this.#keysDestroyed;
  }

  /** Floors stay: they are about what may come, not about what is here. */
  clear(): void {
    for (const reservation of this.#reservations.all()) reservation.cancelled = true;
    this.#bodies.removeAll();
  }

  // ---------------------------------------------------------------- the writer's life

  /**
   * The writer's sign of life, to be given several times per lease, and only while what invalidates the cache is not
   * too far behind.
   */
  renewLease(nowMs: number): void {
    this.tend(nowMs);
    this.region.grantLease(nowMs + this.#leaseMs);
  }

  /** Lets old floors go (their clock while nothing is published) and the buffers of the last batch. */
  tend(nowMs: number): void {
    this.#bodies.nowMs = nowMs;
    this.#floors.sweep(nowMs);
    this.#copier.forget();
    this.#key.forget();
  }

  /** The end: readers take nothing from the region any more, and its bodies are zeroed. */
  retire(): void {
    this.region.retire();
    this.clear();
  }

  stats(): BodyCacheStats {
    const bodies = this.#bodies;
    return {
      regionBytes: this.region.geometry.regionBytes,
      usedBytes: bodies.usedBytes,
      bodies: bodies.count,
      reserved: this.#reservations.size,
      hits: this.#hits,
      misses: this.#misses,
      published: this.#published,
      evicted: bodies.evicted,
      expired: bodies.expired,
      removed: bodies.removed,
      refused: this.#refused,
      floors: this.#floors.size,
      paused: this.#floors.paused,
    };
  }

  /** The arena's accounts, for the whole-structure check and the bench. */
  get segments(): Segments {
    return this.#bodies.segments;
  }

  // ---------------------------------------------------------------- inside

  #copy(slotUnit: SlotUnit, lengthBytes: number, target: Uint8Array, targetAt: number): void {
    this.#copier.copy(slotWord(slotUnit) + SLOT_HEADER_WORDS, lengthBytes, target, targetAt);
  }

  #readIdentity(identity: BodyIdentity): void {
    this.#key.readName(identity.tenantId, identity.messageId);
    this.#key.readCoordinates(identity.conversationId, identity.seq);
  }

  /** The name of a message, also left in the key. */
  #nameOf(tenantId: TenantId, messageId: MessageId): NameAt {
    this.#key.readName(tenantId, messageId);
    const hash = this.#key.hashLo;
    return { hash, tenantBytes: tenantId, tenantAt: 0, messageBytes: messageId, messageAt: 0 };
  }

  #refuse(outcome: PublishOutcome): PublishOutcome {
    this.#refused++;
    return outcome;
  }

  #liesBelow(floor: Floor, slotUnit: SlotUnit): boolean {
    const word = slotWord(slotUnit);
    const code = this.#words[word + SLOT_CODE] as number;
    return isBelow(floor, this.region.bytes, revisionAt(slotUnit), summaryVersionAt(this.#words, word), code);
  }
}

/** A handle is the place of a slot; only find() makes them. */
function unitOf(body: BodyHandle): SlotUnit {
  return body as SlotUnit;
}
