import { describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { PURGE_GRACE_S } from '../../src/embedded/sweep.js';
import { at, fullRecord, INSERT_MICROS, insertMany, life, readOne, somewhere } from '../stores/fixtures.js';
import { openFor, SetClock, temporaryDirectory, withRawTable } from './embedded-fixtures.js';

const counted = (directory: string) =>
  Promise.all(['record', 'expiry'].map((table) => withRawTable(directory, table, (raw) => raw.count())));

describe('sweep', () => {
  it('removes rows that expired before the grace when the store opens, and only those', async () => {
    const directory = temporaryDirectory();
    const clock = new SetClock();
    const first = await openEmbedded(directory, clock);
    const where = somewhere(1n);
    await insertMany(first.store, where, [1n]);
    for (const [seq, ttl] of [
      [2n, 10],
      [3n, 10],
      [4n, 20],
    ] as const) {
      await first.store.insertRecord(at(where, seq), fullRecord(seq), life(INSERT_MICROS, ttl));
    }
    expect(await counted(directory)).toEqual([4, 3]);
    await first.close();
    clock.ms += (10 + PURGE_GRACE_S) * 1000;
    const second = await openEmbedded(directory, clock);
    expect(await counted(directory)).toEqual([2, 1]);
    expect(await readOne(second.store, where)).toBeDefined();
    await second.close();
    clock.ms -= 1;
    clock.ms += 10_000;
    await (await openEmbedded(directory, clock)).close();
    expect(await counted(directory)).toEqual([2, 1]);
    clock.ms += 1;
    await (await openEmbedded(directory, clock)).close();
    expect(await counted(directory)).toEqual([1, 0]);
  });

  it('keeps the number of rows bounded while short-lived rows are written', async () => {
    const directory = temporaryDirectory();
    const clock = new SetClock();
    const { store } = await openFor(directory, clock);
    const where = somewhere(1n);
    const perDay = 50;
    let most = 0;
    for (let day = 0; day < 12; day++) {
      for (let i = 0; i < perDay; i++) {
        const seq = BigInt(day * perDay + i);
        await store.insertRecord(at(where, seq), fullRecord(seq), life(INSERT_MICROS, 60));
      }
      clock.ms += 86_400_000;
      most = Math.max(most, (await counted(directory))[0] ?? 0);
    }
    // A row waits for its grace of a day, so two days' rows at most are there, and the third day's writes remove them.
    expect(most).toBeLessThanOrEqual(2 * perDay);
    expect(most).toBeGreaterThan(perDay);
  });

  it('a row whose life was lengthened is not removed at its former end', async () => {
    const directory = temporaryDirectory();
    const clock = new SetClock();
    const { store } = await openFor(directory, clock);
    const where = somewhere(1n);
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, 10));
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS + 1n));
    expect(await counted(directory)).toEqual([1, 0]);
    clock.ms += (20 + PURGE_GRACE_S) * 1000;
    await store.insertRecord(at(where, 2n), fullRecord(2n), life());
    expect(await readOne(store, where)).toBeDefined();
  });

  it('D8 during the grace an expired row still hides older writes, as on Cassandra', async () => {
    const clock = new SetClock();
    const { store } = await openFor(temporaryDirectory(), clock);
    const where = somewhere(1n);
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS + 5n, 10));
    clock.ms += (10 + PURGE_GRACE_S - 1) * 1000;
    await store.insertRecord(at(where, 2n), fullRecord(2n), life());
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS));
    expect(await readOne(store, where)).toBeUndefined();
  });
});
