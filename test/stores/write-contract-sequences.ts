/** Windows of sequence numbers: never handed out twice, holes are fine (R5.1 step 2). */
import { describe, expect, it } from 'vitest';
import type { SeqWindow, WriteStore } from '../../src/domain/write-ports.js';
import { conversation, tenant } from './fixtures.js';
import { type Opened, type Place, place } from './write-contract.js';

const NOW_MS = 1_750_000_000_000n;
const reserve = (store: WriteStore, where: Place, count: number, nowMs = NOW_MS) =>
  store.reserveWindow(where.tenantId, where.conversationId, count, nowMs);

/** Every seq of the windows, or an error when one is in two of them. */
function seqsOf(windows: readonly SeqWindow[]): Set<bigint> {
  const seqs = new Set<bigint>();
  for (const { first, count } of windows) {
    for (let at = 0n; at < BigInt(count); at++) {
      if (seqs.has(first + at)) throw new Error(`${first + at} is in two windows`);
      seqs.add(first + at);
    }
  }
  return seqs;
}

export function sequenceContract(opened: Opened): void {
  describe('sequence windows', () => {
    it.each([0, -1, 0.5, Number.NaN, 2 ** 53])(
      'a window of %s seqs is a bug and takes nothing',
      async (count) => {
        const { writes } = opened();
        const where = place();
        await expect(reserve(writes, where, count)).rejects.toThrow('a window');
        expect((await reserve(writes, where, 1)).first).toBe(1n);
      },
    );

    it('begin at 1 and follow each other, of whatever size', async () => {
      const { writes } = opened();
      const where = place();
      const windows: SeqWindow[] = [];
      for (const count of [4096, 1, 7, 4096]) windows.push(await reserve(writes, where, count));
      expect(windows.map(({ first, count }) => [first, count])).toEqual([
        [1n, 4096],
        [4097n, 1],
        [4098n, 7],
        [4105n, 4096],
      ]);
    });

    it('tell where they end, to every client', async () => {
      const { writes, second } = opened();
      const where = place();
      const endOf = (store: WriteStore) => store.reservedEnd(where.tenantId, where.conversationId);
      expect(await endOf(writes)).toBeUndefined();
      await reserve(writes, where, 4096);
      expect([await endOf(writes), await endOf(second)]).toEqual([4097n, 4097n]);
      await reserve(second, where, 3);
      expect([await endOf(writes), await endOf(second)]).toEqual([4100n, 4100n]);
    });

    it('B10 after a crash inside a window the next one lies beyond all of it: a hole, never a repeat', async () => {
      const { writes, second } = opened();
      const where = place();
      const crashed = await reserve(writes, where, 4096);
      const next = await reserve(second, where, 4096);
      expect(next.first).toBe(crashed.first + 4096n);
      expect((await reserve(writes, where, 4096)).first).toBe(next.first + 4096n);
    });

    it('two clients that reserve at once never overlap, and waste nothing that was answered', {
      timeout: 60_000,
    }, async () => {
      const { writes, second } = opened();
      const where = place();
      const lane = async (store: WriteStore): Promise<SeqWindow[]> => {
        const windows: SeqWindow[] = [];
        for (let round = 0; round < 12; round++) windows.push(await reserve(store, where, 3));
        return windows;
      };
      const windows = (await Promise.all([lane(writes), lane(second), lane(second)])).flat();
      expect(seqsOf(windows).size).toBe(36 * 3);
    });

    it('conversations and tenants count by themselves', async () => {
      const { writes } = opened();
      const where = place();
      await reserve(writes, where, 10);
      expect((await reserve(writes, { ...where, conversationId: conversation() }, 1)).first).toBe(1n);
      expect((await reserve(writes, { ...where, tenantId: tenant() }, 1)).first).toBe(1n);
    });

    it('ids rise with the windows: the floor is the latest time given, also for an owner whose clock is behind', async () => {
      const { writes, second } = opened();
      const where = place();
      expect((await reserve(writes, where, 1, NOW_MS)).idFloorMs).toBe(NOW_MS);
      expect((await reserve(second, where, 1, NOW_MS - 5_000n)).idFloorMs).toBe(NOW_MS);
      expect((await reserve(writes, where, 1, NOW_MS + 7n)).idFloorMs).toBe(NOW_MS + 7n);
      expect((await reserve(second, where, 1, NOW_MS)).idFloorMs).toBe(NOW_MS + 7n);
    });
  });
}
