import { describe, expect, it } from 'vitest';
import {
  HEAD_ALERT_ATTEMPTS,
  HEAD_RETRY_MS,
  HEAD_TAKE_OVERS_MAX,
  HEADS_IN_FLIGHT_MAX,
} from '../../src/domain/limits.js';
import type { HeadStore } from '../../src/domain/write-ports.js';
import { CountedEpochs } from '../../src/write/head-epochs.js';
import type { HeadUpdate } from '../../src/write/head-state.js';
import { HeadWriter, type HeadWriterOptions } from '../../src/write/heads.js';
import { message, user } from '../stores/fixtures.js';
import {
  bytes,
  type Chat,
  chat,
  hex,
  previewText,
  type WritingProcess,
  writingProcess,
} from './write-fixtures.js';

/** A head writer of its own on a process's store, with waits that the test sees and that do not take time. */
function headWriter(process: WritingProcess, over: Partial<HeadWriterOptions> = {}) {
  const alerts: string[] = [];
  const pauses: number[] = [];
  const heads = new HeadWriter({
    store: process.opened.writes,
    epochs: new CountedEpochs(process.opened.writes, process.clock),
    sealer: process.sealer,
    clock: process.clock,
    onAlert: (alert) => alerts.push(alert),
    pause: async (ms) => void pauses.push(ms),
    ...over,
  });
  return { heads, alerts, pauses };
}

function update({ tenantId, conversationId }: Chat, seq: bigint, over: Partial<HeadUpdate> = {}): HeadUpdate {
  const messageId = message();
  return {
    tenantId,
    conversationId,
    seq,
    messageId,
    senderId: user(),
    preview: undefined,
    createdAtMs: 1n,
    isRepeated: false,
    ...over,
  };
}

async function latest(
  process: WritingProcess,
  { tenantId, conversationId }: Chat,
): Promise<bigint | undefined> {
  return (await process.opened.writes.readHead(tenantId, conversationId))?.latestSeq;
}

/** A store whose writes are held until the test lets them go. */
function heldStore(process: WritingProcess): {
  store: HeadWriterOptions['store'];
  release: () => void;
  started: () => number;
} {
  const { writes } = process.opened;
  const waiting: (() => void)[] = [];
  let started = 0;
  let isOpen = false;
  return {
    store: {
      claimHead: (...args) => writes.claimHead(...args),
      readHead: (...args) => writes.readHead(...args),
      writeHead: async (...args) => {
        started++;
        if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve));
        await writes.writeHead(...args);
      },
    },
    release: () => {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
    started: () => started,
  };
}

