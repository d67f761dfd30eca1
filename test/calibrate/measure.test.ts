/** Measuring, against a store whose time is made up: what it leaves out, when it ends, what it finds. */
import { describe, expect, it } from 'vitest';
import { calibrationOf } from '../../src/calibrate/calibration.js';
import { type MeasureOptions, measure, type Progress } from '../../src/calibrate/measure.js';
import { readPoints, rowsOf } from '../../src/calibrate/read-points.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { GroupRead } from '../../src/domain/ports.js';
import { groupOf, TimedStore } from './calibrate-fixtures.js';

const COSTS = { statement: 650, row: 11, element: 17 };
const GROUPS = [groupOf(4_096)];

/** Numbers that look random and are the same in each run. */
function steady(): () => number {
  let state = 7;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function options(store: TimedStore, over: Partial<MeasureOptions> = {}): MeasureOptions {
  return {
    reader: store,
    clock: { nowMs: () => store.nowMs },
    groups: GROUPS,
    points: readPoints(GROUPS),
    rounds: 3,
    withinMs: Number.POSITIVE_INFINITY,
    random: steady(),
    signal: new AbortController().signal,
    ...over,
  };
}

const longestList = ({ statements }: GroupRead): number =>
  Math.max(...statements.map((statement) => (statement.shape === 'in' ? statement.seqs.length : 0)));

describe('what goes wrong', () => {
  it.each(['STORE_REFUSED', 'STORE_UNAVAILABLE'] as const)(
    'IN lists that are too long for the store (%s, as ScyllaDB’s arrive) are left out, told, and bound the cap',
    async (code) => {
      const store = new TimedStore(COSTS, (read) => {
        if (longestList(read) > 100) throw new MailjoinError(code);
        return undefined;
      });
      const measured = await measure(options(store));
      if (measured === undefined) throw new Error('it was not stopped');
      expect(measured.failures).toBe(0);
      expect(new Set(measured.refused.map(({ inCap }) => inCap))).toEqual(new Set([150, 200]));
      expect(measured.figures.some(({ point }) => point.shape === 'range' && point.wanted === 1_000)).toBe(
        true,
      );
      const { constants, inCaps } = calibrationOf(GROUPS, measured);
      expect(constants.inCap).toBe(100);
      expect(inCaps.map(({ inCap }) => inCap)).toEqual([10, 25, 50, 100]);
      // Longer lists are not tried once one is refused.
      expect(store.reads.filter((read) => longestList(read) > 150)).toEqual([]);
    },
  );

  it('a range that is too long for the store’s time is left out, and nothing else', async () => {
    const store = new TimedStore(COSTS, ({ statements: [first] }) => {
      if (first?.shape !== 'in' && Number((first?.to ?? 0n) - (first?.from ?? 0n)) >= 900) {
        throw new MailjoinError('STORE_UNAVAILABLE');
      }
      return undefined;
    });
    const measured = await measure(options(store));
    expect(measured?.refused.map(rowsOf)).toEqual([1_000]);
  });

  it('a store that answers nothing ends it with its own error', async () => {
    const store = new TimedStore(COSTS, () => {
      throw new MailjoinError('STORE_UNAVAILABLE');
    });
    await expect(measure(options(store))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('a corrupt bucket ends it, and is not taken for a refusal', async () => {
    const store = new TimedStore(COSTS, (read) => {
      if (longestList(read) === 50) throw new MailjoinError('STORE_CORRUPT');
      return undefined;
    });
    await expect(measure(options(store))).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  it('a bug is not counted as a failed read', async () => {
    const store = new TimedStore(COSTS, () => {
      throw new TypeError('a bug');
    });
    await expect(measure(options(store))).rejects.toThrow(TypeError);
  });

  it('a read that fails now and then is counted and left out', async () => {
    const warmUpReads = 2 * readPoints(GROUPS).length;
    const store = new TimedStore(COSTS, (_, count) => {
      if (count > warmUpReads && count % 50 === 0) throw new MailjoinError('STORE_UNAVAILABLE');
      return undefined;
    });
    const measured = await measure(options(store));
    expect(measured?.failures).toBeGreaterThan(3);
    const samples = measured?.figures.reduce((sum, figure) => sum + figure.samples, 0);
    expect(samples).toBe((measured?.reads ?? 0) - (measured?.failures ?? 0));
  });

  it('a read whose rows went is made at another place, and told', async () => {
    const warmUpReads = 2 * readPoints(GROUPS).length;
    const store = new TimedStore(COSTS, (_, count) =>
      count > warmUpReads && count % 50 < 2 ? 'missing row' : undefined,
    );
    const measured = await measure(options(store));
    expect(measured?.failures).toBe(0);
    expect(measured?.changedReads).toBeGreaterThan(6);
    // No figure is lost: two places in a row are fewer than are tried.
    const samples = measured?.figures.reduce((sum, figure) => sum + figure.samples, 0);
    expect(samples).toBe((measured?.reads ?? 0) - (measured?.changedReads ?? 0));
    expect(measured?.figures.map((figure) => figure.samples % 3)).toEqual(measured?.figures.map(() => 0));
  });

  it('rows that went already in the warm-up are no refusal', async () => {
    const store = new TimedStore(COSTS, (_, count) => (count < 40 ? 'missing row' : undefined));
    const measured = await measure(options(store));
    expect([measured?.refused, measured?.changedReads]).toEqual([[], 0]);
  });

  it('a row that is gone from the middle takes the longest reads away, and no others', async () => {
    const gone = 2_048n;
    const store = new TimedStore(COSTS, ({ statements }) => {
      const has = statements.some((statement) =>
        statement.shape === 'in'
          ? statement.seqs.includes(gone)
          : statement.from <= gone && gone <= statement.to,
      );
      return has ? 'missing row' : undefined;
    });
    const measured = await measure(options(store));
    expect(measured?.roundsDone).toBe(3);
    expect(measured?.changedReads).toBeGreaterThan(0);
    expect(measured?.figures.length).toBeGreaterThan(readPoints(GROUPS).length - 10);
  });

  it('ROWS_CHANGED when most reads find other rows than before, after the round in which that is so', async () => {
    const warmUpReads = 2 * readPoints(GROUPS).length;
    const store = new TimedStore(COSTS, (_, count) => (count > warmUpReads + 20 ? 'missing row' : undefined));
    await expect(measure(options(store, { rounds: 9 }))).rejects.toMatchObject({ code: 'ROWS_CHANGED' });
    expect(store.reads.length).toBeLessThan(warmUpReads + 2 * 3 * readPoints(GROUPS).length);
  });

  it('CLOCK_TOO_COARSE when reads take no time by it, rather than constants of nothing', async () => {
    const store = new TimedStore(COSTS);
    const clock = { nowMs: () => Math.floor(store.nowMs / 16) * 16 };
    await expect(measure(options(store, { clock }))).rejects.toMatchObject({ code: 'CLOCK_TOO_COARSE' });
  });

  it('a signal ends it at once, in the warm-up and later', async () => {
    for (const readsBefore of [5, 2 * readPoints(GROUPS).length + 5]) {
      const stop = new AbortController();
      const store = new TimedStore(COSTS, (_, count) => {
        if (count === readsBefore) stop.abort();
        return undefined;
      });
      expect(await measure(options(store, { signal: stop.signal }))).toBeUndefined();
      expect(store.reads).toHaveLength(readsBefore);
    }
  });
});

describe('measuring', () => {
  it('takes every point in every round, in orders and at places that the seed repeats', async () => {
    const [store, again] = [new TimedStore(COSTS), new TimedStore(COSTS)];
    const measured = await measure(options(store, { rounds: 4 }));
    await measure(options(again, { rounds: 4 }));
    expect(measured?.roundsDone).toBe(4);
    expect(measured?.figures.map(({ samples }) => samples % 4)).toEqual(measured?.figures.map(() => 0));
    expect(measured?.figures).toHaveLength(readPoints(GROUPS).length);
    expect(again.reads).toEqual(store.reads);
    const starts = store.reads.map(({ statements: [first] }) => first?.shape !== 'in' && first?.from);
    expect(new Set(starts).size).toBeGreaterThan(50);
  });

  it('ends when its time is over, but not before three rounds', async () => {
    const soon = await measure(options(new TimedStore(COSTS), { rounds: 100, withinMs: 1 }));
    expect(soon?.roundsDone).toBe(3);
    const store = new TimedStore(COSTS);
    const timed = await measure(options(store, { rounds: 10_000, withinMs: 5_000 }));
    expect(timed?.roundsDone).toBeGreaterThan(3);
    expect(timed?.roundsDone).toBeLessThan(100);
  });

  it('tells how it goes on, down to the end', async () => {
    const told: (readonly [number, number | undefined])[] = [];
    await measure(
      options(new TimedStore(COSTS), {
        onProgress: ({ roundsDone, msLeft }) => told.push([roundsDone, msLeft && Math.round(msLeft)]),
      }),
    );
    expect(told.map(([roundsDone]) => roundsDone)).toEqual([0, 1, 2, 3]);
    expect(told.at(0)?.[1]).toBeUndefined();
    expect(told.at(1)?.[1]).toBeGreaterThan(0);
    expect(told.at(3)?.[1]).toBe(0);
    const late: (number | undefined)[] = [];
    const onProgress = ({ msLeft }: Progress): void => void late.push(msLeft);
    await measure(options(new TimedStore(COSTS), { rounds: 9, withinMs: 1, onProgress }));
    // Its time is over after the first round, and it is not done.
    expect(late.map((msLeft) => msLeft === 0)).toEqual([false, false, false, true]);
  });

  it('R7.3: the constants of a store come back, for each size of rows its own crossover', async () => {
    const groups = [groupOf(4_096, 600), groupOf(4_096, 200)];
    const store = new TimedStore(COSTS);
    const measured = await measure(options(store, { groups, points: readPoints(groups) }));
    if (measured === undefined) throw new Error('it was not stopped');
    const { constants, sizes } = calibrationOf(groups, measured);
    // This store does one statement after the other, so long lists are the fastest, and 100 is 16 % behind 200.
    expect(constants).toEqual({
      inCap: 150,
      statementMicros: 650,
      furtherStatementMicros: 650,
      rangeRowMicros: 11,
      inElementMicros: 17,
    });
    expect(sizes.map(({ crossover }) => crossover?.toFixed(3))).toEqual(['1.545', '1.545']);
    expect(sizes.map(({ rowBytes }) => rowBytes)).toEqual([600, 200]);
  });
});
