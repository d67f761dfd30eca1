/** Reaction summaries: absolute counts key by key, the version as the write's timestamp (D19). */
import { describe, expect, it } from 'vitest';
import type { Opened } from './contract.js';
import { at, fullRecord, life, readRange, readSummary, somewhere, summary } from './fixtures.js';

export function summaryContract(opened: Opened): void {
  describe('reaction summaries', () => {
    it('R4.4 come in the same visit as the messages, each at its seq', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      for (const seq of [1n, 2n, 3n]) await store.insertRecord(at(where, seq), fullRecord(seq), life());
      await store.putSummary(at(where, 3n), summary(3n, 7n, [['\u{1f44d}', 4]]));
      const rows = await readRange(store, where, 3n);
      expect(rows.records.length).toBe(3);
      expect(rows.summaries).toEqual([summary(3n, 7n, [['\u{1f44d}', 4]])]);
    });

    it('D19 a version replaces counts by key; a key that it does not name stays', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(
        where,
        summary(1n, 1n, [
          ['a', 3],
          ['b', 1],
        ]),
      );
      await store.putSummary(where, summary(1n, 2n, [['b', 5]]));
      expect(await readSummary(store, where)).toEqual(
        summary(1n, 2n, [
          ['a', 3],
          ['b', 5],
        ]),
      );
    });

    it('D19 a late older version changes nothing', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(where, summary(1n, 9n, [['a', 2]]));
      await store.putSummary(where, summary(1n, 4n, [['a', 8]]));
      expect(await readSummary(store, where)).toEqual(summary(1n, 9n, [['a', 2]]));
    });

    it('D19 a late older version adds the keys that no newer one named', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(where, summary(1n, 9n, [['a', 2]]));
      await store.putSummary(
        where,
        summary(1n, 4n, [
          ['a', 8],
          ['b', 1],
        ]),
      );
      expect(await readSummary(store, where)).toEqual(
        summary(1n, 9n, [
          ['a', 2],
          ['b', 1],
        ]),
      );
    });

    it('D19 0 stands for gone and is not shown; a late older count does not bring it back', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(
        where,
        summary(1n, 1n, [
          ['a', 3],
          ['b', 1],
        ]),
      );
      await store.putSummary(where, summary(1n, 3n, [['a', 0]]));
      await store.putSummary(where, summary(1n, 2n, [['a', 2]]));
      expect(await readSummary(store, where)).toEqual(summary(1n, 3n, [['b', 1]]));
    });

    it('keeps its version when nobody reacts any more', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(where, summary(1n, 1n, [['a', 1]]));
      await store.putSummary(where, summary(1n, 2n, [['a', 0]]));
      expect(await readSummary(store, where)).toEqual(summary(1n, 2n, []));
    });

    it('B05 a repeated write of one version changes nothing', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      for (let i = 0; i < 3; i++) await store.putSummary(where, summary(1n, 5n, [['a', 2]]));
      expect(await readSummary(store, where)).toEqual(summary(1n, 5n, [['a', 2]]));
    });

    it('B47 keys like __proto__ and toString are plain keys; counts of 0 and below are not shown', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(
        where,
        summary(1n, 1n, [
          ['__proto__', 1],
          ['constructor', 2 ** 31 - 1],
          ['gone', 0],
          ['odd', -1],
          ['toString', 2],
        ]),
      );
      expect(await readSummary(store, where)).toEqual(
        summary(1n, 1n, [
          ['__proto__', 1],
          ['constructor', 2 ** 31 - 1],
          ['toString', 2],
        ]),
      );
      expect(({} as Record<string, unknown>)['1']).toBeUndefined();
    });

    it('D19 the empty key, which taking a reaction back leaves, is not shown', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(
        where,
        summary(1n, 1n, [
          ['', 3],
          ['a', 1],
        ]),
      );
      expect(await readSummary(store, where)).toEqual(summary(1n, 1n, [['a', 1]]));
    });

    it('gives the keys in the order of their UTF-8 bytes', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      // UTF-16 order would put U+1F44D (surrogates) before U+FF5E.
      await store.putSummary(
        where,
        summary(1n, 1n, [
          ['\u{1f44d}', 1],
          ['\uff5e', 2],
          ['z', 3],
        ]),
      );
      expect((await readSummary(store, where))?.counts.map(([key]) => key)).toEqual([
        'z',
        '\uff5e',
        '\u{1f44d}',
      ]);
    });

    it('B01 carries versions above 2^53 exactly', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(where, summary(1n, 2n ** 53n, [['a', 1]]));
      await store.putSummary(where, summary(1n, 2n ** 53n + 1n, [['a', 2]]));
      expect(await readSummary(store, where)).toEqual(summary(1n, 2n ** 53n + 1n, [['a', 2]]));
    });

    it('a summary without updated_at has none', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.putSummary(where, { seq: 1n, version: 1n, counts: [['a', 1]], updatedAtMs: undefined });
      expect(await readSummary(store, where)).toEqual({
        seq: 1n,
        version: 1n,
        counts: [['a', 1]],
        updatedAtMs: undefined,
      });
    });

    it('are read by IN lists and covering ranges alike', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      for (const seq of [1n, 2n, 3n]) await store.putSummary(at(where, seq), summary(seq, 1n, [['a', 1]]));
      const rows = await store.readGroup({
        tenantId: where.tenantId,
        conversationId: where.conversationId,
        bucket: 0n,
        statements: [
          { shape: 'in', seqs: [1n] },
          { shape: 'covering', from: 2n, to: 3n },
        ],
      });
      expect(rows.summaries.map((row) => row.seq).sort()).toEqual([1n, 2n, 3n]);
      expect(rows.records).toEqual([]);
      expect(rows.cost).toMatchObject({ recordStatements: 2, summaryStatements: 2 });
    });
  });
}
