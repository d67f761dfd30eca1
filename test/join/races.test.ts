// What happens between a read and its publication: expiry, invalidation, key destruction; and flights whose hashes meet.
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { describe, expect, it, vi } from 'vitest';
import { openItems } from '../../src/crypto/open-items.js';
import type { MessageId, TenantId } from '../../src/domain/ids.js';
import { FLIGHT_SIBLINGS_MAX } from '../../src/domain/limits.js';
import { dekKey } from '../../src/domain/message.js';
import type { OpenJob } from '../../src/domain/open-job.js';
import type { BodyCache } from '../../src/domain/ports.js';
import { Batch } from '../../src/join/batch.js';
import { Flight, Flights, type Waiter } from '../../src/join/flights.js';
import { Turn } from '../../src/join/read-gate.js';
import { makeWorld, names, newConversation, revision, TENANT, textOf } from './harness.js';
import { regionCache } from './region-cache.js';

/** An opener that waits until it is let go, over a cache of its own. */
function heldOpener(nowMs: number) {
  const { cache, regionBytes } = regionCache(nowMs);
  let begin!: () => void;
  let release!: () => void;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const open = async (job: OpenJob) => {
    begin();
    await gate;
    return openItems(job, regionBytes);
  };
  return { cache, opener: { open }, begun, release };
}

describe('a body without a TTL', () => {
  it('is served from the cache for the maximum age, counted from when its read was sent, and not longer', async () => {
    const { add, join, store, clock } = makeWorld();
    const reference = add(newConversation(), 1n, 'text');
    const release = store.hold();
    const arrived = store.arrival();
    const first = join([reference]);
    await arrived;
    clock.now += 30_000;
    release();
    await first;
    clock.now += 29_999;
    await join([reference]);
    expect(store.reads).toHaveLength(1);
    clock.now += 1;
    await join([reference]);
    expect(store.reads).toHaveLength(2);
  });
});

describe('while a body is being opened', () => {
  it('B37 its key is destroyed: ERASED, and nothing of it is cached', async () => {
    const { cache, opener, begun, release } = heldOpener(1_000_000);
    const { add, join, keyring, dekId } = makeWorld({ cache, opener });
    const reference = add(newConversation(), 1n, 'secret');
    const joined = join([reference]);
    await begun;
    keyring.answers.set(dekKey(dekId), { status: 'destroyed' });
    cache.destroyKey(dekId);
    release();
    expect(names(await joined)).toEqual(['ERASED']);
    expect(cache.stats()).toMatchObject({ bodies: 0, reserved: 0 });
  });

  it('B37 its key is destroyed but nobody has told the keyring yet: the key is asked for again, the body not served', async () => {
    const { cache, opener, begun, release } = heldOpener(1_000_000);
    const { add, join, keyring, store, dekId } = makeWorld({ cache, opener });
    const reference = add(newConversation(), 1n, 'secret');
    const joined = join([reference]);
    await begun;
    cache.destroyKey(dekId);
    const isDestroyed = keyring.isDestroyed.bind(keyring);
    keyring.isDestroyed = () => false;
    keyring.answers.set(dekKey(dekId), { status: 'destroyed' });
    release();
    expect(names(await joined)).toEqual(['ERASED']);
    expect(isDestroyed(dekId)).toBe(true);
    expect(store.reads).toHaveLength(2);
  });

  it('it is invalidated: who waited is served, later arrivals read anew, and the old body is not cached', async () => {
    const { cache, opener, begun, release } = heldOpener(1_000_000);
    const { add, join, joiner, store } = makeWorld({ cache, opener });
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'old');
    const early = join([old]);
    await begun;
    joiner.invalidate(TENANT, old.messageId);
    add(conversationId, 1n, 'new', { messageId: old.messageId });
    release();
    expect(textOf(await early, 0)).toBe('old');
    expect(cache.stats().bodies).toBe(0);
    expect(textOf(await join([old]), 0)).toBe('new');
    expect(store.reads).toHaveLength(2);
  });
});

describe('a deadline', () => {
  it('is kept whatever the store does', async () => {
    const { add, join, store } = makeWorld();
    const release = store.hold();
    const startedMs = performance.now();
    const outcome = await join([add(newConversation(), 1n, 'text')], { deadlineMs: 30 });
    expect(names(outcome)).toEqual(['DEADLINE']);
    // Far above any delay of a busy machine, far below a deadline that was lost.
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    release();
  });
});

