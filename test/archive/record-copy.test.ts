/** Copies of the log: paths that cannot be written and copies that are ended early first, then a whole one. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CopyOptions, type CopyTotals, copyToFile } from '../../src/archive/record-copy.js';
import { RecordFile } from '../../src/archive/record-file.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { LogReader } from '../../src/domain/write-ports.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { appendAll, archiverOn, chat, messageAt, recallOf, unstopped } from './archive-fixtures.js';

async function place() {
  const clock = new SetClock();
  const { store, writes, log } = await openFor(temporaryDirectory(), clock);
  const path = join(temporaryDirectory(), 'records');
  /** What lies in the copy's directory. */
  const left = () => readdirSync(dirname(path));
  const copy = (over: Partial<CopyOptions> = {}) =>
    copyToFile({ log: async () => log, path, signal: unstopped(), ...over });
  return { clock, store, writes, log, path, left, copy };
}

const UNUSED = () => Promise.reject(new Error('the log is not asked for'));

/** A log of `count` records, which calls `between` before every page but the first. */
function pagedReader(count: number, between: () => void): Pick<LogReader, 'ends' | 'read'> {
  return {
    ends: async () => [{ partition: 3, offset: BigInt(count) }],
    read: async ({ onEntries, signal }) => {
      for (let at = 0; at < count && !signal.aborted; at++) {
        if (at > 0) between();
        const value = Buffer.from(`record ${at}`);
        await onEntries([{ partition: 3, offset: BigInt(at), value, appendedAtMs: 0 }]);
      }
    },
  };
}

describe('a path that cannot be written', () => {
  it('is CONFIG_INVALID with path and reason before the log is asked for, and what is there stays', async () => {
    const { copy, path, left } = await place();
    writeFileSync(path, 'precious');
    const dangling = `${path}.link`;
    symlinkSync('nowhere', dangling);
    const nowhere = join(dirname(path), 'nope', 'x');
    for (const [to, reason] of [
      [path, 'EEXIST'],
      [dangling, 'EEXIST'],
      [dirname(path), 'EEXIST'],
      [nowhere, 'ENOENT'],
      [join(path, 'x'), 'ENOTDIR'],
      [`${path}${'x'.repeat(300)}`, 'ENAMETOOLONG'],
    ] as const) {
      await expect(copy({ path: to, log: UNUSED })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(new RegExp(`the file ${to} .*\\(${reason}\\)`)),
      });
    }
    expect(readFileSync(path, 'utf8')).toBe('precious');
    expect(left().sort()).toEqual([basename(path), basename(dangling)]);
  });

  it('since another file came to lie there meanwhile, is not overwritten', async () => {
    const { copy, path, left } = await place();
    const log = pagedReader(2, () => writeFileSync(path, 'precious'));
    await expect(copy({ log: async () => log })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('EEXIST'),
    });
    expect(readFileSync(path, 'utf8')).toBe('precious');
    expect(left()).toEqual([basename(path)]);
  });

  it('since its directory is gone at the end, leaves nothing', async () => {
    const { copy, path } = await place();
    const directory = join(dirname(path), 'inner');
    mkdirSync(directory);
    const log = pagedReader(2, () => rmSync(directory, { recursive: true, force: true }));
    const to = join(directory, 'records');
    await expect(copy({ path: to, log: async () => log })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`${to} cannot be made (ENOENT)`),
    });
    expect(existsSync(directory)).toBe(false);
  });
});

describe('a copy that is ended early', () => {
  it('by a stop is SHUTTING_DOWN and leaves no file', async () => {
    const { copy, path, left } = await place();
    const stop = new AbortController();
    const log = pagedReader(3, () => stop.abort());
    await expect(copy({ log: async () => log, signal: stop.signal })).rejects.toMatchObject({
      code: 'SHUTTING_DOWN',
      message: expect.stringContaining(path),
    });
    expect(left()).toEqual([]);
  });

  it('by a log that fails when it is stopped is SHUTTING_DOWN as well', async () => {
    const { copy, left } = await place();
    const stop = new AbortController();
    const log = pagedReader(3, () => {
      stop.abort();
      throw new MailjoinError('LOG_UNAVAILABLE');
    });
    await expect(copy({ log: async () => log, signal: stop.signal })).rejects.toMatchObject({
      code: 'SHUTTING_DOWN',
    });
    expect(left()).toEqual([]);
  });

  it('by the log, or by a log that cannot be had, leaves no file', async () => {
    const { copy, left } = await place();
    const failure = new MailjoinError('LOG_UNAVAILABLE');
    const log = pagedReader(3, () => {
      throw failure;
    });
    await expect(copy({ log: async () => log })).rejects.toBe(failure);
    await expect(copy({ log: () => Promise.reject(failure) })).rejects.toBe(failure);
    expect(left()).toEqual([]);
  });
});

describe('a copy', () => {
  it('has its name when it is whole, and not before; it tells how far it is', async () => {
    const { copy, path, left } = await place();
    const seen: boolean[] = [];
    const told: CopyTotals[] = [];
    const log = pagedReader(3, () => seen.push(existsSync(path)));
    const done = await copy({ log: async () => log, onProgress: (totals) => told.push(totals) });
    expect(seen).toEqual([false, false]);
    expect(left()).toEqual([basename(path)]);
    expect(told).toEqual([
      { records: 1, bytes: 20, leftAtMost: 2n },
      { records: 2, bytes: 32, leftAtMost: 1n },
      { records: 3, bytes: 44, leftAtMost: 0n },
    ]);
    expect(done).toEqual({ records: 3, bytes: statSync(path).size, leftAtMost: 0n });
  });

  it('archives into another store as the log does, and is its owner’s alone', async () => {
    const from = await place();
    const where = chat();
    const sent = [1n, 2n, 3n].map((seq) => messageAt(where, seq, BigInt(from.clock.ms)));
    const [first] = sent;
    if (first === undefined) throw new Error('there are three');
    await appendAll(from.log, [...sent, recallOf(first, BigInt(from.clock.ms) + 5n)]);
    expect(await from.copy()).toMatchObject({ records: 4 });
    expect(statSync(from.path).mode & 0o777).toBe(0o600);

    const to = await place();
    const ports = { messages: to.store, writes: to.writes, clock: to.clock };
    const file = new RecordFile({ path: from.path, checkpoints: to.writes, clock: to.clock });
    const archiver = archiverOn(ports, file);
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
