// Warming from the log: what is placed into the cache, what never is, and that joins come first.
import { expect, it } from 'vitest';
import type { LogMessage } from '../../src/codec/log-record.js';
import { openItems } from '../../src/crypto/open-items.js';
import type { ConversationId } from '../../src/domain/ids.js';
import { FOLLOW_SETTLE_MS, WARM_AGE_MS_MAX, WARM_TICK_RECORDS } from '../../src/domain/limits.js';
import { dekKey, type MessageRecord } from '../../src/domain/message.js';
import type { OpenJob } from '../../src/domain/open-job.js';
import { LogEvents } from '../../src/follow/log-events.js';
import { Warmer, type WarmerOptions } from '../../src/follow/warmer.js';
import { ConversationsInUse } from '../../src/join/conversations-in-use.js';
import {
  bodyOf,
  makeWorld,
  names,
  newConversation,
  placeOf,
  type Reference,
  revision,
  TENANT,
  textOf,
} from '../join/harness.js';
import { regionCache } from '../join/region-cache.js';
import { summary } from '../stores/fixtures.js';
import { editOf, entryOf, reactionsOf, recallOf } from './log-fixtures.js';

const BEGAN_MS = 1_750_000_000_000;
/** The first creation time that is taken for certain to lie after the follower's beginning. */
const FRESH_MS = BEGAN_MS + FOLLOW_SETTLE_MS;

interface Committed {
  readonly reference: Reference;
  readonly message: LogMessage;
}

function world(over: Partial<WarmerOptions> = {}) {
  const clock = { now: 1_000_000, nowMs: () => clock.now };
  const epoch = { now: BEGAN_MS };
  const { cache, regionBytes } = regionCache(clock.now);
  let gate: Promise<void> | undefined;
  const opener = {
    open: async (job: OpenJob) => {
      await gate;
      return openItems(job, regionBytes);
    },
  };
  const inUse = new ConversationsInUse(clock, 100, 600_000);
  const made = makeWorld({ cache, opener, inUse });
  const warmer = new Warmer({
    joiner: made.joiner,
    inUse,
    clock: { nowMs: clock.nowMs, epochMs: () => epoch.now },
    remainingLife: () => undefined,
    ...over,
  });
  const events = new LogEvents({ joiner: made.joiner, onKeyDestroyed: [], warmer });
  warmer.begin();
  epoch.now = FRESH_MS;
  const commit = (
    conversationId: ConversationId,
    seq: bigint,
    text: string,
    fields: Partial<MessageRecord> = {},
  ): Committed => {
    const createdAtMs = BigInt(FRESH_MS);
    const reference = made.add(conversationId, seq, text, {
      createdAtMs,
      lastActivityId: revision(1),
      ...fields,
    });
    const record = made.store.records.get(placeOf(conversationId, seq));
    if (record === undefined) throw new Error('it was added');
    return {
      reference,
      message: { kind: 'message', tenantId: TENANT, conversationId, appendedAtMs: 0n, record },
    };
  };
  /** A conversation that a join has asked for. */
  const used = async (): Promise<ConversationId> => {
    const conversationId = newConversation();
    await made.join([made.add(conversationId, 4_000n, 'something')]);
    return conversationId;
  };
  const reads = () => made.store.reads.length;
  const holdOpener = () => {
    let release!: () => void;
    gate = new Promise((resolve) => {
      release = () => {
        gate = undefined;
        resolve();
      };
    });
    return release;
  };
  return {
    ...made,
    cache,
    warmer,
    events,
    clock,
    joinClock: made.clock,
    epoch,
    commit,
    used,
    reads,
    holdOpener,
  };
}

const at = (reference: Reference) => ({ tenantId: TENANT, ...reference });

it('a fresh message of a conversation in use is joined without a read, and its body is the one that a read gives', async () => {
  const { cache, commit, join, reads, used, warmer } = world();
  const { reference, message } = commit(await used(), 4_001n, 'hot');
  warmer.offer(message);
  await warmer.idle();
  const before = reads();
  const warm = await join([reference]);
  expect(textOf(warm, 0)).toBe('hot');
  expect(warm.receipt.cacheHits).toBe(1);
  expect(reads()).toBe(before);
  cache.clear();
  expect(Buffer.concat((await join([reference])).bodies.views())).toEqual(Buffer.concat(warm.bodies.views()));
  expect(reads()).toBe(before + 1);
});

