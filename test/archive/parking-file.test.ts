/** The parking file: bounded, readable after a crash, its owner's alone. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Poison } from '../../src/archive/archive-work.js';
import { ParkingFile } from '../../src/archive/parking-file.js';
import { PARKED_VALUE_BYTES_MAX } from '../../src/domain/limits.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { append, archiverOn, chat, entryOf, KeptParking, messageAt, unstopped } from './archive-fixtures.js';

function poison(bytes: number, offset: bigint, reason = 'field 1 has bit 63 set'): Poison {
  return { entry: entryOf(new Uint8Array(bytes).fill(7), offset), code: 'LOG_CORRUPT', reason };
}

function linesOf(path: string): Record<string, unknown>[] {
  const text = readFileSync(path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

describe('a parking file', () => {
  it('that cannot be written fails, so that nothing is committed', async () => {
    const path = join(temporaryDirectory(), 'missing', 'parked.jsonl');
    await expect(new ParkingFile(path).park([poison(3, 1n)])).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is looked at before anything is consumed: CONFIG_INVALID with its path and the reason', async () => {
    const directory = temporaryDirectory();
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const refusals = [
      [directory, `${directory} cannot be opened as parking file (EISDIR)`],
      [join(directory, 'missing', 'x'), `${join(directory, 'missing', 'x')} cannot be opened`],
      [join(directory, 'missing', 'x'), '(ENOENT)'],
      // It takes lines, but none is ever known to be on disk.
      ['/dev/null', '/dev/null is no regular file'],
      [fifo, `${fifo} is no regular file`],
    ] as const;
    for (const [path, text] of refusals) {
      await expect(new ParkingFile(path).prepare()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(text),
      });
    }
    expect(existsSync(join(directory, 'missing'))).toBe(false);
  });

  it('is made when it is looked at, its owner’s alone, and one that is there stays as it is', async () => {
    const path = join(temporaryDirectory(), 'parked.jsonl');
    expect(await new ParkingFile(path).park([])).toBe(0);
    expect(existsSync(path)).toBe(false);
    await new ParkingFile(path).prepare();
    expect([statSync(path).size, statSync(path).mode & 0o777]).toEqual([0, 0o600]);
    await new ParkingFile(path).park([poison(3, 1n)]);
    const text = readFileSync(path, 'utf8');
    await new ParkingFile(path).prepare();
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('tells place, code, reason, size and bytes of each record, and is its owner’s alone', async () => {
    const path = join(temporaryDirectory(), 'parked.jsonl');
    expect(await new ParkingFile(path).park([poison(3, 2n ** 62n, 'naïve\nreason'), poison(0, 6n)])).toBe(0);
    expect(linesOf(path)).toEqual([
      {
        partition: 0,
        offset: '4611686018427387904',
        appended_at: '2025-06-15T15:06:40.000Z',
        code: 'LOG_CORRUPT',
        reason: 'naïve\nreason',
        bytes: 3,
        value: 'BwcH',
      },
      expect.objectContaining({ offset: '6', bytes: 0, value: '' }),
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('keeps of a large record its hash alone', async () => {
    const path = join(temporaryDirectory(), 'parked.jsonl');
    await new ParkingFile(path).park([poison(PARKED_VALUE_BYTES_MAX + 1, 1n)]);
    const [line] = linesOf(path);
    expect(line).toMatchObject({
      bytes: PARKED_VALUE_BYTES_MAX + 1,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(line).not.toHaveProperty('value');
  });

  it('full: answers how many found no room, and stays within its bound', async () => {
    const path = join(temporaryDirectory(), 'parked.jsonl');
    const parking = new ParkingFile(path, 1_000);
    expect(await parking.park(Array.from({ length: 20 }, (_, at) => poison(30, BigInt(at))))).toBeGreaterThan(
      10,
    );
    expect(await parking.park([poison(30, 99n)])).toBe(1);
    expect(statSync(path).size).toBeLessThanOrEqual(1_000);
    expect(linesOf(path).length).toBeGreaterThan(2);
  });

  it('a line that a crash cut off does not swallow the next one', async () => {
    const path = join(temporaryDirectory(), 'parked.jsonl');
    appendFileSync(path, '{"partition":0,"off');
    await new ParkingFile(path).park([poison(1, 5n)]);
    expect(readFileSync(path, 'utf8').split('\n')[1]).toContain('"offset":"5"');
  });
});

describe('a parking place', () => {
  it('that fails is waited for, holds its batch, and is told apart from a store that fails', async () => {
    const clock = new SetClock();
    const { store, writes, log } = await openFor(temporaryDirectory(), clock);
    await append(log, messageAt(chat(), 1n, BigInt(clock.ms)));
    await log.append({ key: new Uint8Array(16), value: Buffer.from('0effff', 'hex') });
    const kept = new KeptParking();
    const told: unknown[] = [];
    const retried: string[] = [];
    const failure = new Error('the disk is full');
    const archiver = archiverOn({ messages: store, writes, clock }, log, {
      parking: { park: (records) => (told.length < 3 ? Promise.reject(failure) : kept.park(records)) },
      onParkingFailure: (error) => told.push(error),
      onRetry: (code) => retried.push(code),
    });
    await archiver.run(unstopped(), await log.ends());
    expect(told).toEqual([failure, failure, failure]);
    expect(retried).toEqual([]);
    expect(archiver.totals()).toMatchObject({ records: 2, messages: 1, parked: 1, retries: 0 });
    expect(kept.parked).toHaveLength(1);
  });
});
