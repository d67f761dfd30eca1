/** Files of records: malformed ones first, then one that is archived, stopped, replaced and resumed. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RecordFile, type RecordFileOptions, requireRecordFile } from '../../src/archive/record-file.js';
import { LOG_PAGE_BYTES_MAX, RECORD_FILE_CHECK_BYTES } from '../../src/domain/limits.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { unstopped } from './archive-fixtures.js';

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
  it('that does not exist is CONFIG_INVALID with path and reason, one that is something else LOG_CORRUPT', async () => {
    const { path, handed } = await place();
    const missing = {
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`${path} cannot be read (ENOENT)`),
    };
    await expect(handed()).rejects.toMatchObject(missing);
    await expect(requireRecordFile(path)).rejects.toMatchObject(missing);
    for (const text of ['', 'mjlog 2\n', '{"json": true}']) {
      writeFileSync(path, text);
      const other = { code: 'LOG_CORRUPT', message: expect.stringContaining(path) };
      await expect(handed()).rejects.toMatchObject(other);
      await expect(requireRecordFile(path)).rejects.toMatchObject(other);
    }
  });

  it('that is a folder or a pipe is CONFIG_INVALID, and a pipe’s writer is not waited for', async () => {
    const { path, handed } = await place();
    mkdirSync(path);
    await expect(handed()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    rmSync(path, { recursive: true });
    execFileSync('mkfifo', [path]);
    // Lets go of whoever waits for it after all: otherwise this process could not end.
    onTestFinished(() => closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK)));
    await expect(handed()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`${path} is not a regular file`),
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

  /** Records of 100 bytes: those that two copies share reach far beyond the beginning. */
  const numbered = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, at) => String(from + at).padStart(100, '0'));
  const wholeOf = (texts: readonly string[]): Buffer =>
    Buffer.concat([Buffer.from(HEADER), framed(...texts)]);

  it('skips nothing of a newer copy that begins alike and has other records further on', async () => {
    const { path, handed } = await place();
    const dayOne = numbered(0, 100);
    const dayTwo = [...numbered(0, 50), ...numbered(100, 150), ...numbered(50, 100)];
    writeFileSync(path, wholeOf(dayOne));
    await handed();
    writeFileSync(path, wholeOf(dayTwo));
    expect(await handed()).toEqual(dayTwo);
    expect(await handed()).toEqual([]);
  });

  it('is not corrupt because a newer copy’s records lie elsewhere, and starts anew where it is shorter', async () => {
    const { path, handed, file } = await place();
    writeFileSync(path, wholeOf([...numbered(0, 50), 'x'.repeat(3_000)]));
    await handed();
    const newer = [...numbered(0, 50), ...['a', 'bc'].map((text) => text.repeat(900)), ...numbered(50, 90)];
    writeFileSync(path, wholeOf(newer));
    let anew = 0;
    const found: string[] = [];
    await file({ onAnew: () => anew++ }).consume({
      group: 'g',
      signal: unstopped(),
      onEntries: async (entries) =>
        void found.push(...entries.map(({ value }) => Buffer.from(value).toString())),
    });
    expect([anew, found]).toEqual([1, newer]);
    writeFileSync(path, wholeOf(numbered(0, 50)));
    expect(await handed()).toEqual(numbered(0, 50));
  });

  it('starts anew after a checkpoint of the former form, which knew the beginning alone', async () => {
    const { path, handed, writes } = await place();
    const bytes = wholeOf(numbered(0, 100));
    writeFileSync(path, bytes);
    const hash = (of: string | Uint8Array) => createHash('sha256').update(of).digest('hex').slice(0, 32);
    const name = `archive-file.g.${hash(path)}`;
    for (const former of [
      `${hash(bytes.subarray(0, 4_096))}:${bytes.length}`,
      '',
      '2:',
      `2:${'0'.repeat(64)}:-1`,
    ]) {
      await writes.saveCheckpoint(name, former);
      expect(await handed()).toHaveLength(100);
      expect(await handed()).toEqual([]);
    }
    expect(await writes.loadCheckpoint(name)).toMatch(/^2:[0-9a-f]{64}:\d+$/);
  });

  it('is compared in bounded parts that tell how far they are, and a stop ends that', async () => {
    const { path, file, handed } = await place();
    const bytes = wholeOf(['x'.repeat(2 * RECORD_FILE_CHECK_BYTES), 'y']);
    writeFileSync(path, bytes);
    await handed();
    appendFileSync(path, framed('z'));
    const stop = new AbortController();
    const checked: number[] = [];
    const onChecked = (done: number): void => {
      checked.push(done);
      stop.abort();
    };
    const onEntries = () => Promise.reject(new Error('nothing is handed over'));
    await file({ onChecked }).consume({ group: 'g', signal: stop.signal, onEntries });
    expect(checked).toEqual([RECORD_FILE_CHECK_BYTES]);
    const parts: (readonly [number, number])[] = [];
    await file({ onChecked: (...part) => parts.push(part) }).consume({
      group: 'g',
      signal: unstopped(),
      onEntries: async (entries) => expect(entries).toHaveLength(1),
    });
    expect(parts.map(([done]) => done)).toEqual([
      RECORD_FILE_CHECK_BYTES,
      2 * RECORD_FILE_CHECK_BYTES,
      bytes.length,
    ]);
    expect(parts.every(([, whole]) => whole === bytes.length)).toBe(true);
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
});
