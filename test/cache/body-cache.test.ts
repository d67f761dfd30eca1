import { describe, expect, it } from 'vitest';
import { PublishOutcome } from '../../src/domain/ports.js';
import { ResultCode } from '../../src/domain/result.js';
import { SEQ_MAX } from '../../src/domain/seq.js';
import {
  activity,
  content,
  conversation,
  get,
  identity,
  LATER_MS,
  NOW_MS,
  newCache,
  put,
  reference,
  tenant,
} from './cache-fixture.js';
import { checkRegion } from './check-region.js';

const { PUBLISHED, NOT_CACHED, KEY_CHANGED } = PublishOutcome;

describe('bodies that are refused', () => {
  it('a body of one byte more than a slot may have gets no slot', () => {
    const cache = newCache();
    const bodyBytes = cache.region.geometry.bodyBytesMax + 1;
    expect(cache.reserve(identity(1, { bodyBytes }))).toBeUndefined();
    expect(cache.stats().refused).toBe(1);
  });

  it('B18: a body of 65,537 bytes gets no slot in a region of 64 KiB', () => {
    expect(newCache().reserve(identity(1, { bodyBytes: 65_537 }))).toBeUndefined();
  });

  it('reserved slots in every segment leave no room, and releasing one gives it back', () => {
    const cache = newCache();
    const bodyBytes = cache.region.geometry.bodyBytesMax;
    const slots = [];
    for (let number = 1; ; number++) {
      const slot = cache.reserve(identity(number, { bodyBytes }));
      if (slot === undefined) break;
      slots.push(slot);
    }
    expect(slots.length).toBe(cache.region.geometry.segmentCount * 2);
    checkRegion(cache);
    const [first, second] = slots.splice(0, 2);
    if (first === undefined || second === undefined) throw new Error('two slots');
    cache.release(first);
    expect(cache.reserve(identity(900, { bodyBytes }))).toBeUndefined();
    cache.release(second);
    expect(cache.reserve(identity(900, { bodyBytes }))).toBeDefined();
    checkRegion(cache);
  });

  it('settling a slot twice is a bug and throws', () => {
    const cache = newCache();
    const slot = cache.reserve(identity(1));
    if (slot === undefined) throw new Error('a slot');
    cache.publish(slot, LATER_MS, NOW_MS);
    expect(() => cache.release(slot)).toThrow('settled once');
    expect(() => cache.publish(slot, LATER_MS, NOW_MS)).toThrow('settled once');
  });

  it('a slot of another cache is a bug and throws', () => {
    const slot = newCache().reserve(identity(1));
    if (slot === undefined) throw new Error('a slot');
    expect(() => newCache().release(slot)).toThrow('a slot of this region');
  });

  it('a target without the room throws rather than cutting the body', () => {
    const cache = newCache();
    put(cache, identity(1));
    const handle = cache.find(reference(identity(1)), NOW_MS);
    expect(() => cache.copyBody(handle, new Uint8Array(99), 0)).toThrow(RangeError);
  });
});

