// Single-flight, invalidation and installed floors (design: "The way of a batch" 4).
import { describe, expect, it } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { makeWorld, names, newConversation, revision, TENANT, textOf, unavailable } from './harness.js';

describe('100 equal cold batches at once', () => {
  function group(world: ReturnType<typeof makeWorld>) {
    const conversationId = newConversation();
    return Array.from({ length: 20 }, (_, index) =>
      world.add(conversationId, BigInt(index), `text ${index}`),
    );
  }

  it('cost one read of the group', async () => {
    const world = makeWorld();
    const references = group(world);
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => world.join(references)));
    for (const outcome of outcomes) expect(textOf(outcome, 19)).toBe('text 19');
    expect(world.store.reads).toHaveLength(1);
    expect(world.joiner.stats()).toEqual({ batches: 0, flights: 0, reads: 0 });
  });

  it('B52 cost one more read when the first fails', async () => {
    const world = makeWorld();
    const references = group(world);
    world.store.failNext(unavailable());
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => world.join(references)));
    for (const outcome of outcomes) expect(names(outcome)).toEqual(references.map(() => 'OK'));
    expect(world.store.reads).toHaveLength(2);
  });

  it('B52 cost two reads, not 200, when every read fails; the failure is not remembered', async () => {
    const world = makeWorld();
    const references = group(world);
    world.store.failNext(unavailable(), unavailable());
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => world.join(references)));
    for (const outcome of outcomes) expect(names(outcome)).toEqual(references.map(() => 'UNAVAILABLE'));
    expect(world.store.reads).toHaveLength(2);
    expect(names(await world.join(references))).toEqual(references.map(() => 'OK'));
  });
});

it('R4.2 a read that can only fail again is not repeated', async () => {
  const { add, join, store, failures } = makeWorld();
  store.failNext(new MailjoinError('STORE_CORRUPT'));
  expect(names(await join([add(newConversation(), 1n, 'x')]))).toEqual(['UNAVAILABLE']);
  expect(store.reads).toHaveLength(1);
  expect(failures).toEqual(['STORE_CORRUPT']);
});

describe('a flight', () => {
  it('whose first caller has gone still serves the others', async () => {
    const { add, join, store } = makeWorld();
    const reference = add(newConversation(), 1n, 'text');
    const release = store.hold();
    const impatient = join([reference], { deadlineMs: 5 });
    const patient = join([reference]);
    expect(names(await impatient)).toEqual(['DEADLINE']);
    release();
    expect(textOf(await patient, 0)).toBe('text');
    expect(store.reads).toHaveLength(1);
    await join([reference]);
    expect(store.reads).toHaveLength(1);
  });

  it('that was invalidated serves who waited, is not cached, and is not joined by later arrivals', async () => {
    const { add, join, joiner, store, cache } = makeWorld();
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'old');
    const release = store.hold();
    const arrived = store.arrival();
    const early = join([old]);
    await arrived;
    add(conversationId, 1n, 'new', { messageId: old.messageId });
    joiner.invalidate(TENANT, old.messageId);
    const late = join([old]);
    release();
    expect(textOf(await early, 0)).toBe('old');
    expect(textOf(await late, 0)).toBe('new');
    expect(store.reads).toHaveLength(2);
    expect(textOf(await join([old]), 0)).toBe('new');
    expect(store.reads).toHaveLength(2);
    expect(cache.stats()).toMatchObject({ bodies: 1, reserved: 0 });
  });

  it('with other coordinates for the same message_id is a flight of its own, and both are invalidated', async () => {
    const { add, join, joiner, store, cache } = makeWorld();
    const conversationId = newConversation();
    const right = add(conversationId, 1n, 'text');
    const wrong = { ...right, seq: 2n };
    const release = store.hold();
    const arrived = store.arrival();
    const both = [join([right]), join([wrong]), join([right, wrong])];
    await arrived;
    expect(joiner.stats().flights).toBe(2);
    joiner.invalidate(TENANT, right.messageId);
    release();
    const outcomes = await Promise.all(both);
    expect(joiner.stats().flights).toBe(0);
    expect(outcomes.map(names)).toEqual([['OK'], ['NOT_FOUND'], ['OK', 'NOT_FOUND']]);
    expect(cache.stats().bodies).toBe(0);
  });
});

describe("a log event's floor", () => {
  it('keeps a lower row from being served and from being cached: one more read, then NOT_YET', async () => {
    const { add, join, joiner, store, cache } = makeWorld();
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'recalled', { lastActivityId: revision(1) });
    await join([old]);
    joiner.raiseFloor(TENANT, old.messageId, { activityId: revision(2), summaryVersion: 0n });
    expect(names(await join([old]))).toEqual(['NOT_YET']);
    expect(store.reads).toHaveLength(3);
    expect(cache.stats().bodies).toBe(0);
    add(conversationId, 1n, 'edited', { lastActivityId: revision(2), messageId: old.messageId });
    expect(textOf(await join([old]), 0)).toBe('edited');
    expect(textOf(await join([old]), 0)).toBe('edited');
    expect(store.reads).toHaveLength(4);
  });

  it('that arrives during a read keeps the old body from who waits', async () => {
    const { add, join, joiner, store } = makeWorld();
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'recalled', { lastActivityId: revision(1) });
    const release = store.hold();
    const arrived = store.arrival();
    const waiting = join([old]);
    await arrived;
    add(conversationId, 1n, 'edited', { lastActivityId: revision(2), messageId: old.messageId });
    joiner.raiseFloor(TENANT, old.messageId, { activityId: revision(2), summaryVersion: 0n });
    release();
    expect(textOf(await waiting, 0)).toBe('edited');
    expect(store.reads).toHaveLength(2);
  });

  it('outlasts what was published above it: a read from before the event is not served when another one was published', async () => {
    const { add, join, joiner, store } = makeWorld();
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'recalled', { lastActivityId: revision(1) });
    const release = store.hold();
    const arrived = store.arrival();
    const slow = join([old]);
    await arrived;
    joiner.raiseFloor(TENANT, old.messageId, { activityId: revision(2), summaryVersion: 0n });
    joiner.raiseFloor(TENANT, old.messageId, { activityId: revision(3), summaryVersion: 0n });
    add(conversationId, 1n, 'edited', { lastActivityId: revision(3), messageId: old.messageId });
    store.pass();
    expect(textOf(await join([old]), 0)).toBe('edited');
    release();
    expect(textOf(await slow, 0)).toBe('edited');
    expect(joiner.stats().flights).toBe(0);
  });
});
