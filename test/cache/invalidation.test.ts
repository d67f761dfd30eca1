import { describe, expect, it } from 'vitest';
import { type BodyIdentity, type Floor, PublishOutcome } from '../../src/domain/ports.js';
import {
  activity,
  content,
  get,
  identity,
  LATER_MS,
  message,
  NOW_MS,
  newCache,
  occurrences,
  put,
  tenant,
} from './cache-fixture.js';
import { checkRegion } from './check-region.js';

const { PUBLISHED, NOT_CACHED, KEY_CHANGED } = PublishOutcome;
const CANARY = new TextEncoder().encode('canary-7f3a91-canary');

/** A body with the canary in the middle. */
function canaryBody(bodyBytes = 100): Uint8Array {
  const body = content(bodyBytes, 1);
  body.set(CANARY, 40);
  return body;
}

function dekOf(of: BodyIdentity) {
  if (of.dekId === undefined) throw new Error('a sealed body');
  return of.dekId;
}

function floor(number: number | undefined, summaryVersion = 0n): Floor {
  return { activityId: number === undefined ? undefined : activity(number), summaryVersion };
}

describe('dropped bytes are zeroed', () => {
  const of = identity(1);
  it.each([
    ['remove', (cache: ReturnType<typeof newCache>) => cache.remove(of.tenantId, of.messageId)],
    ['clear', (cache: ReturnType<typeof newCache>) => cache.clear()],
    ['retire', (cache: ReturnType<typeof newCache>) => cache.retire()],
    ['destroyKey', (cache: ReturnType<typeof newCache>) => cache.destroyKey(dekOf(of))],
    [
      'raiseFloor',
      (cache: ReturnType<typeof newCache>) => cache.raiseFloor(of.tenantId, of.messageId, floor(2), NOW_MS),
    ],
    ['expiry', (cache: ReturnType<typeof newCache>) => get(cache, of, LATER_MS)],
    ['replacement', (cache: ReturnType<typeof newCache>) => put(cache, of, content(100, 2))],
  ])('by %s', (_, drop) => {
    const cache = newCache();
    put(cache, identity(2));
    put(cache, of, canaryBody());
    put(cache, identity(3));
    expect(occurrences(cache, CANARY)).toBe(1);
    drop(cache);
    expect(occurrences(cache, CANARY)).toBe(0);
    checkRegion(cache);
  });

  it('by release', () => {
    const cache = newCache();
    const slot = cache.reserve(of);
    if (slot === undefined) throw new Error('a slot');
    slot.bytes.set(canaryBody(), slot.at);
    cache.reserve(identity(2));
    expect(occurrences(cache, CANARY)).toBe(1);
    cache.release(slot);
    expect(occurrences(cache, CANARY)).toBe(0);
    checkRegion(cache);
  });

  it('by clear, all around slots that are reserved, which are left alone', () => {
    const cache = newCache();
    const kept = [];
    for (let number = 0; number < 150; number++) {
      put(cache, identity(number), canaryBody());
      if (number % 40 !== 5) continue;
      const slot = cache.reserve(identity(1000 + number));
      if (slot === undefined) throw new Error('a slot');
      slot.bytes.set(content(100, number), slot.at);
      kept.push({ slot, number });
    }
    cache.clear();
    expect(occurrences(cache, CANARY)).toBe(0);
    expect(cache.stats()).toMatchObject({ bodies: 0, usedBytes: 0, reserved: 4 });
    checkRegion(cache);
    for (const { slot, number } of kept) {
      expect(slot.bytes.slice(slot.at, slot.at + 100)).toEqual(content(100, number));
      cache.release(slot);
    }
    for (let number = 0; number < 500; number++) put(cache, identity(number));
    checkRegion(cache);
  });

  it('by eviction', () => {
    const cache = newCache();
    for (let number = 10; number < 40; number++) put(cache, identity(number), canaryBody());
    expect(occurrences(cache, CANARY)).toBe(30);
    for (let number = 1000; number < 2000; number++) put(cache, identity(number));
    expect(occurrences(cache, CANARY)).toBe(0);
    checkRegion(cache);
  });
});

