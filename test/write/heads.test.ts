import { describe, expect, it } from 'vitest';
import { HEAD_ALERT_ATTEMPTS, HEAD_RETRY_MS, HEADS_IN_FLIGHT_MAX } from '../../src/domain/limits.js';
import type { HeadStore } from '../../src/domain/write-ports.js';
import type { HeadWriterOptions } from '../../src/write/heads.js';
import { message } from '../stores/fixtures.js';
import { eventually, headWriter, heldStore, latest, update } from './head-fixtures.js';
import { chat, hex, writingProcess } from './write-fixtures.js';

describe('head updates', () => {
  it('are tried again with backoff until they are written, and raise an alert on the way', async () => {
    const process = await writingProcess();
    const where = chat();
    let failures = 7;
    const { writes } = process.opened;
    const store: Pick<HeadStore, 'claimHead' | 'writeHead' | 'readHead'> = {
      claimHead: (...args) => writes.claimHead(...args),
      readHead: (...args) => writes.readHead(...args),
      writeHead: (...args) =>
        failures-- > 0 ? Promise.reject(new Error('down')) : writes.writeHead(...args),
    };
    const { heads, alerts, pauses } = headWriter(process, { store });
    heads.update(update(where, 5n));
    await heads.idle();
    expect(await latest(process, where)).toBe(5n);
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1600, 3200]);
    expect(alerts).toEqual(['HEAD_DELAYED']);
    expect(pauses.length).toBeGreaterThan(HEAD_ALERT_ATTEMPTS);
    expect(heads.stats()).toMatchObject({ pending: 0, written: 1, failures: 7 });
    expect(Math.max(...pauses)).toBeLessThanOrEqual(HEAD_RETRY_MS.max);
  });

  it('that arrive while a write fails are not lost, and the older ones do not come back', async () => {
    const process = await writingProcess();
    const where = chat();
    const { writes } = process.opened;
    let failing = true;
    const store: Pick<HeadStore, 'claimHead' | 'writeHead' | 'readHead'> = {
      claimHead: (...args) => writes.claimHead(...args),
      readHead: (...args) => writes.readHead(...args),
      writeHead: async (...args) => {
        if (!failing) return writes.writeHead(...args);
        failing = false;
        heads.update(update(where, 6n));
        throw new Error('down');
      },
    };
    const { heads, alerts } = headWriter(process, { store });
    heads.update(update(where, 5n));
    await heads.idle();
    expect(await latest(process, where)).toBe(6n);
    expect(alerts).toEqual([]);
  });

  it('B49, R5.2: 12, 11, 13, 10 end at 13; those that would move back are dropped with an alert', async () => {
    const process = await writingProcess();
    const where = chat();
    const { heads, alerts } = headWriter(process);
    for (const seq of [12n, 11n, 13n, 10n]) {
      process.clock.ms -= 5000;
      heads.update(update(where, seq));
      await heads.idle();
    }
    expect(await latest(process, where)).toBe(13n);
    expect(alerts).toEqual(['HEAD_BACKWARD', 'HEAD_BACKWARD']);
    expect(heads.stats()).toMatchObject({ backward: 2, dropped: 0 });
  });

  it('B49: 12, 11, 13, 10 by four processes, with clocks 5 s apart, end at 13; so does an edit of 3', async () => {
    const process = await writingProcess();
    const where = chat();
    const writers = [12n, 11n, 13n, 10n].map((seq) => ({ seq, ...headWriter(process) }));
    for (const { seq, heads } of writers) heads.update(update(where, seq));
    await Promise.all(writers.map(({ heads }) => heads.idle()));
    expect(await latest(process, where)).toBe(13n);
    const { heads } = headWriter(process);
    await heads.revise({
      ...update(where, 3n),
      lastActivityId: message(Buffer.alloc(16, 0xff)) as never,
      keyAtMs: 1n,
    });
    const head = await process.opened.writes.readHead(where.tenantId, where.conversationId);
    expect(head?.latestSeq).toBe(13n);
    expect(hex(head?.lastActivityId)).not.toBe('ff'.repeat(16));
  });

  it('B49: of processes that do not know of each other end at the highest seq, in any interleaving', async () => {
    const process = await writingProcess();
    const where = chat();
    const writers = [headWriter(process), headWriter(process), headWriter(process)];
    for (let seq = 1n; seq <= 60n; seq++) {
      writers[Number(seq % 3n)]?.heads.update(update(where, seq));
      if (seq % 7n === 0n) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(writers.map(({ heads }) => heads.idle()));
    expect(await latest(process, where)).toBe(60n);
  });

  it('of one conversation are merged while a write is under way, and none waits for another conversation', async () => {
    const process = await writingProcess();
    const where = chat();
    const held = heldStore(process);
    const { heads } = headWriter(process, { store: held.store });
    for (let seq = 1n; seq <= 100n; seq++) heads.update(update(where, seq));
    await eventually(() => held.started() === 1);
    const elsewhere = chat();
    heads.update(update(elsewhere, 1n));
    await eventually(() => held.started() === 2);
    held.release();
    await heads.idle();
    expect(await latest(process, where)).toBe(100n);
    expect(await latest(process, elsewhere)).toBe(1n);
    expect(held.started()).toBe(3);
  });

  it('are bounded: beyond it an update is dropped with an alert, a known conversation’s is merged', async () => {
    const process = await writingProcess();
    const held = heldStore(process);
    const { heads, alerts } = headWriter(process, { store: held.store, pendingMax: 2 });
    const [a, b, c] = [chat(), chat(), chat()];
    for (const where of [a, b, c]) heads.update(update(where, 1n));
    await heads.revise({ ...update(c, 1n), lastActivityId: message() as never, keyAtMs: 1n });
    heads.update(update(a, 2n));
    expect(alerts).toEqual(['HEAD_DROPPED', 'HEAD_DROPPED']);
    held.release();
    await heads.idle();
    expect(await latest(process, a)).toBe(2n);
    expect(await latest(process, c)).toBeUndefined();
  });

  it('write at most so many heads at once', async () => {
    const process = await writingProcess();
    const held = heldStore(process);
    const { heads } = headWriter(process, { store: held.store });
    const chats = Array.from({ length: HEADS_IN_FLIGHT_MAX + 5 }, chat);
    for (const where of chats) heads.update(update(where, 1n));
    await eventually(() => held.started() === HEADS_IN_FLIGHT_MAX);
    held.release();
    await heads.idle();
    expect(held.started()).toBe(chats.length);
  });

  it('are waited for by close(), which then takes no more', async () => {
    const process = await writingProcess();
    const where = chat();
    const { heads, alerts } = headWriter(process, { pause: () => new Promise(() => undefined) });
    heads.update(update(where, 4n));
    expect(await heads.close(1000)).toBe(0);
    expect(await latest(process, where)).toBe(4n);
    heads.update(update(where, 5n));
    expect(alerts).toEqual(['HEAD_DROPPED']);
  });

  it('that are still unwritten at close()’s end are told', async () => {
    const process = await writingProcess();
    const where = chat();
    const store: HeadWriterOptions['store'] = {
      claimHead: () => Promise.reject(new Error('down')),
      readHead: () => Promise.reject(new Error('down')),
      writeHead: () => Promise.reject(new Error('down')),
    };
    const { heads, alerts } = headWriter(process, {
      store,
      pause: (ms, signal) =>
        ms === 1234
          ? Promise.resolve()
          : new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    });
    heads.update(update(where, 4n));
    expect(await heads.close(1234)).toBe(1);
    expect(alerts).toEqual(['HEAD_DROPPED']);
  });
});
