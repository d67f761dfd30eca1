// A cached body under a later reaction summary, from its own bytes.
import { expect, it } from 'vitest';
import { NO_BODY } from '../../src/domain/ports.js';
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
  reference,
} from './cache-fixture.js';
import { checkRegion } from './check-region.js';

const A_BYTES = 100;
const before = identity(1, { blockABytes: A_BYTES, bodyBytes: A_BYTES + 20, summaryVersion: 3n });
const blockA = content(A_BYTES, 9);
const body = Buffer.concat([blockA, content(20, 77)]);
const blockB = content(33, 5);

function cached() {
  const cache = newCache();
  put(cache, before, body);
  return cache;
}

it.each([
  ['nothing is cached', identity(2), 9n],
  ['the coordinates are others', { ...before, seq: 2n }, 9n],
  ['its version is not later', before, 3n],
])('nothing happens when %s', (_, of, version) => {
  const cache = cached();
  expect(cache.replaceSummary(of, of.messageId, version, blockB, NOW_MS)).toBe(false);
  expect(get(cache, before)).toEqual(new Uint8Array(body));
  checkRegion(cache);
});

it('nothing happens when it has expired, and when it would be larger than a slot may be', () => {
  const cache = cached();
  const huge = new Uint8Array(cache.region.geometry.bodyBytesMax);
  expect(cache.replaceSummary(before, before.messageId, 9n, huge, NOW_MS)).toBe(false);
  expect(get(cache, before)).toEqual(new Uint8Array(body));
  expect(cache.replaceSummary(before, before.messageId, 9n, blockB, LATER_MS)).toBe(false);
  expect(get(cache, before, LATER_MS)).toBeUndefined();
  checkRegion(cache);
});

it('the body has block A and the new block B, the later version, and its former revision and expiry', () => {
  const cache = cached();
  expect(cache.replaceSummary(before, before.messageId, 9n, blockB, NOW_MS)).toBe(true);
  expect(get(cache, before)).toEqual(new Uint8Array(Buffer.concat([blockA, blockB])));
  const handle = cache.find(reference(before), NOW_MS);
  expect(cache.meetsFloor(handle, activity(1), 0, 9n)).toBe(true);
  expect(cache.meetsFloor(handle, activity(2), 0, 0n)).toBe(false);
  expect(cache.meetsFloor(handle, activity(1), 0, 10n)).toBe(false);
  expect(cache.codeOf(handle)).toBe(before.code);
  expect(get(cache, before, LATER_MS - 1)).toBeDefined();
  expect(cache.find(reference(before), LATER_MS)).toBe(NO_BODY);
  expect(cache.stats()).toMatchObject({ reserved: 0, published: 1 });
  checkRegion(cache);
});

it('the former bytes are zeroed, and the key that sealed the body still takes it', () => {
  const cache = cached();
  cache.replaceSummary(before, before.messageId, 9n, blockB, NOW_MS);
  expect(occurrences(cache, blockA)).toBe(1);
  if (before.dekId === undefined) throw new Error('it has a key');
  expect(cache.destroyKey(before.dekId)).toBe(1);
  expect(occurrences(cache, blockA)).toBe(0);
  checkRegion(cache);
});

it('in a full cache it finds room, or leaves things consistent, whatever it has to reclaim', () => {
  const cache = newCache();
  for (let number = 0; number < 2_000; number++) {
    const of = identity(number, { blockABytes: A_BYTES, bodyBytes: A_BYTES, messageId: message(number) });
    put(cache, of, content(A_BYTES, number));
    const target = identity(number >> 1, { blockABytes: A_BYTES, bodyBytes: A_BYTES });
    cache.replaceSummary(target, target.messageId, BigInt(number + 1), content(50, number), NOW_MS);
    const found = get(cache, target);
    if (found !== undefined) expect(found.subarray(0, A_BYTES)).toEqual(content(A_BYTES, number >> 1));
    if (number % 100 === 0) checkRegion(cache);
  }
  checkRegion(cache);
});
