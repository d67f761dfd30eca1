import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import type { RegionBodyCache } from '../../src/cache/body-cache.js';
import {
  ENTRY_SEQUENCE,
  ENTRY_SLOT,
  ENTRY_WORDS,
  SLOT_CELL,
  SLOT_ENTRY,
  UNIT_WORDS,
} from '../../src/cache/layout.js';
import { READ_MISS, READ_NO_ROOM, RegionReader } from '../../src/cache/reader.js';
import { Region } from '../../src/cache/region.js';
import { type BodyIdentity, NO_BODY } from '../../src/domain/ports.js';
import { ResultCode } from '../../src/domain/result.js';
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

function readerOf(cache: RegionBodyCache): RegionReader {
  return new RegionReader(Region.attach(cache.region.descriptor));
}

function read(reader: RegionReader, of: BodyIdentity, nowMs = NOW_MS): Uint8Array | undefined {
  const target = new Uint8Array(5000);
  const bytes = reader.read(reference(of), target, 7, nowMs);
  return bytes === READ_MISS ? undefined : target.subarray(7, 7 + bytes);
}

/** The entry of a cached body, as a word index. */
function entryOf(cache: RegionBodyCache, of: BodyIdentity): number {
  const handle = cache.find(reference(of), NOW_MS);
  if (handle === NO_BODY) throw new Error('a cached body');
  return cache.region.words[handle * UNIT_WORDS + SLOT_ENTRY] as number;
}

describe('a reader misses', () => {
  const of = identity(1);

  it('B42: another tenant’s body, and other coordinates', () => {
    const cache = newCache();
    put(cache, of);
    const reader = readerOf(cache);
    expect(read(reader, identity(1, { tenantId: tenant(2) }))).toBeUndefined();
    expect(read(reader, identity(1, { conversationId: conversation(5) }))).toBeUndefined();
    expect(read(reader, identity(1, { seq: 2n }))).toBeUndefined();
    expect(read(reader, of)).toEqual(content(100, 1));
  });

  it('what has expired', () => {
    const cache = newCache();
    put(cache, of, undefined, NOW_MS + 10);
    expect(read(readerOf(cache), of, NOW_MS + 9)).toBeDefined();
    expect(read(readerOf(cache), of, NOW_MS + 10)).toBeUndefined();
  });

  it('everything once the lease has lapsed, until it is renewed', () => {
    const cache = newCache({ leaseMs: 1000 });
    put(cache, of);
    const reader = readerOf(cache);
    expect(read(reader, of, NOW_MS + 900)).toBeDefined();
    expect(read(reader, of, NOW_MS + 1000)).toBeUndefined();
    cache.renewLease(NOW_MS + 1000);
    expect(read(reader, of, NOW_MS + 1000)).toBeDefined();
  });

  it('everything once the region is retired', () => {
    const cache = newCache();
    put(cache, of);
    const reader = readerOf(cache);
    cache.region.retire();
    expect(read(reader, of)).toBeUndefined();
  });

  it('what is removed, under a destroyed key, or reserved only', () => {
    const cache = newCache();
    const reader = readerOf(cache);
    cache.reserve(of);
    expect(read(reader, of)).toBeUndefined();
    put(cache, identity(2));
    cache.remove(tenant(1), identity(2).messageId);
    expect(read(reader, identity(2))).toBeUndefined();
    const sealed = identity(3);
    put(cache, sealed);
    if (sealed.dekId !== undefined) cache.destroyKey(sealed.dekId);
    expect(read(reader, sealed)).toBeUndefined();
  });

  it('everything of a key whose generation was raised, even if the writer died before it zeroed anything', () => {
    const cache = newCache();
    put(cache, of);
    const reader = readerOf(cache);
    const { words, geometry } = cache.region;
    const handle = cache.find(reference(of), NOW_MS);
    const cell = words[handle * UNIT_WORDS + SLOT_CELL] as number;
    Atomics.add(words, geometry.cellsWord + cell, 1);
    expect(read(reader, of)).toBeUndefined();
    expect(get(cache, of)).toBeUndefined();
  });

  it('an entry that its writer left half changed, for ever', () => {
    const cache = newCache();
    put(cache, of);
    const reader = readerOf(cache);
    const at = entryOf(cache, of) + ENTRY_SEQUENCE;
    cache.region.words[at] = (cache.region.words[at] as number) + 1;
    expect(read(reader, of)).toBeUndefined();
  });

  it('whatever an entry says, without leaving the arena or throwing', () => {
    const cache = newCache();
    put(cache, of);
    const reader = readerOf(cache);
    const { words } = cache.region;
    const entry = entryOf(cache, of);
    const whole = words.slice(entry, entry + ENTRY_WORDS);
    for (const field of [ENTRY_SLOT, 6]) {
      for (const value of [-1, 0, 1, 2 ** 31 - 1, -(2 ** 31), cache.region.units - 1, cache.region.units]) {
        words[entry + field] = value;
        expect(read(reader, of)).toBeUndefined();
      }
      words.set(whole, entry);
    }
    expect(read(reader, of)).toBeDefined();
  });
});

