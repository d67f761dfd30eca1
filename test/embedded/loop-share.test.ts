/** The embedded store's reads leave the event loop to others, however many of them are asked for at once. */
import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/domain/ports.js';
import { LoopShare } from '../../src/embedded/loop-share.js';
import { at, bareRecord, groupRead, life, somewhere } from '../stores/fixtures.js';
import { openFor, SetClock, temporaryDirectory } from './embedded-fixtures.js';

const GROUPS = 4_096;

const realClock: Clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

/** A clock on which each look takes a millisecond: how often a reader pauses does not depend on the machine. */
class SlowClock extends SetClock {
  override nowMs(): number {
    return ++this.ms;
  }
}

describe('a long read', () => {
  it('of 4,096 groups at once lets a timer fire before it is done', async () => {
    const { store } = await openFor(temporaryDirectory(), realClock);
    const where = somewhere(1n);
    await store.insertRecord(where, bareRecord(1n), life());
    let done = false;
    const reads = Promise.all(
      Array.from({ length: GROUPS }, () =>
        store.readGroup(groupRead(where, [{ shape: 'range', from: 0n, to: 4095n }])),
      ),
    ).then((groups) => {
      done = true;
      return groups;
    });
    const doneWhenFired = await new Promise<boolean>((resolve) => setTimeout(() => resolve(done), 1));
    expect(doneWhenFired).toBe(false);
    expect((await reads).every(({ records }) => records.length === 1)).toBe(true);
  });

  it.each([
    ['range', { shape: 'range', from: 1n, to: 40n }],
    ['IN list', { shape: 'in', seqs: Array.from({ length: 40 }, (_, i) => BigInt(i + 1)) }],
  ] as const)('of one %s goes on where it paused: every row once', async (_name, statement) => {
    const { store } = await openFor(temporaryDirectory(), new SlowClock());
    const where = somewhere(1n);
    const seqs = Array.from({ length: 40 }, (_, i) => BigInt(i + 1));
    await Promise.all(seqs.map((seq) => store.insertRecord(at(where, seq), bareRecord(seq), life())));
    let turns = 0;
    let done = false;
    const count = () => {
      turns++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    const { records } = await store.readGroup(groupRead(where, [statement]));
    done = true;
    expect(records.map((record) => record.seq)).toEqual(seqs);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('LoopShare', () => {
  it('is spent after a few milliseconds, and whole again in the next turn', async () => {
    const clock = new SetClock();
    const share = new LoopShare(clock);
    expect(share.isSpent()).toBe(false);
    clock.ms += 3;
    expect(share.isSpent()).toBe(false);
    clock.ms += 1;
    expect(share.isSpent()).toBe(true);
    await share.nextTurn();
    expect(share.isSpent()).toBe(false);
  });
});
