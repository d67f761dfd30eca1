import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { OPEN_ITEM_BYTES } from '../../src/domain/open-job.js';
import { packOpenJob, unpackKeys } from '../../src/workers/open-message.js';

describe('packOpenJob', () => {
  const keys = [randomBytes(32), randomBytes(32)];
  const job = { count: 2, keys, privateBuffers: [], bytes: 10 };

  it('B32: no byte field carries a larger buffer along, also when items and keys are pooled Buffers', () => {
    const pooled = Buffer.from(randomBytes(2 * OPEN_ITEM_BYTES));
    const longer = randomBytes(3 * OPEN_ITEM_BYTES);
    for (const items of [pooled, new Uint8Array(longer), longer.subarray(1), pooled.subarray(0)]) {
      const message = packOpenJob({ ...job, items });
      expect(message.items.buffer.byteLength).toBe(2 * OPEN_ITEM_BYTES);
      expect([...message.items]).toEqual([...items.subarray(0, 2 * OPEN_ITEM_BYTES)]);
      expect(message.keys.buffer.byteLength).toBe(64);
    }
  });

  it('packs copies of the keys, which unpack in their order', () => {
    const message = packOpenJob({ ...job, items: new Uint8Array(2 * OPEN_ITEM_BYTES) });
    expect(unpackKeys(message).map((key) => [...key])).toEqual(keys.map((key) => [...key]));
    message.keys.fill(0);
    expect(keys.every((key) => key.some((byte) => byte !== 0))).toBe(true);
  });
});