describe('a reader', () => {
  it('says what a longer target would have to hold, and copies nothing', () => {
    const cache = newCache();
    put(cache, identity(1));
    const reader = readerOf(cache);
    const target = new Uint8Array(106);
    expect(reader.read(reference(identity(1)), target, 7, NOW_MS)).toBe(READ_NO_ROOM);
    expect(reader.bodyBytes).toBe(100);
    expect(target).toEqual(new Uint8Array(106));
    expect(reader.read(reference(identity(1)), target, 6, NOW_MS)).toBe(100);
  });

  it('tells result and revisions of the body that it read', () => {
    const cache = newCache();
    const of = identity(1, { code: ResultCode.RECALLED, revision: activity(5), summaryVersion: 2n ** 33n });
    put(cache, of);
    const reader = readerOf(cache);
    read(reader, of);
    expect(reader.code).toBe(ResultCode.RECALLED);
    expect(reader.meetsFloor(activity(5), 0, 2n ** 33n)).toBe(true);
    expect(reader.meetsFloor(activity(6), 0, 0n)).toBe(false);
    expect(reader.meetsFloor(activity(6), -1, 2n ** 33n + 1n)).toBe(false);
  });

  it('sets the used mark, so that what only readers use is kept', () => {
    const cache = newCache();
    const reader = readerOf(cache);
    put(cache, identity(1));
    put(cache, identity(2));
    for (let number = 3; number < 1500; number++) {
      put(cache, identity(number));
      expect(read(reader, identity(1))).toBeDefined();
    }
    expect(get(cache, identity(2))).toBeUndefined();
  });

  it('reads bodies of no bytes', () => {
    const cache = newCache();
    put(cache, identity(1, { bodyBytes: 0 }));
    expect(read(readerOf(cache), identity(1))).toEqual(new Uint8Array(0));
  });

  it('in another thread never sees a torn, moved or foreign body while everything is replaced and reclaimed', async () => {
    const cache = newCache();
    const keys = 128;
    const bodyBytesMax = 900;
    const signals = new Int32Array(new SharedArrayBuffer(8));
    const worker = new Worker(new URL('./reader-thread.mjs', import.meta.url), {
      workerData: {
        descriptor: cache.region.descriptor,
        signals,
        keys,
        nowMs: NOW_MS,
        bodyBytesMax,
        tenantId: tenant(1),
      },
    });
    const report = once(worker, 'message');
    await once(worker, 'online');

    const hitsWanted = 20_000;
    const deadlineMs = Date.now() + 20_000;
    let version = 0;
    while ((Atomics.load(signals, 1) < hitsWanted || version < 200) && Date.now() < deadlineMs) {
      version = (version + 1) & 0x7fffffff;
      for (let key = 0; key < keys; key++) churn(cache, key, (version * 7 + key) & 0xff, bodyBytesMax);
      // Lets a thread that shares the core run.
      await new Promise((resolve) => setImmediate(resolve));
    }
    Atomics.store(signals, 0, 1);
    const [{ hits, fault }] = (await report) as [{ hits: number; fault: string | undefined }];
    await worker.terminate();
    expect(fault).toBeUndefined();
    expect(hits).toBeGreaterThan(1000);
    expect(cache.stats().evicted).toBeGreaterThan(0);
    checkRegion(cache);
  });
});

/** Replaces a key's body by that of a version, in the form that reader-thread.mjs judges; sometimes removes it first. */
function churn(cache: RegionBodyCache, key: number, version: number, bodyBytesMax: number): void {
  const bodyBytes = 1 + ((version * 37 + key) % (bodyBytesMax - 1));
  const id = new Uint8Array(16);
  new DataView(id.buffer).setUint32(12, key);
  const base = identity(0);
  const of = {
    ...base,
    conversationId: id as BodyIdentity['conversationId'],
    messageId: id as BodyIdentity['messageId'],
    seq: BigInt(key),
    bodyBytes,
    blockABytes: bodyBytes,
  };
  if (version % 5 === 0) cache.remove(of.tenantId, of.messageId);
  if (version % 3 === 0) get(cache, of);
  const slot = cache.reserve(of);
  if (slot === undefined) throw new Error('a slot');
  slot.bytes[slot.at] = version;
  for (let index = 1; index < bodyBytes; index++) slot.bytes[slot.at + index] = version + key * 5 + index;
  cache.publish(slot, LATER_MS, NOW_MS);
}