it('a conversation that nobody joined lately is not warmed, nor one whose use is long past', async () => {
  const { clock, commit, used, warmer } = world();
  warmer.offer(commit(newConversation(), 1n, 'cold').message);
  const conversationId = await used();
  clock.now += 600_001;
  warmer.offer(commit(conversationId, 1n, 'cold').message);
  await warmer.idle();
  expect(warmer.stats()).toEqual({ warmed: 0, dropped: 0, waiting: 0 });
});

it.each([
  ['before the follower began, as far as clocks tell', FRESH_MS - 1, FRESH_MS],
  ['too long ago', FRESH_MS, FRESH_MS + WARM_AGE_MS_MAX + 1],
  ['in the future, beyond what clocks may differ by', FRESH_MS + FOLLOW_SETTLE_MS + 1, FRESH_MS],
])('a message created %s is not warmed', async (_, createdAtMs, nowMs) => {
  const { commit, epoch, used, warmer } = world();
  const { message } = commit(await used(), 1n, 'old', { createdAtMs: BigInt(createdAtMs) });
  epoch.now = nowMs;
  warmer.offer(message);
  await warmer.idle();
  expect(warmer.stats().warmed).toBe(0);
});

it('S-7: a record repeated after its recall, when the floor has done its work and the body is gone, does not bring the content back', async () => {
  const { add, cache, commit, events, join, used, warmer } = world();
  const conversationId = await used();
  const { reference, message } = commit(conversationId, 1n, 'secret');
  events.apply(entryOf(message));
  await warmer.idle();
  expect(textOf(await join([reference]), 0)).toBe('secret');
  events.apply(entryOf(recallOf(at(reference), revision(2))));
  const recalled = { messageId: reference.messageId, lastActivityId: revision(2), recallEventSeq: 2n };
  add(conversationId, 1n, 'secret', recalled);
  expect(names(await join([reference]))).toEqual(['RECALLED']);
  cache.clear();
  events.apply(entryOf(message));
  await warmer.idle();
  expect(names(await join([reference]))).toEqual(['RECALLED']);
  expect(bodyOf(await join([reference]), 0)?.payload).toBeUndefined();
});

it('an event between the record and its turn keeps it out; one while it is being opened keeps it from the cache', async () => {
  const { cache, commit, events, holdOpener, used, warmer } = world();
  const conversationId = await used();
  const bodies = cache.stats().bodies;
  const waiting = commit(conversationId, 1n, 'old');
  events.apply(entryOf(waiting.message));
  events.apply(entryOf(editOf(at(waiting.reference), revision(2))));
  await warmer.idle();
  expect(warmer.stats().warmed).toBe(0);
  const release = holdOpener();
  const opening = commit(conversationId, 2n, 'old');
  events.apply(entryOf(opening.message));
  await new Promise<void>((resolve) => setImmediate(resolve));
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(warmer.stats().warmed).toBe(1);
  events.apply(entryOf(recallOf(at(opening.reference), revision(2))));
  release();
  await warmer.idle();
  expect(cache.stats().bodies).toBe(bodies);
});

it('a newer body that is cached already stays', async () => {
  const { commit, events, join, reads, store, used, warmer } = world();
  const conversationId = await used();
  const { reference, message } = commit(conversationId, 1n, 'text');
  store.put(conversationId, message.record, summary(1n, 5n, [['a', 1]]));
  await join([reference]);
  const before = reads();
  events.apply(entryOf(message));
  await warmer.idle();
  expect(warmer.stats().warmed).toBe(1);
  expect(bodyOf(await join([reference]), 0)?.reactions?.summaryVersion).toBe(5n);
  expect(reads()).toBe(before);
});

it('a reaction to a warmed message is shown without a read', async () => {
  const { commit, events, join, reads, used, warmer } = world();
  const { reference, message } = commit(await used(), 1n, 'text');
  events.apply(entryOf(message));
  await warmer.idle();
  const before = reads();
  events.apply(entryOf(reactionsOf(at(reference), 3n, [['a', 1]])));
  expect(bodyOf(await join([reference]), 0)?.reactions?.summaryVersion).toBe(3n);
  expect(reads()).toBe(before);
});

