import { describe, expect, it } from 'vitest';
import { TTL_SECONDS_MAX } from '../../src/domain/limits.js';
import { rowKey } from '../../src/embedded/row-key.js';
import {
  activity,
  at,
  bareRecord,
  fullRecord,
  groupRead,
  INSERT_MICROS,
  life,
  readOne,
  readRange,
  somewhere,
} from '../stores/fixtures.js';
import { openFor, SetClock, temporaryDirectory, withRawTable } from './embedded-fixtures.js';

describe('EmbeddedStore', () => {
  it('R4.2 S-4 fails a read loudly that meets a row of a foreign bucket', async () => {
    const directory = temporaryDirectory();
    const { store } = await openFor(directory, new SetClock());
    const where = somewhere(1n);
    await store.insertRecord(where, bareRecord(1n), life());
    await withRawTable(directory, 'record', (raw) => {
      const good = rowKey(where.tenantId, where.conversationId, 0n, 1n);
      const stray = rowKey(where.tenantId, where.conversationId, 0n, 5000n);
      raw.put(stray, raw.get(good) ?? Buffer.alloc(0));
    });
    const read = groupRead(where, [{ shape: 'range', from: 0n, to: 9000n }]);
    await expect(store.readGroup(read)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  it('fails with STORE_CORRUPT on bytes that are no row', async () => {
    for (const bytes of [Buffer.from([0xc1]), Buffer.from([0x07]), Buffer.from([0x91, 0x07])]) {
      const directory = temporaryDirectory();
      const { store } = await openFor(directory, new SetClock());
      const where = somewhere(1n);
      const key = rowKey(where.tenantId, where.conversationId, 0n, 1n);
      await withRawTable(directory, 'record', (raw) => raw.put(key, bytes));
      await expect(readOne(store, where)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
      await expect(store.insertRecord(where, fullRecord(1n), life())).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
      });
    }
  });

  it('a write that fails does not spoil the writes of its group', async () => {
    const directory = temporaryDirectory();
    const { store } = await openFor(directory, new SetClock());
    const where = somewhere(1n);
    const key = rowKey(where.tenantId, where.conversationId, 0n, 2n);
    await withRawTable(directory, 'record', (raw) => raw.put(key, Buffer.from([0xc1])));
    const outcomes = await Promise.allSettled(
      [1n, 2n, 3n].map((seq) => store.insertRecord(at(where, seq), fullRecord(seq), life())),
    );
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await readOne(store, at(where, 3n))).toBeDefined();
  });

  it('D6 a statement with bit 63 set is a bug and ends the read', async () => {
    const { store } = await openFor(temporaryDirectory(), new SetClock());
    const where = somewhere(1n);
    const read = groupRead(where, [{ shape: 'in', seqs: [2n ** 63n] }]);
    await expect(store.readGroup(read)).rejects.toThrow(/bit 63/);
  });

  it('a record at another seq than its coordinates is a bug and is not written', async () => {
    const { store } = await openFor(temporaryDirectory(), new SetClock());
    const where = somewhere(1n);
    await expect(store.insertRecord(where, fullRecord(2n), life())).rejects.toThrow(/its own seq/);
    expect((await readRange(store, where, 2n)).records).toEqual([]);
  });

  it('D8 counts lives in whole seconds as CQL does: absent from the written second plus the TTL', async () => {
    const clock = new SetClock();
    const { store } = await openFor(temporaryDirectory(), clock);
    const where = somewhere(1n);
    clock.ms = 1_750_000_000_900;
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, 2));
    expect((await readOne(store, where))?.ttlSeconds).toBe(2);
    clock.ms = 1_750_000_001_000;
    expect((await readOne(store, where))?.ttlSeconds).toBe(1);
    clock.ms = 1_750_000_001_999;
    expect((await readOne(store, where))?.ttlSeconds).toBe(1);
    clock.ms = 1_750_000_002_000;
    expect(await readOne(store, where)).toBeUndefined();
  });

  it('B14 takes the longest TTL that CQL has', async () => {
    const { store } = await openFor(temporaryDirectory(), new SetClock());
    const where = somewhere(1n);
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, TTL_SECONDS_MAX));
    expect((await readOne(store, where))?.ttlSeconds).toBe(TTL_SECONDS_MAX);
  });

  it("an edit's payload that expires first takes the edit's state along, so the row is gone", async () => {
    const clock = new SetClock();
    const { store } = await openFor(temporaryDirectory(), clock);
    const where = somewhere(1n);
    await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, 1000));
    const edit = {
      payload: Buffer.from('new'),
      dekId: undefined,
      editedAtActivityId: activity(),
      lastActivityId: activity(),
    };
    await store.editRecord(where, edit, life(INSERT_MICROS + 1n, 10));
    clock.ms += 10_000;
    expect(await readOne(store, where)).toBeUndefined();
  });

  it('tells when the read was sent by the injected clock', async () => {
    const clock = new SetClock();
    const { store } = await openFor(temporaryDirectory(), clock);
    clock.ms += 123;
    expect((await readRange(store, somewhere(1n))).sentAtMs).toBe(clock.ms);
  });

  it('keeps the bytes of a row apart from those of rows read later', async () => {
    const { store } = await openFor(temporaryDirectory(), new SetClock());
    const where = somewhere(1n);
    for (const seq of [1n, 2n]) {
      const payload = Buffer.alloc(3000, Number(seq));
      await store.insertRecord(at(where, seq), fullRecord(seq, { payload }), life());
    }
    const first = await readOne(store, at(where, 1n));
    await readOne(store, at(where, 2n));
    await store.insertRecord(
      at(where, 1n),
      fullRecord(1n, { payload: Buffer.alloc(3000, 9) }),
      life(INSERT_MICROS + 1n),
    );
    expect(first?.payload?.every((byte) => byte === 1)).toBe(true);
  });
});
