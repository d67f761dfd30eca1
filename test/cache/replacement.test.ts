import { describe, expect, it } from 'vitest';
import { PublishOutcome } from '../../src/domain/ports.js';
import { ResultCode } from '../../src/domain/result.js';
import {
  activity,
  content,
  get,
  identity,
  LATER_MS,
  message,
  NOW_MS,
  newCache,
  put,
  REGION_BYTES,
  tenant,
} from './cache-fixture.js';
import { checkRegion } from './check-region.js';

const { PUBLISHED, NOT_CACHED } = PublishOutcome;

describe('a body in the place of another', () => {
  it('B18: of a key written a thousand times only the last is there, and the bytes are exact', () => {
    const cache = newCache();
    for (let round = 0; round < 1000; round++) {
      for (const bodyBytes of [1, 60, 1024]) {
        const of = identity(1, { bodyBytes });
        expect(put(cache, of, content(bodyBytes, round))).toBe(PUBLISHED);
      }
      if (round % 100 === 0) checkRegion(cache);
    }
    expect(get(cache, identity(1))).toEqual(content(1024, 999));
    expect(cache.stats()).toMatchObject({ bodies: 1, usedBytes: 1024 + 128, evicted: 0, published: 3000 });
    checkRegion(cache);
  });

  it('B18: an edit to an oversized body leaves nothing of the old one', () => {
    const cache = newCache();
    put(cache, identity(1));
    const oversized = identity(1, {
      bodyBytes: cache.region.geometry.bodyBytesMax + 1,
      revision: activity(2),
    });
    expect(cache.reserve(oversized)).toBeUndefined();
    cache.remove(oversized.tenantId, oversized.messageId);
    expect(get(cache, identity(1))).toBeUndefined();
    expect(cache.stats()).toMatchObject({ bodies: 0, usedBytes: 0, removed: 1 });
    checkRegion(cache);
  });

  it('may be newer in revision, in summary version, or equal', () => {
    const cache = newCache();
    put(cache, identity(1), content(100, 1));
    for (const [revision, summaryVersion] of [
      [1, 5n],
      [2, 5n],
      [2, 5n],
      [3, 2n ** 62n],
    ] as const) {
      const of = identity(1, { revision: activity(revision), summaryVersion });
      expect(put(cache, of, content(100, revision))).toBe(PUBLISHED);
      expect(get(cache, of)).toEqual(content(100, revision));
    }
  });

  it('B16: is never older than it: a read that was overtaken is not cached', () => {
    const cache = newCache();
    put(cache, identity(1, { revision: activity(2), summaryVersion: 7n }), content(100, 2));
    expect(put(cache, identity(1, { revision: activity(1), summaryVersion: 7n }))).toBe(NOT_CACHED);
    expect(put(cache, identity(1, { revision: activity(2), summaryVersion: 6n }))).toBe(NOT_CACHED);
    expect(get(cache, identity(1))).toEqual(content(100, 2));
    checkRegion(cache);
  });

  it('is neither of the two when each is newer in one respect', () => {
    const cache = newCache();
    put(cache, identity(1, { revision: activity(2), summaryVersion: 7n }));
    expect(put(cache, identity(1, { revision: activity(3), summaryVersion: 6n }))).toBe(NOT_CACHED);
    expect(get(cache, identity(1))).toBeUndefined();
    checkRegion(cache);
  });

  it('may be older than one that has expired', () => {
    const cache = newCache();
    put(cache, identity(1, { revision: activity(2) }), undefined, NOW_MS + 1);
    expect(put(cache, identity(1), content(100, 4), LATER_MS, NOW_MS + 1)).toBe(PUBLISHED);
    expect(get(cache, identity(1), NOW_MS + 1)).toEqual(content(100, 4));
    checkRegion(cache);
  });

  it('may be that of other coordinates: the message has moved, so it is found there only', () => {
    const cache = newCache();
    put(cache, identity(1, { revision: activity(9) }));
    const moved = identity(1, { seq: 77n });
    expect(put(cache, moved)).toBe(PUBLISHED);
    expect(get(cache, identity(1))).toBeUndefined();
    expect(get(cache, moved)).toBeDefined();
    expect(cache.stats().bodies).toBe(1);
  });
});

