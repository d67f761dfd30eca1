/** A damaged file is refused with a code before LMDB maps it; without that the process would die by a signal. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Environment } from '../../src/embedded/environment.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { openFor, SetClock, temporaryDirectory } from './embedded-fixtures.js';

const PAGE_BYTES = 4096;
const NEWEST_ROOT_AT = 136;

let directory: string;
let path: string;

beforeEach(() => {
  directory = temporaryDirectory();
  path = join(directory, 'mailjoin.lmdb');
});

/** A store with trees of several levels and values that have pages of their own. */
async function fill(): Promise<Buffer> {
  const environment = new Environment(directory);
  await environment.write(() => {
    for (let i = 0; i < 2_000; i++) void environment.keys.put(Buffer.from(`k${i}`), Buffer.alloc(200, i));
    void environment.records.put(Buffer.from('large'), Buffer.alloc(10 * PAGE_BYTES, 7));
  });
  await environment.close();
  return readFileSync(path);
}

async function refused(): Promise<void> {
  const before = readFileSync(path);
  await expect(openEmbedded(directory, new SetClock())).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    message: expect.stringContaining('back-up'),
  });
  expect(readFileSync(path).equals(before)).toBe(true);
}

describe('a damaged file', () => {
  it('cut off anywhere → STORE_CORRUPT', async () => {
    const whole = await fill();
    const pages = whole.length / PAGE_BYTES;
    for (const kept of [0.5, 1, 1.5, 2, 3, pages / 2, pages - 12, pages - 1, pages - 0.5]) {
      writeFileSync(path, whole);
      truncateSync(path, Math.floor(kept * PAGE_BYTES));
      await refused();
    }
  });

  it('with either meta page overwritten → STORE_CORRUPT', async () => {
    const whole = await fill();
    for (const page of [0, 1]) {
      for (const byte of [0x00, 0x41, 0xff]) {
        writeFileSync(path, Buffer.from(whole).fill(byte, page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
        await refused();
      }
    }
  });

  it('of another version of the format, or with an impossible page size → STORE_CORRUPT', async () => {
    const whole = await fill();
    for (const [at, value] of [
      [28, 1],
      [48, 0],
      [48, 5_000],
      [48, 0x8000_0000],
    ] as const) {
      const changed = Buffer.from(whole);
      changed.writeUInt32LE(value, at);
      writeFileSync(path, changed);
      await refused();
    }
  });

  it('whose newest root page is overwritten, or lies nowhere → STORE_CORRUPT', async () => {
    const whole = await fill();
    const newest = whole.readBigUInt64LE(152) > whole.readBigUInt64LE(PAGE_BYTES + 152) ? 0 : PAGE_BYTES;
    const root = Number(whole.readBigUInt64LE(newest + NEWEST_ROOT_AT));
    writeFileSync(path, Buffer.from(whole).fill(0x41, root * PAGE_BYTES, (root + 1) * PAGE_BYTES));
    await refused();
    const astray = Buffer.from(whole);
    astray.writeBigUInt64LE(1n << 40n, newest + NEWEST_ROOT_AT);
    writeFileSync(path, astray);
    await refused();
  });
});

describe('a sound file', () => {
  it('is opened again as it was', async () => {
    await fill();
    await expect(openFor(directory, new SetClock())).resolves.toBeDefined();
  });

  it('may be shorter than its last page number: pages taken and given up at once are never written', async () => {
    const environment = new Environment(directory);
    const [kept, passing] = [Buffer.from('kept'), Buffer.from('passing')];
    await environment.write(() => void environment.keys.put(kept, Buffer.alloc(25 * PAGE_BYTES)));
    await environment.write(() => {
      void environment.keys.put(passing, Buffer.alloc(25 * PAGE_BYTES));
      void environment.keys.remove(passing);
    });
    await environment.write(() => {
      const keys = Array.from({ length: 2_000 }, (_, i) => Buffer.from(`k${i}`));
      for (const key of keys) void environment.keys.put(key, Buffer.alloc(500));
      for (const key of keys) void environment.keys.remove(key);
    });
    await environment.close();
    const bytes = readFileSync(path);
    const lastPages = [0, PAGE_BYTES].map((meta) => Number(bytes.readBigUInt64LE(meta + 144)));
    expect(Math.max(...lastPages)).toBeGreaterThan(bytes.length / PAGE_BYTES);
    const again = new Environment(directory);
    expect(again.read(() => again.keys.get(kept))?.length).toBe(25 * PAGE_BYTES);
    await again.close();
  });
});
