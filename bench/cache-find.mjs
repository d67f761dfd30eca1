/**
 * Nanoseconds per cache operation, after `npm run build`: node bench/cache-find.mjs [bodies] [bodyBytes]
 *
 * `find + copy` is a warm hit as a batch has it: the reference lies at odd offsets of a request's buffer, the body goes
 * to an odd offset of the batch's output. Two sets: one that fits the CPU's caches and one that does not, because a
 * random hit in a large region is mostly the memory's latency. CPU time of the process, and the best of several rounds,
 * because the machine may be shared.
 */
import { RegionBodyCache } from '../dist/cache/body-cache.js';
import { RegionReader } from '../dist/cache/reader.js';
import { Region } from '../dist/cache/region.js';

const MIB = 1024 * 1024;
const ROUNDS = 9;
const LOOKUPS = 200_000;
const NOW_MS = 1_000;
/** Ids of one reference: a byte, the conversation, a byte, the message. */
const STRIDE = 34;
const EXPIRES_AT_MS = 1e12;

const bodiesArgument = Number(process.argv[2] ?? 250_000);
const bodyBytes = Number(process.argv[3] ?? 560);

console.log(`bodies of ${bodyBytes} bytes; best of ${ROUNDS} rounds of ${LOOKUPS} operations, ns each`);
for (const bodies of [2_000, bodiesArgument]) measure(bodies);

function measure(bodies) {
  const regionBytes = Math.ceil(bodies * (bodyBytes + 144) * 1.3) + 4 * MIB;
  const region = Region.create({ regionBytes, nowMs: 0 });
  const cache = new RegionBodyCache(region, NOW_MS, { leaseMs: 1e9 });
  const ids = new Uint8Array(bodies * STRIDE);
  for (let at = 0; at < ids.length; at += 65_536) crypto.getRandomValues(ids.subarray(at, at + 65_536));
  const tenantId = new Uint8Array(16).fill(7);
  const identities = Array.from({ length: bodies }, (_, index) => ({
    tenantId,
    conversationId: ids.subarray(index * STRIDE + 1, index * STRIDE + 17),
    seq: BigInt(index),
    messageId: ids.subarray(index * STRIDE + 18, index * STRIDE + 34),
    revision: new Uint8Array(16),
    summaryVersion: 0n,
    code: 1,
    blockABytes: bodyBytes,
    bodyBytes,
    dekId: { scope: 'tenant', id: `conversation-${index >> 8}`, version: 1 },
  }));
  const order = Uint32Array.from({ length: LOOKUPS }, () => Math.floor(Math.random() * bodies));
  const target = Buffer.alloc(500 * (bodyBytes + 9));
  const at = { tenantId, bytes: ids, conversationAt: 0, messageAt: 0, seqHi: 0, seqLo: 0 };
  const point = (index) => {
    at.conversationAt = index * STRIDE + 1;
    at.messageAt = index * STRIDE + 18;
    at.seqLo = index;
    return at;
  };
  const put = (index) => {
    const slot = cache.reserve(identities[index]);
    if (slot === undefined) throw new Error('no slot');
    slot.bytes[slot.at] = 1;
    cache.publish(slot, EXPIRES_AT_MS, NOW_MS);
  };
  for (let index = 0; index < bodies; index++) put(index);
  const { bodies: cached } = cache.stats();
  const handles = Int32Array.from(order, (index) => cache.find(point(index), NOW_MS));
  const reader = new RegionReader(Region.attach(region.descriptor));

  const report = {
    hash: best(() => {
      let sum = 0;
      for (let i = 0; i < LOOKUPS; i++) sum ^= cache.hash(point(order[i]));
      return sum;
    }),
    'find, miss': best(() => {
      let found = 0;
      at.tenantId = new Uint8Array(16);
      for (let i = 0; i < LOOKUPS; i++) if (cache.find(point(order[i]), NOW_MS) >= 0) found++;
      at.tenantId = tenantId;
      if (found > 0) throw new Error('a hit of another tenant');
    }),
    find: best(() => {
      let found = 0;
      for (let i = 0; i < LOOKUPS; i++) if (cache.find(point(order[i]), NOW_MS) >= 0) found++;
      if (found < LOOKUPS * 0.9) throw new Error(`${found} of ${LOOKUPS} found`);
    }),
    'find + copy': best(() => {
      for (let i = 0; i < LOOKUPS; i++) {
        const body = cache.find(point(order[i]), NOW_MS);
        if (body >= 0) cache.copyBody(body, target, (i % 500) * (bodyBytes + 9) + 3);
      }
    }),
    'copy alone': best(() => {
      for (let i = 0; i < LOOKUPS; i++) {
        if (handles[i] >= 0) cache.copyBody(handles[i], target, (i % 500) * (bodyBytes + 9) + 3);
      }
    }),
    'reader, other thread’s way': best(() => {
      for (let i = 0; i < LOOKUPS; i++) {
        reader.read(point(order[i]), target, (i % 500) * (bodyBytes + 9) + 3, NOW_MS);
      }
    }),
    'reserve + publish, replacing': best(() => {
      for (let i = 0; i < LOOKUPS; i++) put(order[i]);
    }),
  };
  console.log(`\n${cached} bodies in a region of ${(regionBytes / MIB).toFixed(0)} MiB`);
  for (const [what, ns] of Object.entries(report))
    console.log(`  ${what.padEnd(30)}${ns.toFixed(0).padStart(6)}`);
}

function best(run) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const started = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(started);
    least = Math.min(least, ((user + system) * 1000) / LOOKUPS);
  }
  return least;
}