describe('a batch whose deadline has come', () => {
  it('is let go by the flights that go on without it', async () => {
    const { add, join, store } = makeWorld();
    const reference = add(newConversation(), 1n, 'text');
    const waiterFor = vi.spyOn(Batch.prototype, 'waiterFor');
    const release = store.hold();
    await join([reference], { deadlineMs: 1 });
    const waiters = waiterFor.mock.results.map(({ value }) => value as Waiter);
    waiterFor.mockRestore();
    expect(waiters).toHaveLength(1);
    expect(waiters[0]?.batch).toBeUndefined();
    release();
  });
});

describe('a plan that fails half-way', () => {
  it('leaves no flight behind that nobody flies', async () => {
    const { add, join, cache, joiner } = makeWorld();
    const conversationId = newConversation();
    const [cold, warm] = [add(conversationId, 1n, 'cold'), add(conversationId, 2n, 'warm')];
    await join([warm]);
    const copyBody = vi.spyOn(cache, 'copyBody').mockImplementationOnce(() => {
      throw new RangeError('no memory');
    });
    await expect(join([cold, warm])).rejects.toThrow('no memory');
    copyBody.mockRestore();
    expect(textOf(await join([cold]), 0)).toBe('cold');
    expect(joiner.stats().flights).toBe(0);
  });
});

describe('a floor that comes to a flight on its last read', () => {
  it('gets a read of its own', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'old', { lastActivityId: revision(1) });
    const floored = { ...old, floor: { activityId: revision(2) } };
    const second = new Promise<void>((resolve) => {
      const readGroup = store.readGroup.bind(store);
      store.readGroup = async (read) => {
        const rows = await readGroup(read);
        if (store.reads.length === 2) {
          resolve();
          await late;
        }
        return rows;
      };
    });
    let letGo!: () => void;
    const late = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const early = join([floored]);
    await second;
    add(conversationId, 1n, 'new', { lastActivityId: revision(2), messageId: old.messageId });
    const joined = join([floored]);
    letGo();
    expect(names(await early)).toEqual(['NOT_YET']);
    expect(textOf(await joined, 0)).toBe('new');
  });
});

describe('flights whose hashes are equal', () => {
  function collidingCache(): { cache: BodyCache; opener: { open(job: OpenJob): Uint8Array } } {
    const { cache, regionBytes } = regionCache(1_000_000);
    cache.hash = () => 7;
    return { cache, opener: { open: (job) => openItems(job, regionBytes) } };
  }

  it('B42 of two tenants are two: neither gets what the other reads', async () => {
    const { add, join, store } = makeWorld(collidingCache());
    const reference = add(newConversation(), 1n, 'secret');
    const release = store.hold();
    const ours = join([reference]);
    const theirs = join([reference], { tenantId: randomBytes(16) as unknown as TenantId });
    release();
    expect([names(await ours), names(await theirs)]).toEqual([['OK'], ['NOT_FOUND']]);
    expect(store.reads).toHaveLength(2);
  });

  it('of many messages are each served', async () => {
    const { add, join, joiner } = makeWorld(collidingCache());
    const conversationId = newConversation();
    const references = Array.from({ length: 50 }, (_, index) =>
      add(conversationId, BigInt(index), `text ${index}`),
    );
    const outcome = await join(references);
    expect(references.map((_, index) => textOf(outcome, index))).toEqual(
      references.map((_, index) => `text ${index}`),
    );
    expect(joiner.stats().flights).toBe(0);
  });

  it('of one message_id at many coordinates stay few: further ones are not found, nor cached, and all land', () => {
    const flights = new Flights();
    const conversationId = newConversation();
    const messageId = randomBytes(16) as unknown as MessageId;
    const all = Array.from(
      { length: 1000 },
      (_, seq) => new Flight(TENANT, conversationId, BigInt(seq), messageId, 7, new Turn(false)),
    );
    for (const flight of all) flights.register(flight);
    expect(flights.size).toBe(1000);
    const found = all.filter((flight) => {
      const at = { bytes: Buffer.concat([conversationId, messageId]), conversationAt: 0, messageAt: 16 };
      return flights.find(7, { ...at, tenantId: TENANT, seqHi: 0, seqLo: Number(flight.seq) }) === flight;
    });
    expect(found).toHaveLength(FLIGHT_SIBLINGS_MAX + 1);
    expect(all.filter(({ detached }) => detached)).toHaveLength(1000 - found.length);
    for (const flight of [...all].reverse()) flights.land(flight);
    expect(flights.size).toBe(0);
    flights.register(new Flight(TENANT, conversationId, 1n, messageId, 7, new Turn(false)));
    expect(flights.size).toBe(1);
  });
});