/** Passes when the event loop has run often enough for it to be true. */
async function eventually(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !isTrue(); turn++)
    await new Promise((resolve) => setImmediate(resolve));
  expect(isTrue()).toBe(true);
}

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

  it('D2: an old owner’s late write changes nothing, and it learns that it was superseded', async () => {
    const process = await writingProcess();
    const where = chat();
    const held = heldStore(process);
    const old = headWriter(process, { store: held.store });
    old.heads.update(update(where, 98n));
    await eventually(() => held.started() === 1);
    const owner = headWriter(process);
    owner.heads.update(update(where, 99n));
    await owner.heads.idle();
    held.release();
    await old.heads.idle();
    expect(await latest(process, where)).toBe(99n);
    expect(old.heads.stats()).toMatchObject({ written: 0, dropped: 0 });
  });

  it('D2, R5.2: an owner that has taken over and not written yet undoes nothing that the former one writes meanwhile', async () => {
    const process = await writingProcess();
    const where = chat();
    const former = headWriter(process);
    former.heads.update(update(where, 1n));
    await former.heads.idle();
    const held = heldStore(process);
    const next = headWriter(process, { store: held.store });
    next.heads.update(update(where, 2n));
    await eventually(() => held.started() === 1);
    former.heads.update(update(where, 3n));
    await former.heads.idle();
    held.release();
    await next.heads.idle();
    expect(await latest(process, where)).toBe(3n);
  });

  it('D2: an owner that died on its claim keeps nobody from writing, and nothing that was shown is lost', async () => {
    const process = await writingProcess();
    const where = chat();
    const { writes } = process.opened;
    const former = headWriter(process);
    const createdAtMs = BigInt(process.clock.ms);
    former.heads.update(update(where, 1n, { preview: bytes('one'), createdAtMs }));
    await former.heads.idle();
    await writes.claimHead(where.tenantId, where.conversationId, 9n);
    // What it shows already is written once more, above the claim.
    const repeated = update(where, 1n, { isRepeated: true });
    const { heads, alerts } = headWriter(process);
    heads.update(repeated);
    await heads.idle();
    const head = await writes.readHead(where.tenantId, where.conversationId);
    expect(head).toMatchObject({ latestSeq: 1n, fencingEpoch: 10n, headVersion: 1n });
    expect(await previewText(process, where)).toBe('one');
    await writes.claimHead(where.tenantId, where.conversationId, 19n);
    former.heads.update(update(where, 2n));
    await former.heads.idle();
    expect(await latest(process, where)).toBe(2n);
    expect(alerts).toEqual([]);
  });

  it('D2: where others take over without end an attempt ends, and is made again later', async () => {
    const process = await writingProcess();
    const where = chat();
    const { writes } = process.opened;
    let claims = 0;
    const store: HeadWriterOptions['store'] = {
      readHead: (...args) => writes.readHead(...args),
      writeHead: (...args) => writes.writeHead(...args),
      claimHead: async (tenantId, conversationId, epoch) => {
        await writes.claimHead(tenantId, conversationId, epoch);
        if (claims++ < HEAD_TAKE_OVERS_MAX) await writes.claimHead(tenantId, conversationId, epoch + 1n);
      },
    };
    const { heads, pauses } = headWriter(process, { store });
    heads.update(update(where, 4n));
    await heads.idle();
    expect(await latest(process, where)).toBe(4n);
    expect(pauses).toEqual([HEAD_RETRY_MS.first]);
    expect(heads.stats()).toMatchObject({ written: 1, failures: 1 });
  });

  it('D2: an owner whose epoch source gives no higher epoch is fenced: dropped, with an alert', async () => {
    const process = await writingProcess();
    const where = chat();
    const owner = headWriter(process, { epochs: { acquire: async () => 7n } });
    owner.heads.update(update(where, 10n));
    await owner.heads.idle();
    const fenced = headWriter(process, { epochs: { acquire: async () => 7n } });
    fenced.heads.update(update(where, 11n));
    await fenced.heads.idle();
    expect(await latest(process, where)).toBe(10n);
    expect(fenced.alerts).toEqual(['HEAD_DROPPED']);
  });

  it('D2: epochs pass those of another source, and versions count up from 1', async () => {
    const process = await writingProcess();
    const where = chat();
    const other = headWriter(process, { epochs: { acquire: async () => 5000n } });
    other.heads.update(update(where, 1n));
    await other.heads.idle();
    const { heads } = headWriter(process);
    for (const seq of [2n, 3n]) {
      heads.update(update(where, seq));
      await heads.idle();
    }
    const head = await process.opened.writes.readHead(where.tenantId, where.conversationId);
    expect(head).toMatchObject({ latestSeq: 3n, fencingEpoch: 5001n, headVersion: 2n });
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

  it('D23: seal the preview; one without a text, or whose key is gone, shows none and not its predecessor’s', async () => {
    const process = await writingProcess();
    const where = chat();
    const { heads } = headWriter(process);
    const createdAtMs = BigInt(process.clock.ms);
    heads.update(update(where, 1n, { preview: bytes('one'), createdAtMs }));
    await heads.idle();
    expect(await previewText(process, where)).toBe('one');
    heads.update(update(where, 2n, { createdAtMs }));
    await heads.idle();
    expect(await previewText(process, where)).toBeUndefined();
    heads.update(update(where, 3n, { preview: bytes('three'), createdAtMs }));
    await heads.idle();
    expect(await previewText(process, where)).toBe('three');
    const dekId = await process.sealer.keyAt(where.tenantId, where.conversationId, process.clock.ms);
    await process.keys.destroy(dekId);
    process.keyring.markDestroyed(dekId);
    heads.update(update(where, 4n, { preview: bytes('four'), createdAtMs }));
    await heads.idle();
    expect(await latest(process, where)).toBe(4n);
    expect(
      (await process.opened.writes.readHead(where.tenantId, where.conversationId))?.preview,
    ).toBeUndefined();
  });
});