describe('B37: a destroyed key', () => {
  it('takes every body that it sealed, and no other', () => {
    const cache = newCache({ regionBytes: 1024 * 1024 });
    for (let number = 0; number < 400; number++) put(cache, identity(number));
    const dekId = dekOf(identity(160));
    expect(cache.destroyKey(dekId)).toBe(16);
    for (let number = 0; number < 400; number++) {
      expect(get(cache, identity(number)) === undefined).toBe(number >= 160 && number < 176);
    }
    expect(cache.stats()).toMatchObject({ bodies: 384, removed: 16, evicted: 0 });
    checkRegion(cache);
  });

  it('leaves the bodies and reservations of keys in the same generation cell alone', () => {
    const cache = newCache();
    const keys = cache.region.geometry.cellCount * 4;
    const reserved = [];
    for (let number = 0; number < keys; number++) {
      const dekId = { scope: 's', id: String(number), version: 1 };
      if (number < 50) put(cache, identity(number, { dekId }));
      else {
        const slot = cache.reserve(identity(number, { dekId, bodyBytes: 1 }));
        if (slot !== undefined) reserved.push(slot);
      }
    }
    const destroyed = { scope: 's', id: '7', version: 1 };
    expect(cache.destroyKey(destroyed)).toBe(1);
    for (let number = 0; number < 50; number++) {
      expect(get(cache, identity(number)) === undefined).toBe(number === 7);
    }
    expect(reserved.length).toBeGreaterThan(150);
    for (const slot of reserved) expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(PUBLISHED);
    checkRegion(cache);
  });

  it('does not touch bodies without a key', () => {
    const cache = newCache();
    put(cache, identity(1, { dekId: undefined }));
    expect(cache.destroyKey({ scope: '', id: '', version: 0 })).toBe(0);
    expect(get(cache, identity(1, { dekId: undefined }))).toBeDefined();
  });

  it('tells scope, id and version apart', () => {
    const cache = newCache();
    put(cache, identity(1, { dekId: { scope: 'ab', id: 'c', version: 1 } }));
    expect(cache.destroyKey({ scope: 'a', id: 'bc', version: 1 })).toBe(0);
    expect(cache.destroyKey({ scope: 'ab', id: 'c', version: 2 })).toBe(0);
    expect(cache.destroyKey({ scope: 'ab', id: 'c', version: 1 })).toBe(1);
  });

  it('may be destroyed again, and before anything of it was cached', () => {
    const cache = newCache();
    const dekId = dekOf(identity(1));
    expect(cache.destroyKey(dekId)).toBe(0);
    put(cache, identity(1));
    expect(cache.destroyKey(dekId)).toBe(1);
    expect(cache.destroyKey(dekId)).toBe(0);
    checkRegion(cache);
  });

  it('comes before a floor and a removal in what a publication is told', () => {
    const cache = newCache();
    const of = identity(1);
    const slot = cache.reserve(of);
    if (slot === undefined) throw new Error('a slot');
    cache.remove(of.tenantId, of.messageId);
    cache.destroyKey(dekOf(of));
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(KEY_CHANGED);
  });
});

