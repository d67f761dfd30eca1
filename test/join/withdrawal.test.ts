/** Bodies that are in a batch's response already when an event or a destroyed key is heard (S-7, B16, B37). */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BodyList } from '../../src/codec/body-list.js';
import type { MessageId } from '../../src/domain/ids.js';
import { HEARD_EVENTS_MAX } from '../../src/domain/limits.js';
import { dekKey } from '../../src/domain/message.js';
import { HeardEvents, idTailAt } from '../../src/join/heard-events.js';
import { makeWorld, names, newConversation, revision, TENANT, textOf, type World } from './harness.js';

/** A batch whose first messages are hits, held at the read of its last one. */
async function waitingBatch(over: { lastActivityId?: ReturnType<typeof revision> } = {}) {
  const world = makeWorld();
  const lastActivityId = over.lastActivityId ?? revision(10);
  const hits = ['first', 'second', 'third'].map((text) =>
    world.add(newConversation(), 1n, text, { lastActivityId }),
  );
  await world.join(hits);
  const missed = world.add(newConversation(), 1n, 'missed');
  const release = world.store.hold();
  const arrived = world.store.arrival();
  const [first, second, third] = hits as [(typeof hits)[0], (typeof hits)[0], (typeof hits)[0]];
  const joined = world.join([first, second, second, third, missed]);
  await arrived;
  return { ...world, hits, second, release, joined };
}

const OTHER = { scope: 'test', id: 'another', version: 1 };
const SECOND_GONE = ['OK', 'NOT_YET', 'NOT_YET', 'OK', 'OK'];

function raise(world: Pick<World, 'joiner'>, { messageId }: { messageId: Uint8Array }, recalled: boolean) {
  const floor = { activityId: revision(20), summaryVersion: 0n, recalled };
  world.joiner.raiseFloor(TENANT, messageId as never, floor, 3_600_000);
}

describe('a body that was copied while its batch waits', () => {
  it.each([true, false])('leaves the response when an event outdates it (recall: %s)', async (recalled) => {
    const world = await waitingBatch();
    raise(world, world.second, recalled);
    world.release();
    const outcome = await world.joined;
    expect(names(outcome)).toEqual(SECOND_GONE);
    expect([0, 1, 2, 3, 4].map((index) => textOf(outcome, index))).toEqual([
      'first',
      undefined,
      undefined,
      'third',
      'missed',
    ]);
    expect(outcome.bodies.count).toBe(3);
    expect(outcome.bodies.buffer.includes('second')).toBe(false);
    expect(outcome.receipt.bodyBytes).toBe(
      outcome.bodies.views().reduce((sum, { length }) => sum + length, 0),
    );
  });

  it('stays when the event is not above it, or of its reactions alone', async () => {
    const world = await waitingBatch({ lastActivityId: revision(20) });
    raise(world, world.second, false);
    world.joiner.raiseFloor(TENANT, world.second.messageId, { activityId: undefined, summaryVersion: 9n });
    world.release();
    expect(names(await world.joined)).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
  });

  it('leaves the response when its key is destroyed; what another key sealed stays', async () => {
    const world = await waitingBatch();
    world.keyring.answers.set(dekKey(world.dekId), { status: 'destroyed' });
    world.cache.destroyKey(world.dekId);
    world.release();
    expect(names(await world.joined)).toEqual(['NOT_YET', 'NOT_YET', 'NOT_YET', 'NOT_YET', 'ERASED']);
    const other = await waitingBatch();
    other.cache.destroyKey({ scope: 'test', id: 'another', version: 1 });
    other.release();
    expect(names(await other.joined)).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
  });

  it.each([false, true])(
    'goes with its key where it was never cached, and stays with others (its own: %s)',
    async (isOwn) => {
      const { add, cache, dekId, join, keyring, store } = makeWorld();
      const large = add(newConversation(), 1n, 'x'.repeat(300_000));
      const missed = add(newConversation(), 1n, 'missed', { dekId: OTHER });
      keyring.answers.set(dekKey(OTHER), { status: 'unknown' });
      const readGroup = store.readGroup.bind(store);
      let release!: () => void;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      store.readGroup = async (read) => {
        if (Buffer.compare(read.conversationId, missed.conversationId) === 0) await held;
        return readGroup(read);
      };
      const joined = join([large, missed]);
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      const destroyed = isOwn ? dekId : OTHER;
      keyring.answers.set(dekKey(destroyed), { status: 'destroyed' });
      cache.destroyKey(destroyed);
      release();
      expect(names(await joined)).toEqual(isOwn ? ['NOT_YET', 'UNAVAILABLE'] : ['OK', 'ERASED']);
    },
  );

  it('is found again in its new state by who asks again', async () => {
    const world = await waitingBatch();
    raise(world, world.second, true);
    world.release();
    await world.joined;
    const { conversationId, seq, messageId } = world.second;
    world.add(conversationId, seq, 'second', {
      messageId,
      lastActivityId: revision(20),
      recallEventSeq: 9n,
    });
    expect(names(await world.join([world.second]))).toEqual(['RECALLED']);
  });
});

it('events are remembered by their messages as far back as the ring goes', () => {
  const heard = new HeardEvents();
  const idOf = (value: number) => {
    const id = Buffer.alloc(16);
    id.writeInt32BE(value, 12);
    return id as Uint8Array as MessageId;
  };
  heard.add(idOf(-5));
  const before = heard.count;
  expect(heard.since(before)).toEqual(new Set());
  for (let value = 0; value < HEARD_EVENTS_MAX; value++) heard.add(idOf(value));
  expect(heard.since(before)).toEqual(new Set(Array.from({ length: HEARD_EVENTS_MAX }, (_, value) => value)));
  expect(heard.since(before - 1)).toBeUndefined();
  expect(heard.since(heard.count - 1)).toEqual(new Set([idTailAt(idOf(HEARD_EVENTS_MAX - 1), 0)]));
  expect(idTailAt(Buffer.concat([Buffer.alloc(3), idOf(-5)]), 3)).toBe(-5);
});

it('a body list drops any of its bodies, in place, and goes on', () => {
  for (let drawn = 0; drawn < 50; drawn++) {
    const list = new BodyList(10);
    const bodies = Array.from({ length: 6 }, (_, index) => randomBytes(index * 50));
    const add = (body: Buffer): void => {
      const at = list.append(body.length);
      body.copy(list.buffer, at);
    };
    for (const body of bodies) add(body);
    const flags = Uint8Array.from(randomBytes(6), (byte) => byte & 1);
    const kept = bodies.filter((_, index) => flags[index] === 1);
    const positions = list.keepOnly(flags);
    expect([...positions].filter((position) => position > 0)).toEqual(kept.map((_, index) => index + 1));
    add(Buffer.from('more'));
    expect(list.views()).toEqual([...kept, Buffer.from('more')]);
    expect([list.count, list.bodyBytes]).toEqual([
      kept.length + 1,
      kept.reduce((sum, { length }) => sum + length, 4),
    ]);
  }
});