describe('a slot until it is published', () => {
  it('is not found', () => {
    const cache = newCache();
    cache.reserve(identity(1));
    expect(get(cache, identity(1))).toBeUndefined();
    checkRegion(cache);
  });

  it('stays readable and its flight’s when publication is refused', () => {
    const cache = newCache();
    const of = identity(1);
    const slot = cache.reserve(of);
    if (slot === undefined) throw new Error('a slot');
    slot.bytes.set(content(100, 9), slot.at);
    expect(cache.publish(slot, NOW_MS, NOW_MS)).toBe(NOT_CACHED);
    expect(slot.bytes.slice(slot.at, slot.at + 100)).toEqual(content(100, 9));
    expect(cache.stats().reserved).toBe(1);
    cache.release(slot);
    expect(cache.stats().reserved).toBe(0);
    checkRegion(cache);
  });

  it('is not published when its message was removed meanwhile', () => {
    const cache = newCache();
    const of = identity(1);
    const slot = cache.reserve(of);
    const other = cache.reserve(identity(2));
    if (slot === undefined || other === undefined) throw new Error('two slots');
    cache.remove(of.tenantId, of.messageId);
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(NOT_CACHED);
    expect(cache.publish(other, LATER_MS, NOW_MS)).toBe(PUBLISHED);
    cache.release(slot);
    expect(put(cache, of)).toBe(PUBLISHED);
    checkRegion(cache);
  });

  it('is not published after clear()', () => {
    const cache = newCache();
    const slot = cache.reserve(identity(1));
    if (slot === undefined) throw new Error('a slot');
    cache.clear();
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(NOT_CACHED);
  });

  it('B37: is not published after its key was destroyed', () => {
    const cache = newCache();
    const of = identity(1);
    const slot = cache.reserve(of);
    if (slot === undefined || of.dekId === undefined) throw new Error('a slot and a key');
    cache.destroyKey(of.dekId);
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(KEY_CHANGED);
    cache.release(slot);
    expect(get(cache, of)).toBeUndefined();
    checkRegion(cache);
  });

  it('stays where it is while the segments around it are reclaimed', () => {
    const cache = newCache();
    const of = identity(1);
    const slot = cache.reserve(of);
    if (slot === undefined) throw new Error('a slot');
    slot.bytes.set(content(100, 77), slot.at);
    for (let number = 2; number < 2000; number++) put(cache, identity(number));
    expect(cache.stats().evicted).toBeGreaterThan(1000);
    expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(PUBLISHED);
    expect(get(cache, of)).toEqual(content(100, 77));
    checkRegion(cache);
  });
});

describe('a hit', () => {
  it('is byte-exact at every body size around the copy’s steps, and at the largest', () => {
    const cache = newCache();
    const { bodyBytesMax } = cache.region.geometry;
    for (const bodyBytes of [
      1,
      2,
      3,
      4,
      5,
      15,
      16,
      17,
      31,
      32,
      33,
      63,
      64,
      65,
      560,
      2047,
      2048,
      2049,
      bodyBytesMax,
    ]) {
      const of = identity(bodyBytes, { bodyBytes });
      expect(put(cache, of, content(bodyBytes, 3))).toBe(PUBLISHED);
      expect(get(cache, of)).toEqual(content(bodyBytes, 3));
      checkRegion(cache);
    }
  });

  it('B20: copies to a target at any offset, whatever its alignment', () => {
    const cache = newCache();
    const of = identity(1, { bodyBytes: 3000 });
    put(cache, of, content(3000, 5));
    const handle = cache.find(reference(of), NOW_MS);
    for (let offset = 0; offset < 17; offset++) {
      const target = new Uint8Array(new SharedArrayBuffer(4096), offset % 8);
      cache.copyBody(handle, target, offset);
      expect(target.slice(offset, offset + 3000)).toEqual(content(3000, 5));
      expect(target.slice(0, offset).every((byte) => byte === 0)).toBe(true);
      expect(target.slice(offset + 3000).every((byte) => byte === 0)).toBe(true);
    }
  });

  it('B18: may be a body of no bytes', () => {
    const cache = newCache();
    const of = identity(1, { bodyBytes: 0 });
    expect(put(cache, of)).toBe(PUBLISHED);
    expect(get(cache, of)).toEqual(new Uint8Array(0));
    checkRegion(cache);
  });

  it('says whether the body is OK or RECALLED', () => {
    const cache = newCache();
    put(cache, identity(1));
    put(cache, identity(2, { code: ResultCode.RECALLED }));
    expect(cache.codeOf(cache.find(reference(identity(1)), NOW_MS))).toBe(ResultCode.OK);
    expect(cache.codeOf(cache.find(reference(identity(2)), NOW_MS))).toBe(ResultCode.RECALLED);
  });

  it('tells bodies by the last byte of their message id apart', () => {
    const cache = newCache();
    for (let number = 256; number < 272; number++) put(cache, identity(number), content(100, number));
    for (let number = 256; number < 272; number++) {
      expect(get(cache, identity(number))).toEqual(content(100, number));
    }
  });

  it('B41: keeps message ids 0, 1 and 0x0f… and byte-swapped tenants apart', () => {
    const cache = newCache();
    const zero = identity(0);
    const one = identity(1);
    const high = identity(2, { messageId: new Uint8Array(16).fill(0x0f) as typeof zero.messageId });
    const swapped = identity(1, { tenantId: tenant(1).slice().reverse() as typeof zero.tenantId });
    [zero, one, high, swapped].forEach((of, index) => {
      put(cache, of, content(100, 50 + index));
    });
    [zero, one, high, swapped].forEach((of, index) => {
      expect(get(cache, of)).toEqual(content(100, 50 + index));
    });
  });

  it('S-2: has the seq in full, up to 2^63 - 1', () => {
    const cache = newCache();
    const seqs = [
      2n ** 53n - 1n,
      2n ** 53n,
      2n ** 53n + 1n,
      2n ** 62n - 1n,
      2n ** 62n,
      SEQ_MAX - 1n,
      SEQ_MAX,
    ];
    seqs.forEach((seq, index) => {
      put(cache, identity(index, { seq }), content(100, index));
    });
    seqs.forEach((seq, index) => {
      expect(get(cache, identity(index, { seq }))).toEqual(content(100, index));
      expect(get(cache, identity(index, { seq: seq ^ 1n }))).toBeUndefined();
      expect(get(cache, identity(index, { seq: seq ^ (1n << 40n) }))).toBeUndefined();
    });
  });
});

