/**
 * A thread that reads a region which the test's thread writes, and judges every body it gets. Runs the built reader.
 *
 * The words of `signals`: 0 = set by the test to end it, 1 = hits so far.
 * A body of key k is: its length is a function of its first byte, and every further byte follows from k and the first.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { READ_MISS, RegionReader } from '../../dist/cache/reader.js';
import { Region } from '../../dist/cache/region.js';

const { descriptor, signals, keys, nowMs, bodyBytesMax } = workerData;
const reader = new RegionReader(Region.attach(descriptor));
const target = new Uint8Array(bodyBytesMax + 8);
const id = new Uint8Array(16);
const view = new DataView(id.buffer);
const at = { tenantId: workerData.tenantId, bytes: id, conversationAt: 0, messageAt: 0, seqHi: 0, seqLo: 0 };

let reads = 0;
let hits = 0;
let fault;
while (Atomics.load(signals, 0) === 0 && fault === undefined) {
  const key = reads % keys;
  view.setUint32(12, key);
  at.seqLo = key;
  const bytes = reader.read(at, target, 3, nowMs);
  reads++;
  if (bytes !== READ_MISS) {
    hits++;
    fault = judge(key, bytes);
    Atomics.store(signals, 1, hits);
  }
}
parentPort.postMessage({ reads, hits, fault });

function judge(key, bytes) {
  const version = target[3];
  if (bytes !== 1 + ((version * 37 + key) % (bodyBytesMax - 1)))
    return `key ${key}: ${bytes} bytes of version ${version}`;
  if (reader.bodyBytes !== bytes)
    return `key ${key}: the header says ${reader.bodyBytes} bytes, not ${bytes}`;
  for (let index = 1; index < bytes; index++) {
    if (target[3 + index] !== ((version + key * 5 + index) & 0xff))
      return `key ${key}: byte ${index} of version ${version} is torn`;
  }
  return undefined;
}
