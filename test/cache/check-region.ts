/**
 * The whole-structure check: every invariant of a region and its cache's accounts, by a walk over all of it.
 * Throws an AssertionError that names what is broken. Slow on purpose; call it between steps of a test.
 */
import { strict as assert } from 'node:assert';
import type { RegionBodyCache } from '../../src/cache/body-cache.js';
import { bucketWordOf } from '../../src/cache/directory.js';
import {
  BUCKET_WORDS,
  CELL_SHIFT,
  ENTRY_BODY_BYTES,
  ENTRY_FLAGS,
  ENTRY_HASH_HI,
  ENTRY_HASH_LO,
  ENTRY_SEQUENCE,
  ENTRY_SLOT,
  ENTRY_WORDS,
  SLOT_BLOCK_A_BYTES,
  SLOT_BODY_BYTES,
  SLOT_CELL,
  SLOT_CELL_GENERATION,
  SLOT_ENTRY,
  SLOT_HASH_HI,
  SLOT_HASH_LO,
  SLOT_HEADER_BYTES,
  SLOT_KEY,
  SLOT_STATE,
  SLOT_UNITS,
  SlotState,
  slotUnitsFor,
  UNIT_BYTES,
  UNIT_WORDS,
  WORD_BYTES,
} from '../../src/cache/layout.js';
import { MessageKey } from '../../src/cache/message-key.js';
import { ID_BYTES } from '../../src/domain/ids.js';

export function checkRegion(cache: RegionBodyCache): void {
  const slots = checkSegments(cache);
  const published = checkDirectory(cache);
  assert.deepEqual(
    [...slots.published].sort(),
    [...published].sort(),
    'entries and published slots are one to one',
  );
  const stats = cache.stats();
  assert.equal(stats.bodies, published.size, 'bodies');
  assert.equal(stats.usedBytes, slots.publishedUnits * UNIT_BYTES, 'used bytes');
  assert.equal(stats.reserved, slots.reserved, 'reserved');
  assert(
    stats.published >= stats.bodies + stats.evicted + stats.expired + stats.removed,
    'bodies that went are counted once',
  );
}

interface SlotsFound {
  readonly published: Set<number>;
  publishedUnits: number;
  reserved: number;
}

function checkSegments(cache: RegionBodyCache): SlotsFound {
  const { geometry, words } = cache.region;
  const found: SlotsFound = { published: new Set(), publishedUnits: 0, reserved: 0 };
  for (let segment = 0; segment < geometry.segmentCount; segment++) {
    const account = cache.segments.accountOf(segment);
    assert.equal(account.startUnit, geometry.arenaUnit + segment * geometry.segmentUnits);
    const end = account.startUnit + account.writtenUnits;
    let liveUnits = 0;
    let reserved = 0;
    let slotUnit = account.startUnit;
    while (slotUnit < end) {
      const word = slotUnit * UNIT_WORDS;
      const units = words[word + SLOT_UNITS] as number;
      const state = words[word + SLOT_STATE] as number;
      assert(units >= slotUnitsFor(0) && units <= geometry.slotUnitsMax, `slot ${slotUnit} has a size`);
      if (state === SlotState.DEAD) {
        assertZero(
          cache,
          slotUnit * UNIT_BYTES + 2 * WORD_BYTES,
          (slotUnit + units) * UNIT_BYTES,
          'a dead slot',
        );
      } else {
        liveUnits += units;
        if (state === SlotState.RESERVED) reserved++;
        else checkPublished(cache, slotUnit, found);
      }
      slotUnit += units;
    }
    assert.equal(slotUnit, end, `the slots of segment ${segment} end where its account says`);
    assert.equal(account.liveUnits, liveUnits, `live units of segment ${segment}`);
    assert.equal(account.reserved, reserved, `reserved slots of segment ${segment}`);
    found.reserved += reserved;
    assertZero(
      cache,
      end * UNIT_BYTES,
      (account.startUnit + geometry.segmentUnits) * UNIT_BYTES,
      'what was never written',
    );
  }
  return found;
}

