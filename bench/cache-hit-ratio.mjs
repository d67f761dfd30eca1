/**
 * What one bit of recency costs, and how much of the arena is usable, after `npm run build`:
 * node bench/cache-hit-ratio.mjs [regionMiB] [requests]
 *
 * 1. Hit ratio on a Zipf stream with 5 % large bodies, against an exact LRU (lru-cache) that has the same bytes: once
 *    with every body charged its slot, header and rounding included, and once with the body's bytes alone (what an
 *    LRU without any overhead would reach).
 * 2. Usable share while body sizes shift between phases, with hits all the time: bytes of published slots over bytes of
 *    the arena, the lowest seen in each phase. Bodies far smaller than the directory is laid out for (layout.ts,
 *    BYTES_PER_ENTRY) run out of entries first.
 * 3. Bytes that second chances copied for each byte inserted.
 * The stream is the same in every run.
 */
import { LRUCache } from 'lru-cache';
import { RegionBodyCache } from '../dist/cache/body-cache.js';
import { slotUnitsFor, UNIT_BYTES } from '../dist/cache/layout.js';
import { Region } from '../dist/cache/region.js';

const MIB = 1024 * 1024;
const regionBytes = Number(process.argv[2] ?? 32) * MIB;
const requests = Number(process.argv[3] ?? 1_500_000);
const NOW_MS = 1_000;
const SAMPLE_EVERY = 2_000;

function compareWithLru() {
  const random = seeded(1);
  const keys = Math.ceil(regionBytes / 200);
  const zipf = zipfSource(keys, 0.9, random);
  const sizes = Uint32Array.from({ length: keys }, () => bodySize(random));
  const cache = newCache();
  const charged = new LRUCache({
    maxSize: regionBytes,
    sizeCalculation: (bytes) => slotUnitsFor(bytes) * UNIT_BYTES,
  });
  const ideal = new LRUCache({ maxSize: regionBytes, sizeCalculation: (bytes) => Math.max(1, bytes) });
  let hits = 0;
  let chargedHits = 0;
  let idealHits = 0;
  let counted = 0;
  const bytes = { inserted: 0 };
  for (let request = 0; request < requests; request++) {
    const key = zipf();
    const size = sizes[key];
    const counts = request > requests / 3;
    if (counts) counted++;
    if (look(cache, key, size, bytes)) hits += counts ? 1 : 0;
    if (charged.get(key) !== undefined) chargedHits += counts ? 1 : 0;
    else charged.set(key, size);
    if (ideal.get(key) !== undefined) idealHits += counts ? 1 : 0;
    else ideal.set(key, size);
  }
  const stats = cache.stats();
  console.log(
    `region ${regionBytes / MIB} MiB, ${keys} messages, Zipf 0.9, 5 % large bodies, ${counted} requests counted`,
  );
  console.log(`  hit ratio                       ${percent(hits / counted)}`);
  console.log(`  exact LRU, slots charged        ${percent(chargedHits / counted)}`);
  console.log(`  exact LRU, bodies alone charged ${percent(idealHits / counted)}`);
  console.log(`  published slots / arena         ${percent(stats.usedBytes / arenaBytes(cache))}`);
  console.log(`  published slots / region        ${percent(stats.usedBytes / regionBytes)}`);
  console.log(
    `  copied / inserted bytes         ${((cache.segments.copiedUnits * UNIT_BYTES) / bytes.inserted).toFixed(2)}`,
  );
}

