import { describe, expect, it } from 'vitest';
import { RegionBodyCache } from '../../src/cache/body-cache.js';
import {
  geometryOf,
  HEADER_MAGIC,
  HEADER_VERSION,
  REGION_BYTES_MAX,
  UNIT_BYTES,
  WORD_BYTES,
} from '../../src/cache/layout.js';
import { MessageKey } from '../../src/cache/message-key.js';
import { RegionReader } from '../../src/cache/reader.js';
import { Region } from '../../src/cache/region.js';
import { REGION_BYTES_DEFAULT, REGION_BYTES_MIN } from '../../src/domain/limits.js';
import { type BodyIdentity, PublishOutcome } from '../../src/domain/ports.js';
import { content, get, identity, LATER_MS, NOW_MS, reference, tenant } from './cache-fixture.js';

const REGION_INVALID = expect.objectContaining({ code: 'REGION_INVALID' });

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('Region.create', () => {
  it.each([0, REGION_BYTES_MIN - 1, REGION_BYTES_MAX + 1, Number.NaN, -1])(
    'refuses %d bytes',
    (regionBytes) => {
      expect(thrownBy(() => Region.create({ regionBytes, nowMs: 0 }))).toEqual(REGION_INVALID);
    },
  );

  it('gives every region a generation and seeds of its own', () => {
    const [a, b] = [1, 2].map(() => Region.create({ regionBytes: REGION_BYTES_MIN, nowMs: 0 }));
    expect(a?.generation).not.toBe(b?.generation);
    expect([a?.seedHi, a?.seedLo]).not.toEqual([b?.seedHi, b?.seedLo]);
  });

  it('never has generation 0, which means retired', () => {
    expect(Region.create({ regionBytes: REGION_BYTES_MIN, nowMs: 0, random: [0, 1, 2] }).generation).not.toBe(
      0,
    );
  });
});

describe('Region.attach', () => {
  const fresh = () => Region.create({ regionBytes: REGION_BYTES_MIN, nowMs: 0 });

  it('shares the memory and reads geometry and seeds from the header', () => {
    const region = fresh();
    const attached = Region.attach(structuredClone(region.descriptor));
    expect(attached.geometry).toEqual(region.geometry);
    expect([attached.seedHi, attached.seedLo]).toEqual([region.seedHi, region.seedLo]);
    region.bytes[REGION_BYTES_MIN - 1] = 77;
    expect(attached.bytes[REGION_BYTES_MIN - 1]).toBe(77);
  });

  it('refuses another magic, another layout version, another generation, a retired one, and a cut one', () => {
    const magic = fresh();
    magic.words[HEADER_MAGIC] = 0;
    const version = fresh();
    version.words[HEADER_VERSION] = 99;
    const generation = fresh();
    const retired = fresh();
    retired.retire();
    const cut = new SharedArrayBuffer(REGION_BYTES_MIN * 2);
    new Uint8Array(cut).set(fresh().bytes);
    const descriptors = [
      magic.descriptor,
      version.descriptor,
      { ...generation.descriptor, generation: generation.generation + 1 },
      retired.descriptor,
      { kind: 'shared' as const, buffer: cut, generation: new Int32Array(cut)[2] as number },
      { kind: 'shared' as const, buffer: new SharedArrayBuffer(16), generation: 1 },
    ];
    for (const descriptor of descriptors) {
      expect(thrownBy(() => Region.attach(descriptor))).toEqual(REGION_INVALID);
    }
  });
});

describe('the geometry', () => {
  it.each([
    REGION_BYTES_MIN,
    REGION_BYTES_MIN + 1,
    100_000,
    1024 ** 2,
    3_333_333,
    REGION_BYTES_DEFAULT,
    REGION_BYTES_MAX,
  ])('of %d bytes has no overlap, no gap, and room for bodies', (regionBytes) => {
    const geometry = geometryOf(regionBytes);
    const { cellsWord, cellCount, directoryWord, directoryEndWord, arenaUnit, segmentCount, segmentUnits } =
      geometry;
    expect(cellsWord + cellCount).toBe(directoryWord);
    expect(arenaUnit * UNIT_BYTES - directoryEndWord * WORD_BYTES).toBeGreaterThanOrEqual(0);
    expect(arenaUnit * UNIT_BYTES - directoryEndWord * WORD_BYTES).toBeLessThan(256);
    expect((arenaUnit + segmentCount * segmentUnits) * UNIT_BYTES).toBe(geometry.regionBytes);
    expect(geometry.regionBytes).toBeLessThanOrEqual(regionBytes);
    expect(regionBytes - geometry.regionBytes).toBeLessThan(256);
    expect(Math.log2(segmentUnits) % 1).toBe(0);
    expect(geometry.bodyBytesMax).toBeGreaterThan(3_000);
    expect((segmentCount * segmentUnits * UNIT_BYTES) / regionBytes).toBeGreaterThan(0.8);
  });

  it('caches a message with a thumbnail of 32 KiB in the default region', () => {
    expect(geometryOf(REGION_BYTES_DEFAULT).bodyBytesMax).toBeGreaterThan(500_000);
  });
});