function checkPublished(cache: RegionBodyCache, slotUnit: number, found: SlotsFound): void {
  const { geometry, words, seedHi, seedLo } = cache.region;
  const word = slotUnit * UNIT_WORDS;
  assert.equal(words[word + SLOT_STATE], SlotState.PUBLISHED, `slot ${slotUnit} has a state`);
  const bodyBytes = words[word + SLOT_BODY_BYTES] as number;
  assert.equal(words[word + SLOT_UNITS], slotUnitsFor(bodyBytes), `slot ${slotUnit} has its exact size`);
  assert((words[word + SLOT_BLOCK_A_BYTES] as number) <= bodyBytes, 'block A is a part of the body');
  const units = words[word + SLOT_UNITS] as number;
  assertZero(
    cache,
    slotUnit * UNIT_BYTES + SLOT_HEADER_BYTES + bodyBytes,
    (slotUnit + units) * UNIT_BYTES,
    'padding',
  );
  const cell = words[word + SLOT_CELL] as number;
  assert.equal(words[word + SLOT_CELL_GENERATION], words[geometry.cellsWord + cell], 'the key still exists');

  const key = new MessageKey(seedHi, seedLo);
  const nameAt = (slotUnit * UNIT_WORDS + SLOT_KEY) * WORD_BYTES;
  const name = {
    tenantId: cache.region.bytes.subarray(nameAt, nameAt + ID_BYTES),
    bytes: cache.region.bytes,
  };
  key.readReferenceName({ ...name, messageAt: nameAt + ID_BYTES, conversationAt: 0, seqHi: 0, seqLo: 0 });
  const { hashHi, hashLo } = key;
  assert.equal(words[word + SLOT_HASH_HI], hashHi, 'the hash is that of the name');
  assert.equal(words[word + SLOT_HASH_LO], hashLo, 'the hash is that of the name');

  const entry = words[word + SLOT_ENTRY] as number;
  const bucket = bucketWordOf(geometry.directoryWord, geometry.bucketCount, hashHi);
  assert(entry >= bucket && entry < bucket + BUCKET_WORDS, 'the entry lies in the bucket of the hash');
  assert.equal((entry - bucket) % ENTRY_WORDS, 0);
  assert.equal(words[entry + ENTRY_SLOT], slotUnit, 'the entry points back');
  assert.equal(words[entry + ENTRY_HASH_HI], words[word + SLOT_HASH_HI]);
  assert.equal(words[entry + ENTRY_HASH_LO], words[word + SLOT_HASH_LO]);
  assert.equal(words[entry + ENTRY_BODY_BYTES], bodyBytes);
  assert.equal((words[entry + ENTRY_FLAGS] as number) >>> CELL_SHIFT, cell);
  found.published.add(slotUnit);
  found.publishedUnits += units;
}

function checkDirectory(cache: RegionBodyCache): Set<number> {
  const { geometry, words } = cache.region;
  const slots = new Set<number>();
  const names = new Set<string>();
  for (let entry = geometry.directoryWord; entry < geometry.directoryEndWord; entry += ENTRY_WORDS) {
    assert.equal((words[entry + ENTRY_SEQUENCE] as number) & 1, 0, 'no change is under way');
    const slotUnit = words[entry + ENTRY_SLOT] as number;
    if (slotUnit === 0) continue;
    assert(!slots.has(slotUnit), 'no two entries share a slot');
    slots.add(slotUnit);
    const nameAt = (slotUnit * UNIT_WORDS + SLOT_KEY) * WORD_BYTES;
    const name = Buffer.from(cache.region.buffer, nameAt, 2 * ID_BYTES).toString('hex');
    assert(!names.has(name), 'a message has one entry');
    names.add(name);
  }
  return slots;
}

function assertZero(cache: RegionBodyCache, from: number, to: number, what: string): void {
  const { bytes } = cache.region;
  let at = from;
  while (at < to && bytes[at] === 0) at++;
  assert.equal(at, to, `${what} is zero`);
}