describe('a miss', () => {
  it('B42: is what another tenant gets for the same coordinates and message id', () => {
    const cache = newCache();
    put(cache, identity(1));
    expect(get(cache, identity(1, { tenantId: tenant(2) }))).toBeUndefined();
    expect(get(cache, identity(1))).toBeDefined();
  });

  it('is what a reference with other coordinates gets, and the body stays', () => {
    const cache = newCache();
    put(cache, identity(1));
    expect(get(cache, identity(1, { seq: 2n }))).toBeUndefined();
    expect(get(cache, identity(1, { conversationId: conversation(9) }))).toBeUndefined();
    expect(get(cache, identity(1))).toBeDefined();
  });

  it('is what an expired body gives, from its very millisecond on, and it is dropped', () => {
    const cache = newCache();
    put(cache, identity(1), undefined, NOW_MS + 10);
    expect(get(cache, identity(1), NOW_MS + 9)).toBeDefined();
    expect(get(cache, identity(1), NOW_MS + 10)).toBeUndefined();
    expect(cache.stats()).toMatchObject({ bodies: 0, usedBytes: 0, expired: 1 });
    checkRegion(cache);
  });

  it('B12: is what follows a publication that is expired already', () => {
    const cache = newCache();
    for (const expiresAtMs of [NOW_MS, NOW_MS - 1, Number.NaN]) {
      expect(put(cache, identity(1), undefined, expiresAtMs)).toBe(NOT_CACHED);
    }
    expect(get(cache, identity(1))).toBeUndefined();
  });
});

describe('a caller’s floor', () => {
  it('is met by a body at or above it, in revision and in version', () => {
    const cache = newCache();
    const of = identity(1, { revision: activity(5), summaryVersion: 2n ** 40n + 1n });
    put(cache, of);
    const handle = cache.find(reference(of), NOW_MS);
    const floorBytes = (number: number) => Uint8Array.from([9, ...activity(number)]);
    expect(cache.meetsFloor(handle, floorBytes(5), 1, 0n)).toBe(true);
    expect(cache.meetsFloor(handle, floorBytes(6), 1, 0n)).toBe(false);
    expect(cache.meetsFloor(handle, floorBytes(6), -1, 2n ** 40n + 1n)).toBe(true);
    expect(cache.meetsFloor(handle, floorBytes(6), -1, 2n ** 40n + 2n)).toBe(false);
    expect(cache.meetsFloor(handle, floorBytes(4), 1, 2n ** 41n)).toBe(false);
  });
});

describe('the hash', () => {
  it('is of tenant and message id, not of coordinates', () => {
    const cache = newCache();
    const of = reference(identity(1));
    expect(cache.hash(of)).toBe(
      cache.hash(reference(identity(1, { seq: 5n, conversationId: conversation(7) }))),
    );
    expect(cache.hash(of)).not.toBe(cache.hash(reference(identity(2))));
    expect(cache.hash(of)).not.toBe(cache.hash(reference(identity(1, { tenantId: tenant(2) }))));
  });
});