describe('an installed floor', () => {
  it('drops what lies below it, in revision or in summary version, and nothing else', () => {
    for (const raised of [floor(6), floor(undefined, 10n), floor(5, 10n)]) {
      const cache = newCache();
      const of = identity(1, { revision: activity(5), summaryVersion: 9n });
      put(cache, of);
      put(cache, identity(2));
      cache.raiseFloor(of.tenantId, of.messageId, raised, NOW_MS);
      expect(get(cache, of)).toBeUndefined();
      expect(get(cache, identity(2))).toBeDefined();
      checkRegion(cache);
    }
  });

  it('leaves a body at or above it', () => {
    const cache = newCache();
    const of = identity(1, { revision: activity(5), summaryVersion: 9n });
    put(cache, of);
    cache.raiseFloor(of.tenantId, of.messageId, floor(5, 9n), NOW_MS);
    expect(get(cache, of)).toBeDefined();
  });

  it('keeps a body below it from being published, also one that was reserved before', () => {
    const cache = newCache();
    const of = identity(1, { revision: activity(5) });
    const slot = cache.reserve(of);
    if (slot === undefined) throw new Error('a slot');
    cache.raiseFloor(of.tenantId, of.messageId, floor(6), NOW_MS);
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(NOT_CACHED);
    expect(cache.floorOf(of.tenantId, of.messageId)).toMatchObject(floor(6));
    cache.release(slot);
    expect(put(cache, identity(1, { revision: activity(6) }))).toBe(PUBLISHED);
  });

  it('is the message’s of this tenant only', () => {
    const cache = newCache();
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS);
    expect(cache.floorOf(tenant(2), message(1))).toBeUndefined();
    expect(put(cache, identity(1, { tenantId: tenant(2) }))).toBe(PUBLISHED);
  });

  it('goes at its age after a body at or above it is published: what was read before may still come', () => {
    const cache = newCache({ floorAgeMsMax: 1000 });
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS, 50_000);
    put(cache, identity(1, { revision: activity(7) }));
    cache.clear();
    expect(put(cache, identity(1, { revision: activity(5) }))).toBe(NOT_CACHED);
    cache.renewLease(NOW_MS + 1000);
    expect(cache.floorOf(tenant(1), message(1))).toBeUndefined();
    expect(cache.stats().floors).toBe(0);
  });

  it('does not go when the body’s summary is still below', () => {
    const cache = newCache();
    cache.raiseFloor(tenant(1), message(1), floor(6, 3n), NOW_MS);
    expect(put(cache, identity(1, { revision: activity(7), summaryVersion: 2n }))).toBe(NOT_CACHED);
    expect(cache.stats().floors).toBe(1);
  });

  it('goes at its age, with the lease’s renewal as its clock', () => {
    const cache = newCache({ floorAgeMsMax: 1000 });
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS);
    cache.renewLease(NOW_MS + 999);
    expect(cache.floorOf(tenant(1), message(1))).toBeDefined();
    cache.renewLease(NOW_MS + 1000);
    expect(cache.floorOf(tenant(1), message(1))).toBeUndefined();
  });

  it('survives clear()', () => {
    const cache = newCache();
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS);
    cache.clear();
    expect(put(cache, identity(1))).toBe(NOT_CACHED);
  });
});

describe('a full floor table', () => {
  it('pauses caching: nothing is reserved or published, hits go on', () => {
    const cache = newCache({ floorsMax: 2 });
    put(cache, identity(9));
    const slot = cache.reserve(identity(8));
    if (slot === undefined) throw new Error('a slot');
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS);
    expect(cache.stats().paused).toBe(false);
    cache.raiseFloor(tenant(1), message(2), floor(6), NOW_MS);
    expect(cache.stats().paused).toBe(true);
    expect(cache.reserve(identity(7))).toBeUndefined();
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(NOT_CACHED);
    expect(get(cache, identity(9))).toBeDefined();
  });

  it('drops what lies below a floor that it has no room for, and pauses until that floor’s age', () => {
    const cache = newCache({ floorsMax: 1, floorAgeMsMax: 1000 });
    put(cache, identity(2));
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS);
    cache.raiseFloor(tenant(1), message(2), floor(6), NOW_MS + 500);
    expect(get(cache, identity(2))).toBeUndefined();
    cache.renewLease(NOW_MS + 1499);
    expect(cache.stats()).toMatchObject({ floors: 0, paused: true });
    expect(cache.reserve(identity(2))).toBeUndefined();
    cache.renewLease(NOW_MS + 1500);
    expect(cache.stats().paused).toBe(false);
    expect(put(cache, identity(2), undefined, LATER_MS, NOW_MS + 1500)).toBe(PUBLISHED);
  });

  it('resumes when a floor has reached its age and none was lost', () => {
    const cache = newCache({ floorsMax: 1, floorAgeMsMax: 1000 });
    cache.raiseFloor(tenant(1), message(1), floor(6), NOW_MS);
    expect(cache.stats()).toMatchObject({ floors: 1, paused: true });
    cache.renewLease(NOW_MS + 1000);
    expect(cache.stats()).toMatchObject({ floors: 0, paused: false });
  });
});