it('a warmed body expires with its row, and a row without a known life is not warmed', async () => {
  let life: number | 'expired' = 'expired';
  const { commit, join, joinClock, reads, used, warmer } = world({ remainingLife: () => life });
  const conversationId = await used();
  warmer.offer(commit(conversationId, 1n, 'gone').message);
  await warmer.idle();
  expect(warmer.stats().warmed).toBe(0);
  life = 3;
  const { reference, message } = commit(conversationId, 2n, 'short');
  warmer.offer(message);
  await warmer.idle();
  const before = reads();
  joinClock.now += 1_999;
  await join([reference]);
  expect(reads()).toBe(before);
  joinClock.now += 1;
  await join([reference]);
  expect(reads()).toBe(before + 1);
});

it('a message under a destroyed key is not cached', async () => {
  const { cache, commit, dekId, keyring, used, warmer } = world();
  const conversationId = await used();
  const bodies = cache.stats().bodies;
  keyring.answers.set(dekKey(dekId), { status: 'destroyed' });
  warmer.offer(commit(conversationId, 1n, 'erased').message);
  await warmer.idle();
  expect(cache.stats().bodies).toBe(bodies);
});

it('a join that comes while a message is being warmed waits for that instead of reading', async () => {
  const { commit, holdOpener, join, joiner, reads, used, warmer } = world();
  const { reference, message } = commit(await used(), 1n, 'hot');
  const release = holdOpener();
  warmer.offer(message);
  while (joiner.stats().flights === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  const before = reads();
  const joined = join([reference]);
  release();
  expect(textOf(await joined, 0)).toBe('hot');
  expect(reads()).toBe(before);
});

it('a join that waits and wants more than the record has gets it from the store', async () => {
  const { commit, holdOpener, join, joiner, store, used, warmer } = world();
  const conversationId = await used();
  const { reference, message } = commit(conversationId, 1n, 'hot');
  store.put(conversationId, message.record, summary(1n, 5n, [['a', 1]]));
  const release = holdOpener();
  warmer.offer(message);
  while (joiner.stats().flights === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  const joined = join([{ ...reference, floor: { summaryVersion: 5n } }]);
  release();
  expect(bodyOf(await joined, 0)?.reactions?.summaryVersion).toBe(5n);
  await warmer.idle();
});

it('what does not fit is left out and counted; a few are warmed per turn, so that other work comes in between', async () => {
  const { commit, reads, used, warmer } = world({ waitingRecordsMax: 20 });
  const conversationId = await used();
  for (let seq = 1n; seq <= 25n; seq++) warmer.offer(commit(conversationId, seq, `text ${seq}`).message);
  expect(warmer.stats()).toEqual({ warmed: 0, dropped: 5, waiting: 20 });
  const before = reads();
  let turns = 0;
  while (warmer.stats().waiting > 0) {
    const { warmed } = warmer.stats();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(warmer.stats().warmed - warmed).toBeLessThanOrEqual(WARM_TICK_RECORDS);
    turns++;
  }
  expect(turns).toBeGreaterThanOrEqual(20 / WARM_TICK_RECORDS);
  await warmer.idle();
  expect(reads()).toBe(before);
});

it('where an event’s target had to be forgotten, warming pauses until no earlier record can be taken', async () => {
  const { commit, epoch, used, warmer } = world({ changedMax: 2 });
  const conversationId = await used();
  for (let seq = 1n; seq <= 3n; seq++) {
    warmer.changed(TENANT, commit(conversationId, seq, 'changed').reference.messageId);
  }
  warmer.offer(commit(conversationId, 4n, 'created before').message);
  epoch.now = FRESH_MS + FOLLOW_SETTLE_MS;
  warmer.offer(commit(conversationId, 5n, 'created after', { createdAtMs: BigInt(epoch.now) }).message);
  await warmer.idle();
  expect(warmer.stats().warmed).toBe(1);
});

it('after stop() nothing is warmed', async () => {
  const { cache, commit, used, warmer } = world();
  const conversationId = await used();
  const bodies = cache.stats().bodies;
  await warmer.stop();
  warmer.offer(commit(conversationId, 1n, 'late').message);
  await warmer.idle();
  expect(warmer.stats()).toMatchObject({ warmed: 0, dropped: 1 });
  expect(cache.stats().bodies).toBe(bodies);
});