describe('the hash of a name', () => {
  it('differs for ids that differ in one, two or three bits, and spreads them over the buckets', () => {
    const key = new MessageKey(1, 2);
    const seen = new Set<string>();
    const buckets = new Int32Array(64);
    const hashWith = (...bits: number[]) => {
      const { tenantId, messageId } = identity(0);
      const ids = [tenantId.slice(), messageId.slice()];
      for (const bit of bits) flipBit(ids, bit);
      key.readName(ids[0] as typeof tenantId, ids[1] as typeof messageId);
      seen.add(`${key.hashHi},${key.hashLo}`);
      const bucket = key.hashHi >>> 26;
      buckets[bucket] = (buckets[bucket] as number) + 1;
      count++;
    };
    let count = 0;
    hashWith();
    for (let first = 0; first < 256; first++) {
      hashWith(first);
      for (let second = 0; second < first; second++) hashWith(first, second);
      // A third bit at the top of a word, where a weak hash loses it.
      for (let second = 31; second < first; second += 32) {
        for (let third = 31; third < second; third += 32) hashWith(first, second, third);
      }
    }
    expect(seen.size).toBe(count);
    const mean = count / buckets.length;
    for (const inBucket of buckets) expect(Math.abs(inBucket - mean)).toBeLessThan(6 * Math.sqrt(mean));
  });

  it('is the same from a reference, from ids and from a slot’s header', () => {
    const of = identity(77, { tenantId: tenant(9) });
    const a = new MessageKey(1, 2);
    const b = new MessageKey(1, 2);
    a.readReference(reference(of));
    b.readName(of.tenantId, of.messageId);
    b.readCoordinates(of.conversationId, of.seq);
    expect([b.hashHi, b.hashLo]).toEqual([a.hashHi, a.hashLo]);
    expect(b.words).toEqual(a.words);
  });

  it('depends on the seed', () => {
    const [a, b] = [new MessageKey(1, 2), new MessageKey(1, 3)];
    for (const key of [a, b]) key.readReference(reference(identity(1)));
    expect(a.hashHi).not.toBe(b.hashHi);
    expect(a.hashLo).not.toBe(b.hashLo);
  });
});

/** Bit 31 of each 32 is the top of a word as the hash reads it. */
function flipBit(ids: Uint8Array[], bit: number): void {
  const id = ids[bit >> 7] as Uint8Array;
  const at = (bit & 127) >> 3;
  id[at] = (id[at] as number) ^ (1 << (bit & 7));
}

describe('a region beyond 2^31 bytes', () => {
  it('finds, copies and reads bodies on either side of it', () => {
    const regionBytes = 2.5 * 1024 ** 3;
    const region = Region.create({ regionBytes, nowMs: NOW_MS });
    const cache = new RegionBodyCache(region, NOW_MS, { leaseMs: 1_000_000 });
    const { bodyBytesMax } = region.geometry;
    // Slots that are reserved but not filled take addresses, not memory.
    let number = 0;
    const placed: { of: BodyIdentity; at: number }[] = [];
    for (let at = 0; at < 2.2 * 1024 ** 3; ) {
      const spacer = cache.reserve(identity(++number, { bodyBytes: bodyBytesMax }));
      const of = identity(++number, { bodyBytes: 100 });
      const slot = cache.reserve(of);
      if (spacer === undefined || slot === undefined) throw new Error('two slots');
      at = slot.at;
      slot.bytes.set(content(100, number), at);
      expect(cache.publish(slot, LATER_MS, NOW_MS)).toBe(PublishOutcome.PUBLISHED);
      placed.push({ of, at });
    }
    expect(placed.filter(({ at }) => at > 2 ** 31).length).toBeGreaterThan(50);
    const reader = new RegionReader(Region.attach(region.descriptor));
    const target = new Uint8Array(100);
    for (const { of } of placed) {
      expect(get(cache, of)).toEqual(content(100, Number(of.seq)));
      expect(reader.read(reference(of), target, 0, NOW_MS)).toBe(100);
      expect(target).toEqual(content(100, Number(of.seq)));
    }
  });
});
