/** Files of records: malformed ones first, then a copy that is archived, stopped and resumed. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { copyToFile, RecordFile, type RecordFileOptions } from '../../src/archive/record-file.js';
import { LOG_PAGE_BYTES_MAX } from '../../src/domain/limits.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { appendAll, archiverOn, chat, messageAt, recallOf, unstopped } from './archive-fixtures.js';

const HEADER = 'mjlog 1\n';

async function place() {
  const clock = new SetClock();
  const directory = temporaryDirectory();
  const { store, writes, log } = await openFor(directory, clock);
  const path = join(directory, 'records');
  const file = (over: Partial<RecordFileOptions> = {}) =>
    new RecordFile({ path, checkpoints: writes, clock, ...over });
  const values: string[] = [];
  /** Everything that a run hands over, as text. */
  const handed = async (group = 'g'): Promise<string[]> => {
    const found: string[] = [];
    await file().consume({
      group,
      signal: unstopped(),
      onEntries: async (entries) => {
        found.push(...entries.map(({ value }) => Buffer.from(value).toString()));
        values.push(...found);
      },
    });
    return found;
  };
  return { clock, store, writes, log, path, file, handed, values };
}

function framed(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(text));
      return [length, Buffer.from(text)];
    }),
  );
}

describe('a file of records', () => {
  it('that does not exist is LOG_UNAVAILABLE, one that is something else LOG_CORRUPT', async () => {
    const { path, handed } = await place();
    await expect(handed()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    for (const text of ['', 'mjlog 2\n', '{"json": true}']) {
      writeFileSync(path, text);
      await expect(handed()).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    }
  });

  it('that is a folder or a pipe is LOG_CORRUPT, and a pipe’s writer is not waited for', async () => {
    const { path, handed } = await place();
    mkdirSync(path);
    await expect(handed()).rejects.toMatchObject({ code: 'LOG_CORRUPT' });
    rmSync(path, { recursive: true });
    execFileSync('mkfifo', [path]);
    // Lets go of whoever waits for it after all: otherwise this process could not end.
    onTestFinished(() => closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK)));
    await expect(handed()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      message: expect.stringContaining('a regular file only'),
    });
  });

  it.each([
    ['cut inside a length', Buffer.from([0, 0]), 'cut off at byte 18'],
    ['cut inside a record', framed('three').subarray(0, 7), 'the record at byte 18 is cut off'],
    ['B44: with a length beyond any record', Buffer.from('ffffffff00', 'hex'), 'claims 4294967295 bytes'],
  ])('%s hands over what comes before, and names the place', async (_, tail, reason) => {
    const { path, handed, values } = await place();
    writeFileSync(path, Buffer.concat([Buffer.from(HEADER), framed('one', ''), tail]));
    truncateSync(path, statSync(path).size);
    const expected = Buffer.concat([framed('one', '')]).length + HEADER.length;
    await expect(handed()).rejects.toThrow(reason.replace('18', String(expected)));
    expect(values).toEqual(['one', '']);
  });

  it('goes on where it was stopped, also after more was appended, and per group', async () => {
    const { path, handed } = await place();
    writeFileSync(path, Buffer.concat([Buffer.from(HEADER), framed('x'.repeat(5_000), 'b')]));
    expect(await handed()).toHaveLength(2);
    expect(await handed()).toEqual([]);
    appendFileSync(path, framed('c'));
    expect(await handed()).toEqual(['c']);
    expect(await handed('other')).toHaveLength(3);
  });

  it('starts anew when another file lies at its path', async () => {
    const { path, handed } = await place();
    writeFileSync(path, Buffer.concat([Buffer.from(HEADER), framed('a', 'b')]));
    await handed();
    writeFileSync(path, Buffer.concat([Buffer.from(HEADER), framed('c', 'd', 'e')]));
    expect(await handed()).toEqual(['c', 'd', 'e']);
  });

  it('is read in bounded pages, records of more than a page alone', async () => {
    const { path, file } = await place();
    const sizes = [1_000, LOG_PAGE_BYTES_MAX - 1_000, 10, LOG_PAGE_BYTES_MAX + 5, 7];
    writeFileSync(
      path,
      Buffer.concat([Buffer.from(HEADER), framed(...sizes.map((size) => 'x'.repeat(size)))]),
    );
    const pages: number[][] = [];
    const done: number[] = [];
    await file({ onProgress: (bytes) => done.push(bytes) }).consume({
      group: 'g',
      signal: unstopped(),
      onEntries: async (entries) => void pages.push(entries.map(({ value }) => value.length)),
    });
    expect(pages).toEqual([[1_000], [LOG_PAGE_BYTES_MAX - 1_000, 10], [LOG_PAGE_BYTES_MAX + 5], [7]]);
    expect(done.at(-1)).toBe(statSync(path).size);
  });

  it('B44: a page’s first record may follow smaller ones, and a batch never has more than its count', async () => {
    const { path, file } = await place();
    writeFileSync(
      path,
      Buffer.concat([Buffer.from(HEADER), framed(...Array.from({ length: 2_500 }, String))]),
    );
    const pages: number[] = [];
    await file().consume({
      group: 'g',
      signal: unstopped(),
      onEntries: async (entries) => void pages.push(entries.length),
    });
    expect(pages).toEqual([1_000, 1_000, 500]);
  });

  it('is a copy of the log, and archives into another store as the log does; a copy overwrites nothing', async () => {
    const from = await place();
    const where = chat();
    const sent = [1n, 2n, 3n].map((seq) => messageAt(where, seq, BigInt(from.clock.ms)));
    const [first] = sent;
    if (first === undefined) throw new Error('there are three');
    await appendAll(from.log, [...sent, recallOf(first, BigInt(from.clock.ms) + 5n)]);
    expect(await copyToFile(from.log, from.path, unstopped())).toBe(4);
    await expect(copyToFile(from.log, from.path, unstopped())).rejects.toMatchObject({
      code: 'LOG_UNAVAILABLE',
    });
    expect(statSync(from.path).mode & 0o777).toBe(0o600);

    const to = await place();
    writeFileSync(to.path, readFileSync(from.path));
    const ports = { messages: to.store, writes: to.writes, clock: to.clock };
    const archiver = archiverOn(ports, to.file());
    await archiver.run(unstopped());
    expect(archiver.totals()).toMatchObject({ records: 4, messages: 3, events: 1 });
    const rows = await to.writes.readBucket(where.tenantId, where.conversationId, 0n);
    expect(rows.map(({ seq, state }) => [seq, state])).toEqual([
      [1n, 1],
      [2n, 0],
      [3n, 0],
    ]);
  });
});
