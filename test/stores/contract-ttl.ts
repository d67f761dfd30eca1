/** Lives of rows: TTLs pass for real here, one or two seconds each; what is proven is what each poll reads. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MessageState } from '../../src/domain/message.js';
import type { Opened } from './contract.js';
import {
  activity,
  at,
  fullRecord,
  INSERT_MICROS,
  life,
  plain,
  readOne,
  readRange,
  somewhere,
  until,
} from './fixtures.js';

const edit = (payload: Uint8Array) => ({
  payload,
  dekId: undefined,
  editedAtActivityId: activity(),
  lastActivityId: activity(),
});
const recall = (recallEventSeq: bigint) => ({ recallEventSeq, lastActivityId: activity() });

export function ttlContract(opened: Opened): void {
  describe('lives of rows', () => {
    it('D8 a row without a TTL has none', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life());
      const got = await readOne(store, where);
      expect(got).toBeDefined();
      expect(got?.ttlSeconds).toBeUndefined();
    });

    it('D8 tells in whole seconds what remains', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, 1000));
      const ttlSeconds = (await readOne(store, where))?.ttlSeconds ?? -1;
      expect(Number.isInteger(ttlSeconds)).toBe(true);
      expect(ttlSeconds).toBeLessThanOrEqual(1000);
      expect(ttlSeconds).toBeGreaterThan(980);
    });

    it('tells the least of what remains of created_at, of the payload and of the state', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      for (const [seq, insertTtl, editTtl] of [
        [1n, 1000, 500],
        [2n, 500, 1000],
        [3n, 500, undefined],
        [4n, undefined, 500],
      ] as const) {
        await store.insertRecord(at(where, seq), fullRecord(seq), life(INSERT_MICROS, insertTtl));
        await store.editRecord(at(where, seq), edit(randomBytes(8)), life(INSERT_MICROS + 5n, editTtl));
      }
      await store.insertRecord(at(where, 5n), fullRecord(5n), life(INSERT_MICROS, 1000));
      await store.recallRecord(at(where, 5n), recall(9n), life(INSERT_MICROS + 5n, 500));
      const { records } = await readRange(store, where, 5n);
      expect(records.length).toBe(5);
      for (const record of records) {
        expect(record.ttlSeconds).toBeLessThanOrEqual(500);
        expect(record.ttlSeconds).toBeGreaterThan(480);
      }
    });

    it('B12 a row that expires is there in full or not at all, in every read', {
      timeout: 20_000,
    }, async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      await store.insertRecord(where, record, life(INSERT_MICROS, 3));
      let reads = 0;
      await until(async () => {
        const { records } = await readRange(store, where);
        if (records.length === 0) return true;
        reads++;
        expect(plain(records[0])).toEqual(plain(record));
        expect(records[0]?.ttlSeconds).toBeGreaterThanOrEqual(1);
        return false;
      });
      expect(reads).toBeGreaterThan(0);
    });

    it('B15 D8 an edit or a recall after expiry does not bring the row back', {
      timeout: 20_000,
    }, async () => {
      const { store } = opened();
      const where = somewhere(1n);
      for (const seq of [1n, 2n])
        await store.insertRecord(at(where, seq), fullRecord(seq), life(INSERT_MICROS, 1));
      await until(async () => (await readRange(store, where, 2n)).records.length === 0);
      await store.editRecord(where, edit(randomBytes(8)), life(INSERT_MICROS + 5n));
      await store.recallRecord(at(where, 2n), recall(9n), life(INSERT_MICROS + 5n, 1000));
      expect((await readRange(store, where, 2n)).records).toEqual([]);
    });

    it('D8 an expired write still hides an older one: nothing comes back from under it', {
      timeout: 20_000,
    }, async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS + 5n, 1));
      await until(async () => (await readOne(store, where)) === undefined);
      await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS));
      expect(await readOne(store, where)).toBeUndefined();
    });

    it('a recall whose time ends first takes the row along, never the recall alone', {
      timeout: 20_000,
    }, async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, 1000));
      await store.recallRecord(where, recall(9n), life(INSERT_MICROS + 5n, 1));
      await until(async () => {
        const got = await readOne(store, where);
        if (got === undefined) return true;
        expect(got.state).toBe(MessageState.RECALLED);
        expect(got.recallEventSeq).toBe(9n);
        return false;
      });
    });

    it('D20 a row written again whole and later loses, or gains, its TTL', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      await store.insertRecord(where, record, life(INSERT_MICROS, 500));
      await store.insertRecord(where, record, life(INSERT_MICROS + 1n));
      expect((await readOne(store, where))?.ttlSeconds).toBeUndefined();
      await store.insertRecord(where, record, life(INSERT_MICROS + 2n, 500));
      expect((await readOne(store, where))?.ttlSeconds).toBeLessThanOrEqual(500);
    });

    it('at equal timestamps a write that expires wins over one that does not', async () => {
      const { store } = opened();
      for (const [first, second] of [
        [500, undefined],
        [undefined, 500],
      ] as const) {
        const where = somewhere(1n);
        const record = fullRecord(1n);
        await store.insertRecord(where, record, life(INSERT_MICROS, first));
        await store.insertRecord(where, record, life(INSERT_MICROS, second));
        expect((await readOne(store, where))?.ttlSeconds).toBeLessThanOrEqual(500);
      }
    });

    it('at equal timestamps the write that expires later wins', async () => {
      const { store } = opened();
      for (const ttls of [
        [500, 1000],
        [1000, 500],
      ] as const) {
        const where = somewhere(1n);
        const record = fullRecord(1n);
        for (const ttl of ttls) await store.insertRecord(where, record, life(INSERT_MICROS, ttl));
        expect((await readOne(store, where))?.ttlSeconds).toBeGreaterThan(500);
      }
    });
  });
}