describe('block A alone', () => {
  const of = identity(1, { bodyBytes: 100, blockABytes: 70, summaryVersion: 1n });

  it('is copied for the same revision, key and length, whatever the summary', () => {
    const cache = newCache();
    put(cache, of, content(100, 8));
    const target = new Uint8Array(80);
    const changed = { ...of, summaryVersion: 2n, bodyBytes: 90 };
    expect(cache.copyBlockA(changed, target, 5, NOW_MS)).toBe(true);
    expect(target.subarray(5, 75)).toEqual(content(100, 8).subarray(0, 70));
    expect(target.subarray(75)).toEqual(new Uint8Array(5));
  });

  it('is copied into the slot that takes its place', () => {
    const cache = newCache();
    put(cache, of, content(100, 8));
    const changed = { ...of, summaryVersion: 2n, bodyBytes: 90 };
    const slot = cache.reserve(changed);
    if (slot === undefined) throw new Error('a slot');
    expect(cache.copyBlockA(changed, slot.bytes, slot.at, NOW_MS)).toBe(true);
    cache.publish(slot, LATER_MS, NOW_MS);
    expect(get(cache, changed)?.subarray(0, 70)).toEqual(content(100, 8).subarray(0, 70));
    checkRegion(cache);
  });

  it.each([
    ['another revision', { revision: activity(2) }],
    ['another key', { dekId: { scope: 'conversation', id: '0', version: 2 } }],
    ['no key', { dekId: undefined }],
    ['another result', { code: ResultCode.RECALLED }],
    ['another length', { blockABytes: 69 }],
    ['other coordinates', { seq: 2n }],
    ['another tenant', { tenantId: tenant(2) }],
    ['another message', { messageId: message(2) }],
  ])('is not copied for %s', (_, difference) => {
    const cache = newCache();
    put(cache, of);
    const target = new Uint8Array(100);
    expect(cache.copyBlockA({ ...of, ...difference }, target, 0, NOW_MS)).toBe(false);
    expect(target).toEqual(new Uint8Array(100));
  });

  it('is not copied once the body has expired', () => {
    const cache = newCache();
    put(cache, of);
    expect(cache.copyBlockA(of, new Uint8Array(100), 0, LATER_MS)).toBe(false);
  });
});

describe('a full cache', () => {
  it('keeps bodies that are used and lets the others go', () => {
    const cache = newCache();
    put(cache, identity(1));
    for (let number = 2; number < 3000; number++) {
      put(cache, identity(number));
      expect(get(cache, identity(1))).toBeDefined();
    }
    expect(get(cache, identity(2))).toBeUndefined();
    expect(cache.stats().bodies).toBeGreaterThan((REGION_BYTES / 228) * 0.4);
    checkRegion(cache);
  });

  it('makes room also when every body is used', () => {
    const cache = newCache();
    for (let number = 0; number < 3000; number++) {
      expect(put(cache, identity(number))).toBe(PUBLISHED);
      for (let recent = Math.max(0, number - 400); recent <= number; recent += 7)
        get(cache, identity(recent));
    }
    checkRegion(cache);
  });

  it('reuses the bytes of removed bodies before it evicts any', () => {
    const cache = newCache();
    let count = 0;
    while (cache.stats().evicted === 0) put(cache, identity(count++));
    const { evicted } = cache.stats();
    for (let number = 0; number < count; number++) cache.remove(tenant(1), message(number));
    expect(cache.stats().bodies).toBe(0);
    for (let number = 0; number < count - 60; number++) put(cache, identity(5000 + number));
    expect(cache.stats().evicted).toBe(evicted);
    checkRegion(cache);
  });
});