function shiftSizes() {
  const random = seeded(2);
  const cache = newCache();
  const bytes = { inserted: 0 };
  const phases = [
    ['small, 100 to 700', () => 100 + random() * 600],
    ['large, 8,000 to 33,000', () => 8_000 + random() * 25_000],
    ['mixed, 5 % large', () => bodySize(random)],
    ['tiny, 20 to 60 (directory-bound)', () => 20 + random() * 40],
    ['64 to 160 (directory-bound)', () => 64 + random() * 96],
    ['small again', () => 100 + random() * 600],
  ];
  console.log('\nusable share of the arena while sizes shift, with hits (Zipf 0.8 in each phase)');
  let nextKey = 0;
  for (const [name, sizeOf] of phases) {
    const bytesToInsert = 3 * arenaBytes(cache);
    const meanBytes = Array.from({ length: 1_000 }, sizeOf).reduce((a, b) => a + b) / 1_000 + 128;
    const keys = Math.ceil((2 * arenaBytes(cache)) / meanBytes);
    const zipf = zipfSource(keys, 0.8, random);
    const sizes = Uint32Array.from({ length: keys }, sizeOf);
    const startedBytes = bytes.inserted;
    let lowest = 1;
    let hits = 0;
    let asked = 0;
    while (bytes.inserted - startedBytes < bytesToInsert) {
      const key = zipf();
      asked++;
      if (look(cache, nextKey + key, sizes[key], bytes)) hits++;
      const wasFilled = bytes.inserted > 1.2 * arenaBytes(cache);
      if (wasFilled && asked % SAMPLE_EVERY === 0)
        lowest = Math.min(lowest, cache.stats().usedBytes / arenaBytes(cache));
    }
    nextKey += keys;
    const used = cache.stats().usedBytes / arenaBytes(cache);
    console.log(
      `  ${name.padEnd(34)} lowest ${percent(lowest)}  at its end ${percent(used)}  hit ratio ${percent(hits / asked)}`,
    );
  }
  console.log(
    `  copied / inserted bytes ${((cache.segments.copiedUnits * UNIT_BYTES) / bytes.inserted).toFixed(2)}`,
  );
}

function newCache() {
  const region = Region.create({ regionBytes, nowMs: 0, random: [1, 2, 3] });
  return new RegionBodyCache(region, NOW_MS);
}

function arenaBytes({ region }) {
  return region.geometry.segmentCount * region.geometry.segmentUnits * UNIT_BYTES;
}

/** True for a hit; a miss is filled. Ids are made from the key's number. */
function look(cache, key, size, bytes) {
  idView.setUint32(12, key);
  if (cache.find(at, NOW_MS) >= 0) return true;
  const slot = cache.reserve({ ...identity, blockABytes: size, bodyBytes: size });
  if (slot === undefined) return false;
  cache.publish(slot, 1e12, NOW_MS);
  bytes.inserted += slotUnitsFor(size) * UNIT_BYTES;
  return false;
}
const id = new Uint8Array(16);
const idView = new DataView(id.buffer);
const at = { tenantId: new Uint8Array(16), bytes: id, conversationAt: 0, messageAt: 0, seqHi: 0, seqLo: 0 };
const identity = {
  tenantId: at.tenantId,
  conversationId: id,
  seq: 0n,
  messageId: id,
  revision: new Uint8Array(16),
  summaryVersion: 0n,
  code: 1,
  dekId: undefined,
};

/** 95 %: a text of 80 to 900 bytes, mostly short. 5 %: with a thumbnail of up to 32 KiB. */
function bodySize(random) {
  return random() < 0.05 ? 2_000 + random() * 31_000 : 80 + random() * random() * 820;
}

/** Draws from a Zipf distribution, ranks spread over the keys. */
function zipfSource(keys, exponent, random) {
  const cumulative = new Float64Array(keys);
  let sum = 0;
  for (let rank = 0; rank < keys; rank++) cumulative[rank] = sum += 1 / (rank + 1) ** exponent;
  const keyOfRank = Uint32Array.from({ length: keys }, (_, index) => index);
  for (let rank = keys - 1; rank > 0; rank--) {
    const other = Math.floor(random() * (rank + 1));
    [keyOfRank[rank], keyOfRank[other]] = [keyOfRank[other], keyOfRank[rank]];
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = keys - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cumulative[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return keyOfRank[low];
  };
}

/** A linear congruential generator with a seed, so that runs can be compared; its high bits are good enough here. */
function seeded(seed) {
  let state = BigInt.asUintN(64, BigInt(seed));
  return () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number(state >> 32n) / 4_294_967_296;
  };
}

function percent(ratio) {
  return `${(ratio * 100).toFixed(1)} %`;
}

compareWithLru();
shiftSizes();
