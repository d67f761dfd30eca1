import { describe, expect, it } from 'vitest';
import { DestructionWatcher, type DestructionWatcherOptions } from '../../src/crypto/destruction-watcher.js';
import { type DekId, dekKey } from '../../src/domain/message.js';
import { ManualTime } from './manual-time.js';
import { MemoryKeyStore } from './memory-key-store.js';

function setUp(options: Partial<DestructionWatcherOptions> = {}) {
  const store = new MemoryKeyStore();
  const time = new ManualTime();
  const told: string[] = [];
  const listeners = [(dekId: DekId) => void told.push(dekId.id)];
  const watcher = new DestructionWatcher({ store, clock: time, scheduler: time, listeners, ...options });
  /** Destroyed at this offset from now by the destroyer's clock. */
  const destroyElsewhere = async (id: string, skewMs = 0): Promise<void> => {
    const dekId = { scope: 't', id, version: 1 };
    store.keys.set(dekKey(dekId), {
      dekId,
      wrapped: undefined,
      createdAtEpochMs: 0,
      destroyedAtEpochMs: time.epochMs() + skewMs,
    });
  };
  return { store, time, told, watcher, destroyElsewhere };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('DestructionWatcher: failures', () => {
  it('a store that fails is counted, the age grows, and what was missed is told afterwards', async () => {
    const { store, time, told, watcher, destroyElsewhere } = setUp({ overlapMs: 0 });
    await watcher.poll();
    store.failing = true;
    await destroyElsewhere('a');
    for (let polls = 1; polls <= 3; polls++) {
      time.advance(2_000);
      await settled();
      expect(watcher.failures).toBe(polls);
      expect(watcher.lastSuccessAgeMs).toBe(polls * 2_000);
    }
    expect(told).toEqual([]);
    store.failing = false;
    time.advance(2_000);
    await settled();
    expect(told).toEqual(['a']);
    expect(watcher.lastSuccessAgeMs).toBe(0);
    await watcher.stop();
  });

  it('a store that hangs is given up on at the timeout, and the watch goes on', async () => {
    let asked = 0;
    const store = {
      destroyedSince: (): Promise<readonly DekId[]> => {
        asked++;
        return asked === 1 ? new Promise(() => {}) : Promise.resolve([{ scope: 't', id: 'a', version: 1 }]);
      },
    };
    const { time, told, watcher } = setUp({ store, pollMs: 1_000, pollTimeoutMs: 3_000 });
    watcher.start();
    time.advance(3_000);
    await settled();
    expect(watcher.failures).toBe(1);
    time.advance(1_000);
    await settled();
    expect(told).toEqual(['a']);
    await watcher.stop();
    expect(time.pending).toBe(0);
  });

  it('a store that throws at once does not end the watch', async () => {
    const store = {
      destroyedSince: (): Promise<readonly DekId[]> => {
        throw new Error('at once');
      },
    };
    const { time, watcher } = setUp({ store, pollMs: 1_000 });
    watcher.start();
    for (let i = 1; i <= 3; i++) {
      await settled();
      expect(watcher.failures).toBe(i);
      time.advance(1_000);
    }
    await watcher.stop();
  });

  it('a listener that throws is told again, the others and their keys are not held up', async () => {
    const told: string[] = [];
    let failures = 1;
    const { watcher, destroyElsewhere } = setUp({
      listeners: [
        (dekId) => {
          if (dekId.id === 'a' && failures-- > 0) throw new Error('not yet');
        },
        (dekId) => void told.push(dekId.id),
      ],
    });
    await destroyElsewhere('a');
    await destroyElsewhere('b');
    await watcher.poll();
    expect(told).toEqual(['a', 'b']);
    expect(watcher.failures).toBe(1);
    await watcher.poll();
    expect(told).toEqual(['a', 'b', 'a']);
    await watcher.poll();
    expect(told).toEqual(['a', 'b', 'a']);
    await watcher.stop();
  });
});

describe('DestructionWatcher', () => {
  it('tells of a key that another process destroyed within one poll interval, once', async () => {
    const { time, told, watcher, destroyElsewhere } = setUp({ pollMs: 2_000 });
    watcher.start();
    await settled();
    await destroyElsewhere('a');
    time.advance(2_000);
    await settled();
    expect(told).toEqual(['a']);
    for (let i = 0; i < 5; i++) {
      time.advance(2_000);
      await settled();
    }
    expect(told).toEqual(['a']);
    await watcher.stop();
  });

  it("does not miss a key whose destroyer's clock is behind by up to the overlap", async () => {
    const { time, told, watcher, destroyElsewhere } = setUp({ overlapMs: 60_000 });
    await watcher.poll();
    time.advance(500_000);
    await settled();
    await watcher.poll();
    await destroyElsewhere('late', -60_000);
    await watcher.poll();
    expect(told).toEqual(['late']);
    await watcher.stop();
  });

  it('does not ask from the future after its own clock was set back', async () => {
    const { time, told, watcher, destroyElsewhere } = setUp({ overlapMs: 1_000 });
    await watcher.poll();
    time.epochOffsetMs -= 3_600_000;
    await destroyElsewhere('a');
    await watcher.poll();
    expect(told).toEqual(['a']);
    await watcher.stop();
  });

  it('remembers a bounded number of keys, and tells again of those it forgot', async () => {
    const { told, watcher, destroyElsewhere } = setUp({ toldMax: 2 });
    for (const id of ['a', 'b', 'c']) await destroyElsewhere(id);
    await watcher.poll();
    await watcher.poll();
    expect(new Set(told)).toEqual(new Set(['a', 'b', 'c']));
    expect(told.length).toBeGreaterThan(3);
    await watcher.stop();
  });

  it('joins a poll under way, and polls no more once stopped', async () => {
    let asked = 0;
    let answer: (keys: readonly DekId[]) => void = () => {};
    const store = {
      destroyedSince: (): Promise<readonly DekId[]> => {
        asked++;
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
    };
    const { time, watcher } = setUp({ store });
    watcher.start();
    const joined = watcher.poll();
    await settled();
    expect(asked).toBe(1);
    let stopped = false;
    const stop = watcher.stop().then(() => {
      stopped = true;
    });
    await settled();
    expect(stopped).toBe(false);
    answer([]);
    await Promise.all([stop, joined]);
    time.advance(1_000_000);
    await watcher.poll();
    expect(asked).toBe(1);
    expect(time.pending).toBe(0);
  });
});
