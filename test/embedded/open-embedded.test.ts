import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { fullRecord, life, plain, readOne, somewhere } from '../stores/fixtures.js';
import { openFor, SetClock, temporaryDirectory, withRawTable } from './embedded-fixtures.js';

describe('openEmbedded', () => {
  it('fails with CONFIG_INVALID, which names it, where the directory is a file or lies below one', async () => {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, 'x');
    for (const directory of [path, join(path, 'deep', 'data')]) {
      await expect(openEmbedded(directory, new SetClock())).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`dataDir (${directory})`),
      });
    }
  });

  // Node's recursive mkdir never returns here, and no timeout can end it: this test would hang.
  it.skipIf(!existsSync('/proc/self'))('does not hang where no directory can be made', async () => {
    await expect(openEmbedded('/proc/mailjoin/data', new SetClock())).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it.each([3, 100, 65_536])(
    'fails with STORE_CORRUPT on a file of %i bytes that is no database, and leaves it as it was',
    async (bytes) => {
      const directory = temporaryDirectory();
      const path = join(directory, 'mailjoin.lmdb');
      writeFileSync(path, Buffer.alloc(bytes, 0x41));
      await expect(openEmbedded(directory, new SetClock())).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
      expect(readFileSync(path).equals(Buffer.alloc(bytes, 0x41))).toBe(true);
    },
  );

  it('D11 refuses a file made with another bucket width', async () => {
    const directory = temporaryDirectory();
    await (await openEmbedded(directory, new SetClock())).close();
    await withRawTable(directory, 'meta', (raw) => raw.put(Buffer.from('bucket_width'), Buffer.from('1024')));
    await expect(openEmbedded(directory, new SetClock())).rejects.toMatchObject({ code: 'BUCKET_WIDTH' });
  });

  it('refuses a file of another format', async () => {
    const directory = temporaryDirectory();
    await (await openEmbedded(directory, new SetClock())).close();
    await withRawTable(directory, 'meta', (raw) => raw.put(Buffer.from('format'), Buffer.from('2')));
    await expect(openEmbedded(directory, new SetClock())).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH' });
  });

  it('makes a directory and a file that only its owner can read', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'data');
    await openFor(directory, new SetClock());
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'mailjoin.lmdb')).mode & 0o777).toBe(0o600);
  });

  it('finds what an earlier process left', async () => {
    const directory = temporaryDirectory();
    const where = somewhere(1n);
    const record = fullRecord(1n);
    const first = await openEmbedded(directory, new SetClock());
    await first.store.insertRecord(where, record, life());
    await first.close();
    const second = await openFor(directory, new SetClock());
    expect(plain(await readOne(second.store, where))).toEqual(plain(record));
  });

  it('once closed answers everything with STORE_UNAVAILABLE, and closes again without harm', async () => {
    const opened = await openEmbedded(temporaryDirectory(), new SetClock());
    const where = somewhere(1n);
    await opened.close();
    const refused = { code: 'STORE_UNAVAILABLE' };
    await expect(opened.store.ping()).rejects.toMatchObject(refused);
    await expect(readOne(opened.store, where)).rejects.toMatchObject(refused);
    await expect(opened.store.insertRecord(where, fullRecord(1n), life())).rejects.toMatchObject(refused);
    await expect(opened.keys.fetch([{ scope: 's', id: 'i', version: 1 }])).rejects.toMatchObject(refused);
    await expect(opened.store.close()).resolves.toBeUndefined();
  });

  it('finishes the writes that wait before it closes', async () => {
    const directory = temporaryDirectory();
    const where = somewhere(1n);
    const first = await openEmbedded(directory, new SetClock());
    const writes = Array.from({ length: 600 }, (_, i) =>
      first.store.insertRecord({ ...where, seq: BigInt(i) }, fullRecord(BigInt(i)), life()),
    );
    // The writes have been asked for; none has had a turn of the event loop to begin.
    const closing = first.close();
    await Promise.all(writes);
    await closing;
    const second = await openFor(directory, new SetClock());
    expect(await readOne(second.store, { ...where, seq: 599n })).toBeDefined();
  });
});
