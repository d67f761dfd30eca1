import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { ALLOCATION_WAITERS_MAX, SEQ_WINDOW, SEQ_WINDOW_IDLE_MS } from '../../src/domain/limits.js';
import { type ReservedWindows, windowAfter } from '../../src/domain/seq-window.js';
import type { SequenceStore, SeqWindow } from '../../src/domain/write-ports.js';
import { type AllocatedMessage, WindowAllocator } from '../../src/write/allocator.js';
import { isOfConversation, prefixOf, revisionMicros } from '../../src/write/message-ids.js';
import { SetClock } from '../embedded/embedded-fixtures.js';
import { activity, conversation, tenant } from '../stores/fixtures.js';
import { eventually } from './head-fixtures.js';
import { chat, hex } from './write-fixtures.js';

/** Windows as both stores hand them out, kept in memory; reservations can be held and made to fail. */
class Windows implements SequenceStore {
  readonly reserved: SeqWindow[] = [];
  readonly #marks = new Map<string, ReservedWindows>();
  failure: Error | undefined;
  gate: Promise<void> | undefined;

  async reserveWindow(...[, conversationId, count, nowEpochMs]: Parameters<SequenceStore['reserveWindow']>) {
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    const key = hex(conversationId) as string;
    const { window, mark } = windowAfter(this.#marks.get(key), count, nowEpochMs);
    this.#marks.set(key, mark);
    this.reserved.push(window);
    return window;
  }

  async reservedEnd(...[, conversationId]: Parameters<SequenceStore['reservedEnd']>) {
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    return this.#marks.get(hex(conversationId) as string)?.nextSeq;
  }

  startAt(conversationId: Uint8Array, nextSeq: bigint): void {
    this.#marks.set(hex(conversationId) as string, { nextSeq, reservedAtMs: 0n });
  }
}

function allocatorOn(
  store: SequenceStore,
  clock = new SetClock(),
  conversationsMax?: number,
): WindowAllocator {
  return new WindowAllocator({
    store,
    clock,
    ...(conversationsMax === undefined ? {} : { conversationsMax }),
  });
}

/** Seqs and ids rise, in the order of the calls. */
function rising(allocated: readonly AllocatedMessage[]): void {
  const wrong = allocated.findIndex(({ seq, messageId }, index) => {
    const former = allocated[index - 1];
    return former !== undefined && (seq <= former.seq || Buffer.compare(messageId, former.messageId) <= 0);
  });
  expect(wrong).toBe(-1);
}

describe('WindowAllocator', () => {
  it('passes a failed reservation to all who wait, and asks again for the next', async () => {
    const store = new Windows();
    store.failure = new MailjoinError('STORE_UNAVAILABLE');
    const { tenantId, conversationId } = chat();
    const allocator = allocatorOn(store);
    const settled = await Promise.allSettled([
      allocator.allocateMessage(tenantId, conversationId),
      allocator.allocateMessage(tenantId, conversationId),
    ]);
    for (const one of settled) expect(one).toMatchObject({ reason: { code: 'STORE_UNAVAILABLE' } });
    store.failure = undefined;
    expect(await allocator.allocateMessage(tenantId, conversationId)).toMatchObject({ seq: 1n });
  });

  it('goes on from memory while a reservation ahead fails, and tells of it only when the window is used up', async () => {
    const store = new Windows();
    const { tenantId, conversationId } = chat();
    const allocator = allocatorOn(store);
    await allocator.allocateMessage(tenantId, conversationId);
    store.failure = new MailjoinError('STORE_UNAVAILABLE');
    for (let seq = 2; seq <= SEQ_WINDOW; seq++) await allocator.allocateMessage(tenantId, conversationId);
    await expect(allocator.allocateMessage(tenantId, conversationId)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  it('refuses more waiters than its bound: OVERLOADED', async () => {
    const store = new Windows();
    let open = (): void => undefined;
    store.gate = new Promise((resolve) => {
      open = resolve;
    });
    const { tenantId, conversationId } = chat();
    const allocator = allocatorOn(store);
    const waiting = Array.from({ length: ALLOCATION_WAITERS_MAX }, () =>
      allocator.allocateMessage(tenantId, conversationId),
    );
    await expect(allocator.allocateMessage(tenantId, conversationId)).rejects.toMatchObject({
      code: 'OVERLOADED',
    });
    open();
    rising(await Promise.all(waiting));
    expect(store.reserved.length).toBe(ALLOCATION_WAITERS_MAX / SEQ_WINDOW + 1);
  });

  it('refuses a window that was handed out before, and one beyond 2^63 (R1.1)', async () => {
    const { tenantId, conversationId } = chat();
    const reservedEnd = async () => undefined;
    const repeated = allocatorOn({
      reservedEnd,
      reserveWindow: async () => ({ first: 1n, count: 1, idFloorMs: 0n }),
    });
    await repeated.allocateMessage(tenantId, conversationId);
    await expect(repeated.allocateMessage(tenantId, conversationId)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
    });
    const beyond = allocatorOn({
      reservedEnd,
      reserveWindow: async () => ({ first: 2n ** 63n - 1n, count: 2, idFloorMs: 0n }),
    });
    await expect(beyond.allocateMessage(tenantId, conversationId)).rejects.toMatchObject({
      code: 'ERR_ASSERTION',
    });
    const store = new Windows();
    store.startAt(conversationId, 2n ** 63n - BigInt(SEQ_WINDOW));
    await expect(allocatorOn(store).allocateMessage(tenantId, conversationId)).rejects.toMatchObject({
      code: 'SEQ_RANGE',
    });
  });

  it('S-2: hands out seqs up to 2^63 − 2 in order', async () => {
    const { tenantId, conversationId } = chat();
    const store = new Windows();
    store.startAt(conversationId, 2n ** 63n - 1n - BigInt(SEQ_WINDOW));
    const allocator = allocatorOn(store);
    const seqs: bigint[] = [];
    for (let count = 0; count < SEQ_WINDOW; count++) {
      seqs.push((await allocator.allocateMessage(tenantId, conversationId)).seq);
    }
    expect(seqs.at(-1)).toBe(2n ** 63n - 2n);
    await expect(allocator.allocateMessage(tenantId, conversationId)).rejects.toMatchObject({
      code: 'SEQ_RANGE',
    });
  });

  it('reserves once however many wait, and the next window before the current one ends', async () => {
    const store = new Windows();
    const { tenantId, conversationId } = chat();
    const allocator = allocatorOn(store);
    await Promise.all(Array.from({ length: 100 }, () => allocator.allocateMessage(tenantId, conversationId)));
    expect(store.reserved).toHaveLength(1);
    for (let count = 100; count < (SEQ_WINDOW * 3) / 4; count++) {
      await allocator.allocateMessage(tenantId, conversationId);
    }
    expect(store.reserved).toHaveLength(2);
    for (let count = (SEQ_WINDOW * 3) / 4; count < SEQ_WINDOW; count++) {
      await allocator.allocateMessage(tenantId, conversationId);
    }
    // The second window is there: no reservation is waited for.
    store.failure = new Error('not asked');
    expect(await allocator.allocateMessage(tenantId, conversationId)).toMatchObject({
      seq: BigInt(SEQ_WINDOW) + 1n,
    });
  });

  it('leaves a hole, and hands out nothing twice, after a crash and after an eviction', async () => {
    const store = new Windows();
    const { tenantId, conversationId } = chat();
    await allocatorOn(store).allocateMessage(tenantId, conversationId);
    const restarted = allocatorOn(store, new SetClock(), 1);
    expect(await restarted.allocateMessage(tenantId, conversationId)).toMatchObject({ seq: 4097n });
    await restarted.allocateMessage(tenantId, conversation());
    expect(await restarted.allocateMessage(tenantId, conversationId)).toMatchObject({ seq: 8193n });
  });

  it('R3.5: goes on with a window that was left alone only if nobody has reserved one above it', async () => {
    const store = new Windows();
    const clock = new SetClock();
    const { tenantId, conversationId } = chat();
    const allocator = allocatorOn(store, clock);
    const take = () => allocator.allocateMessage(tenantId, conversationId);
    const taken = [await take()];
    clock.ms += SEQ_WINDOW_IDLE_MS + 1;
    taken.push(...(await Promise.all([take(), take()])));
    expect(taken.map(({ seq }) => seq)).toEqual([1n, 2n, 3n]);
    // Another process's window: in use beside it this one goes on, left alone it is a hole.
    await allocatorOn(store, clock).allocateMessage(tenantId, conversationId);
    clock.ms += SEQ_WINDOW_IDLE_MS;
    taken.push(await take());
    expect(taken.at(-1)?.seq).toBe(4n);
    clock.ms += SEQ_WINDOW_IDLE_MS + 1;
    store.failure = new MailjoinError('STORE_UNAVAILABLE');
    await expect(take()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    store.failure = undefined;
    taken.push(...(await Promise.all([take(), take()])));
    expect(taken.slice(-2).map(({ seq }) => seq)).toEqual([8193n, 8194n]);
    rising(taken);
    expect(store.reserved).toHaveLength(3);
  });

  it('R3.5: what is left below another process’s window is a hole once left alone, also where one above that follows', async () => {
    const store = new Windows();
    const clock = new SetClock();
    const { tenantId, conversationId } = chat();
    const [ours, theirs] = [allocatorOn(store, clock), allocatorOn(store, clock)];
    const take = (allocator: WindowAllocator) => allocator.allocateMessage(tenantId, conversationId);
    await take(ours);
    await take(theirs);
    // The last quarter begins: the next window is reserved, above theirs.
    for (let taken = 1; taken < (SEQ_WINDOW * 3) / 4 + 5; taken++) await take(ours);
    await eventually(() => store.reserved.length === 3);
    clock.ms += SEQ_WINDOW_IDLE_MS + 1;
    expect(await take(ours)).toMatchObject({ seq: 8193n });
    expect(store.reserved).toHaveLength(3);
  });

  it('gives an event a revision a millisecond above the row’s, which lies in the future (B14)', async () => {
    const { tenantId, conversationId } = chat();
    const clock = new SetClock();
    const allocator = allocatorOn(new Windows(), clock);
    const hourMs = 3_600_000n;
    const ahead = BigInt(clock.ms) + hourMs;
    const revision = Buffer.alloc(16);
    revision.writeBigUInt64BE((ahead << 16n) | 5n);
    const former = { createdAtMs: BigInt(clock.ms), lastActivityId: activity(revision) };
    const event = await allocator.allocateEvent(tenantId, conversationId, former);
    expect(prefixOf(event.lastActivityId) >> 16n).toBe(ahead + 1n);
    expect(revisionMicros(event.lastActivityId)).toBeGreaterThan(revisionMicros(former.lastActivityId));
    const createdAhead = { createdAtMs: ahead, lastActivityId: undefined };
    const later = await allocator.allocateEvent(tenantId, conversationId, createdAhead);
    expect(revisionMicros(later.lastActivityId)).toBeGreaterThan(ahead * 1000n);
    // The conversation's own ids stay with the clock.
    const { messageId } = await allocator.allocateMessage(tenantId, conversationId);
    expect(prefixOf(messageId) >> 16n).toBeLessThan(BigInt(clock.ms) + 10n);
  });

  it('D14: gives events of two processes, whose clocks are behind their windows, different microseconds', async () => {
    let met = 0;
    for (let pair = 0; pair < 20; pair++) {
      const store = new Windows();
      const { tenantId, conversationId } = chat();
      const former = { createdAtMs: 1n, lastActivityId: undefined };
      await store.reserveWindow(tenantId, conversationId, 1, BigInt(new SetClock().ms + 60_000));
      const [a, b] = await Promise.all(
        [0, 1].map(() => allocatorOn(store).allocateEvent(tenantId, conversationId, former)),
      );
      if (a === undefined || b === undefined) throw new Error('two events');
      if (revisionMicros(a.lastActivityId) === revisionMicros(b.lastActivityId)) met++;
    }
    // One pair in about 500 does.
    expect(met).toBeLessThan(6);
  });

  it('refuses an event above the last possible revision, alone', async () => {
    const { tenantId, conversationId } = chat();
    const allocator = allocatorOn(new Windows());
    const former = { createdAtMs: 0n, lastActivityId: activity(Buffer.alloc(16, 0xff)) };
    const settled = await Promise.allSettled([
      allocator.allocateEvent(tenantId, conversationId, former),
      allocator.allocateMessage(tenantId, conversationId),
    ]);
    expect(settled[0]).toMatchObject({ reason: { code: 'STORE_CORRUPT' } });
    expect(settled[1]).toMatchObject({ value: { seq: 2n } });
  });

  it('B10, B14: ids rise strictly with the seqs, whatever the clock does, through windows, evictions and other owners', async () => {
    const step = fc.record({
      clockMs: fc.oneof(fc.constant(0), fc.integer({ min: -7_200_000, max: 7_200_000 })),
      conversation: fc.nat(2),
      burst: fc.integer({ min: 1, max: 3000 }),
      otherOwnerAheadMs: fc.option(fc.nat(3_600_000), { freq: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, kept) => {
          const store = new Windows();
          const clock = new SetClock();
          const allocator = allocatorOn(store, clock, kept);
          const tenantId = tenant();
          const conversations = [conversation(), conversation(), conversation()];
          const given = conversations.map((): AllocatedMessage[] => []);
          for (const { clockMs, conversation: index, burst, otherOwnerAheadMs } of steps) {
            clock.ms += clockMs;
            const conversationId = conversations[index] as (typeof conversations)[number];
            if (otherOwnerAheadMs !== null) {
              await store.reserveWindow(
                tenantId,
                conversationId,
                SEQ_WINDOW,
                BigInt(clock.ms + otherOwnerAheadMs),
              );
            }
            const asked = Array.from({ length: burst }, () =>
              allocator.allocateMessage(tenantId, conversationId),
            );
            given[index]?.push(...(await Promise.all(asked)));
          }
          for (const [index, allocated] of given.entries()) {
            rising(allocated);
            const conversationId = conversations[index] as (typeof conversations)[number];
            const other = conversations[(index + 1) % 3] as (typeof conversations)[number];
            for (const { messageId } of allocated.slice(0, 5)) {
              expect(isOfConversation(messageId, conversationId)).toBe(true);
              expect(isOfConversation(messageId, other)).toBe(false);
            }
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('a process that ends soon reserves so many seqs as it is told, and none ahead', async () => {
    const store = new Windows();
    const { tenantId, conversationId } = chat();
    const allocator = new WindowAllocator({ store, clock: new SetClock(), windowSeqs: 3 });
    const take = () => allocator.allocateMessage(tenantId, conversationId);
    // The fourth waits for the first window and finds it used up.
    rising(await Promise.all([take(), take(), take(), take()]));
    expect(store.reserved.map(({ first, count }) => [first, count])).toEqual([
      [1n, 3],
      [4n, 3],
    ]);
    await Promise.all([take(), take()]);
    expect(store.reserved).toHaveLength(2);
  });
});
