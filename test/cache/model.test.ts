/**
 * The cache against an obvious model: what is published, in a Map. A hit must be exactly the model's body; a miss is
 * allowed for anything (a cache may forget) except that what was just published is there. The structure is checked as a whole.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RegionBodyCache } from '../../src/cache/body-cache.js';
import { type BodyIdentity, type BodySlot, PublishOutcome } from '../../src/domain/ports.js';
import { activity, content, get, identity, NOW_MS, newCache, tenant } from './cache-fixture.js';
import { checkRegion } from './check-region.js';

const MESSAGES = 60;
const DEKS = 4;

interface Held {
  readonly identity: BodyIdentity;
  readonly body: Uint8Array;
  readonly expiresAtMs: number;
}

interface Pending {
  readonly identity: BodyIdentity;
  readonly body: Uint8Array;
  readonly slot: BodySlot;
  /** Removed, or its key destroyed, since it was reserved. */
  isStale: boolean;
}

/** The world as it should be. */
class Model {
  nowMs = NOW_MS;
  readonly held = new Map<number, Held>();
  readonly floors = new Map<number, { revision: number; version: bigint }>();
  pending: Pending[] = [];
}

type Step = (cache: RegionBodyCache, model: Model) => void;

const numbers = fc.nat({ max: MESSAGES - 1 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(numbers, fc.nat({ max: 3 }), fc.nat({ max: 3 }), sizes()).map(reserveStep),
  },
  { weight: 6, arbitrary: fc.tuple(fc.nat(), fc.integer({ min: -5, max: 400 })).map(publishStep) },
  { weight: 1, arbitrary: fc.nat().map(releaseStep) },
  {
    weight: 8,
    arbitrary: numbers.map(
      (number): Step =>
        (cache, model) =>
          expectExact(cache, model, number),
    ),
  },
  { weight: 1, arbitrary: numbers.map(removeStep) },
  { weight: 1, arbitrary: fc.tuple(numbers, fc.nat({ max: 4 }), fc.nat({ max: 4 })).map(floorStep) },
  { weight: 1, arbitrary: fc.nat({ max: DEKS - 1 }).map(destroyStep) },
  { weight: 2, arbitrary: fc.nat({ max: 100 }).map(waitStep) },
);

function sizes(): fc.Arbitrary<number> {
  return fc.oneof(
    fc.nat({ max: 64 }),
    fc.nat({ max: 1500 }),
    fc.constantFrom(0, 1, 15, 16, 17, 3967, 3968, 3969),
  );
}

function dekId(index: number) {
  return { scope: 'model', id: String(index), version: 1 };
}

function identityOf(number: number, revision = 0, version = 0, bodyBytes = 0): BodyIdentity {
  return identity(number, {
    tenantId: tenant(number % 2),
    revision: activity(revision),
    summaryVersion: BigInt(version),
    bodyBytes,
    blockABytes: bodyBytes,
    dekId: dekId(number % DEKS),
  });
}

function reserveStep([number, revision, version, bodyBytes]: [number, number, number, number]): Step {
  return (cache, model) => {
    const of = identityOf(number, revision, version, bodyBytes);
    const slot = cache.reserve(of);
    if (slot === undefined) return;
    const body = content(bodyBytes, number * 16 + revision * 4 + version);
    slot.bytes.set(body, slot.at);
    model.pending.push({ identity: of, body, slot, isStale: false });
  };
}

function publishStep([pick, lifeMs]: [number, number]): Step {
  return (cache, model) => {
    const [pending] = model.pending.splice(pick % Math.max(1, model.pending.length), 1);
    if (pending === undefined) return;
    const number = Number(pending.identity.seq);
    const expiresAtMs = model.nowMs + lifeMs;
    const outcome = cache.publish(pending.slot, expiresAtMs, model.nowMs);
    const revision = pending.identity.revision[15] as number;
    const floor = model.floors.get(number);
    const isBelow =
      floor !== undefined && (revision < floor.revision || pending.identity.summaryVersion < floor.version);
    if (outcome !== PublishOutcome.PUBLISHED) {
      cache.release(pending.slot);
      // A body that was newer in one respect only may have taken the held one with it.
      if (get(cache, pending.identity, model.nowMs) === undefined) model.held.delete(number);
      return;
    }
    expect(pending.isStale || isBelow || lifeMs <= 0).toBe(false);
    model.held.set(number, { identity: pending.identity, body: pending.body, expiresAtMs });
    if (floor !== undefined) model.floors.delete(number);
    expect(get(cache, pending.identity, model.nowMs)).toEqual(pending.body);
  };
}

function releaseStep(pick: number): Step {
  return (cache, model) => {
    const [pending] = model.pending.splice(pick % Math.max(1, model.pending.length), 1);
    if (pending !== undefined) cache.release(pending.slot);
  };
}

function waitStep(ms: number): Step {
  return (_, model) => {
    model.nowMs += ms;
  };
}

function removeStep(number: number): Step {
  return (cache, model) => {
    const of = identityOf(number);
    cache.remove(of.tenantId, of.messageId);
    model.held.delete(number);
    for (const pending of model.pending) if (Number(pending.identity.seq) === number) pending.isStale = true;
  };
}

function floorStep([number, revision, version]: [number, number, number]): Step {
  return (cache, model) => {
    const of = identityOf(number);
    const floor = { activityId: activity(revision), summaryVersion: BigInt(version) };
    cache.raiseFloor(of.tenantId, of.messageId, floor, model.nowMs);
    const known = model.floors.get(number);
    model.floors.set(number, {
      revision: Math.max(known?.revision ?? 0, revision),
      version: BigInt(Math.max(Number(known?.version ?? 0n), version)),
    });
    const held = model.held.get(number)?.identity;
    if (held && ((held.revision[15] as number) < revision || held.summaryVersion < BigInt(version))) {
      model.held.delete(number);
    }
  };
}

function destroyStep(index: number): Step {
  return (cache, model) => {
    cache.destroyKey(dekId(index));
    for (const number of [...model.held.keys()]) if (number % DEKS === index) model.held.delete(number);
    for (const pending of model.pending) {
      if (Number(pending.identity.seq) % DEKS === index) pending.isStale = true;
    }
  };
}

/** A hit is the model's body, byte for byte; nothing is found that the model does not hold, or that has expired. */
function expectExact(cache: RegionBodyCache, model: Model, number: number): void {
  const found = get(cache, identityOf(number), model.nowMs);
  const stranger = get(cache, { ...identityOf(number), tenantId: tenant(1 - (number % 2)) }, model.nowMs);
  expect(stranger).toBeUndefined();
  if (found === undefined) return;
  const held = model.held.get(number);
  expect(held).toBeDefined();
  expect(found).toEqual(held?.body);
  expect(held?.expiresAtMs).toBeGreaterThan(model.nowMs);
}

it('a hit is always the model’s body, whatever was reserved, published, removed, raised, destroyed or expired before', () => {
  fc.assert(
    fc.property(fc.array(steps, { minLength: 50, maxLength: 400, size: 'max' }), (sequence) => {
      const cache = newCache({ floorAgeMsMax: 1_000_000 });
      const model = new Model();
      for (const step of sequence) step(cache, model);
      checkRegion(cache);
      for (let number = 0; number < MESSAGES; number++) expectExact(cache, model, number);
      for (const { slot } of model.pending) cache.release(slot);
      checkRegion(cache);
      cache.clear();
      expect(cache.stats()).toMatchObject({ bodies: 0, usedBytes: 0, reserved: 0 });
      checkRegion(cache);
    }),
    { numRuns: 25 },
  );
});
