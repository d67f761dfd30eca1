// What a record of the log does to a joiner's cache and to what is being read (B16, D14, D19, design: floors).
import { expect, it } from 'vitest';
import { RegionBodyCache } from '../../src/cache/body-cache.js';
import { Region } from '../../src/cache/region.js';
import type { LogRecord } from '../../src/codec/log-record.js';
import { openItems } from '../../src/crypto/open-items.js';
import { type DekId, dekKey, MessageState } from '../../src/domain/message.js';
import type { OpenJob } from '../../src/domain/open-job.js';
import type { LogEntry } from '../../src/domain/write-ports.js';
import { LogEvents } from '../../src/follow/log-events.js';
import {
  bodyOf,
  makeWorld,
  names,
  newConversation,
  type Reference,
  revision,
  TENANT,
  textOf,
  type World,
} from '../join/harness.js';
import { summary } from '../stores/fixtures.js';
import { editOf, entryOf, keyDestroyed, reactionsOf, recallOf } from './log-fixtures.js';

interface Followed extends World {
  readonly events: LogEvents;
  readonly skipped: LogEntry[];
  /** Payloads opened so far. */
  opened(): number;
  tell(record: LogRecord | Uint8Array): void;
}

function follow(floorsMax?: number): Followed {
  const region = Region.create({ regionBytes: 8 * 1024 * 1024, nowMs: 1_000_000 });
  const cache = new RegionBodyCache(region, 1_000_000, floorsMax === undefined ? {} : { floorsMax });
  let opened = 0;
  const opener = {
    open: (job: OpenJob) => {
      opened += job.count;
      return openItems(job, region.bytes);
    },
  };
  const world = makeWorld({ cache, opener });
  const skipped: LogEntry[] = [];
  const events = new LogEvents({
    joiner: world.joiner,
    onKeyDestroyed: [
      (dekId: DekId) => world.keyring.answers.set(dekKey(dekId), { status: 'destroyed' }),
      (dekId: DekId) => cache.destroyKey(dekId),
    ],
    onSkipped: (entry) => skipped.push(entry),
  });
  const tell = (record: LogRecord | Uint8Array) => events.apply(entryOf(record));
  return { ...world, cache, events, skipped, opened: () => opened, tell };
}

const at = (reference: Reference) => ({ tenantId: TENANT, ...reference });

it('poison records are counted, told of and passed over; the records behind them are applied', async () => {
  const { add, events, join, skipped, tell } = follow();
  const message = add(newConversation(), 1n, 'text', { lastActivityId: revision(1) });
  await join([message]);
  tell(new Uint8Array([0xff, 0xff, 0xff]));
  tell(new Uint8Array(0));
  // A recall whose target has an id of 3 bytes: field 5, target 3, message_id 2.
  const tenantAndConversation = [0x0a, 16, ...Array(16).fill(1), 0x12, 16, ...Array(16).fill(2)];
  tell(Uint8Array.from([...tenantAndConversation, 0x2a, 7, 0x1a, 5, 0x12, 3, 1, 2, 3]));
  tell(recallOf(at(message), revision(2)));
  expect(skipped).toHaveLength(2);
  expect(events.stats()).toMatchObject({ skipped: 2, unknown: 1, recalls: 1 });
  expect(names(await join([message]))).toEqual(['NOT_YET']);
});

it('a listener that throws for a destroyed key does not keep the other from being told, and is counted', () => {
  const told: DekId[] = [];
  const events = new LogEvents({
    joiner: follow().joiner,
    onKeyDestroyed: [
      () => {
        throw new Error('a listener');
      },
      (dekId) => told.push(dekId),
    ],
  });
  events.apply(entryOf(keyDestroyed({ scope: 's', id: 'k', version: 1 })));
  expect(told).toHaveLength(1);
  expect(events.stats()).toMatchObject({ skipped: 1, keysDestroyed: 0 });
});

it('B16: a recall whose event was read while the row says NORMAL: cached content is gone, and reads are NOT_YET', async () => {
  const { add, cache, join, tell } = follow();
  const conversationId = newConversation();
  const message = add(conversationId, 1n, 'secret', { lastActivityId: revision(1) });
  expect(textOf(await join([message]), 0)).toBe('secret');
  tell(recallOf(at(message), revision(2)));
  expect(cache.stats().bodies).toBe(0);
  expect(names(await join([message]))).toEqual(['NOT_YET']);
  add(conversationId, 1n, 'secret', {
    lastActivityId: revision(2),
    messageId: message.messageId,
    state: MessageState.RECALLED,
    recallEventSeq: 2n,
  });
  const outcome = await join([message]);
  expect(names(outcome)).toEqual(['RECALLED']);
  expect(bodyOf(outcome, 0)?.payload).toBeUndefined();
});

it('S-7: the floor of a recall whose row is never written holds long after other floors have gone', async () => {
  const { add, cache, clock, join, tell } = follow();
  const recalled = add(newConversation(), 1n, 'secret', { lastActivityId: revision(1) });
  const edited = add(newConversation(), 1n, 'old', { lastActivityId: revision(1) });
  tell(recallOf(at(recalled), revision(2)));
  tell(editOf(at(edited), revision(2)));
  for (let minute = 0; minute < 50; minute++) {
    clock.now += 60_000;
    (cache as RegionBodyCache).tend(clock.now);
  }
  expect(names(await join([recalled]))).toEqual(['NOT_YET']);
  expect(names(await join([edited]))).toEqual(['OK']);
  clock.now += 3_600_000;
  (cache as RegionBodyCache).tend(clock.now);
  expect(cache.stats().floors).toBe(0);
});

it('a recall that is read during a read keeps what the read brings from who waits', async () => {
  const { add, cache, join, store, tell } = follow();
  const message = add(newConversation(), 1n, 'secret', { lastActivityId: revision(1) });
  const release = store.hold();
  const arrived = store.arrival();
  const waiting = join([message]);
  await arrived;
  tell(recallOf(at(message), revision(2)));
  release();
  expect(names(await waiting)).toEqual(['NOT_YET']);
  expect(cache.stats().bodies).toBe(0);
});

it('a repeated recall or edit changes nothing: the body at its revision stays cached', async () => {
  const { add, join, store, tell } = follow();
  const conversationId = newConversation();
  const message = add(conversationId, 1n, 'old', { lastActivityId: revision(1) });
  await join([message]);
  tell(editOf(at(message), revision(2)));
  add(conversationId, 1n, 'new', { lastActivityId: revision(2), messageId: message.messageId });
  expect(textOf(await join([message]), 0)).toBe('new');
  const reads = store.reads.length;
  tell(editOf(at(message), revision(2)));
  tell(editOf(at(message), revision(1)));
  expect(textOf(await join([message]), 0)).toBe('new');
  expect(store.reads).toHaveLength(reads);
});

it('changed reactions rewrite the cached summary: no read, and the payload is not opened again', async () => {
  const { add, join, opened, store, tell } = follow();
  const message = add(newConversation(), 1n, 'text', { lastActivityId: revision(1) });
  await join([message]);
  const before = { opened: opened(), reads: store.reads.length };
  expect(before.opened).toBe(1);
  tell(
    reactionsOf(at(message), 9n, [
      ['b', 2],
      ['gone', 0],
      ['a', 1],
    ]),
  );
  const outcome = await join([message], { wantReceipt: true });
  expect(outcome.receipt.cacheHits).toBe(1);
  expect(textOf(outcome, 0)).toBe('text');
  expect({ opened: opened(), reads: store.reads.length }).toEqual(before);
  const reactions = bodyOf(outcome, 0)?.reactions;
  expect(reactions).toMatchObject({ summaryVersion: 9n });
  expect([...(reactions?.counts ?? [])]).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
  const floor = { summaryVersion: 9n };
  expect(names(await join([{ ...message, floor }]))).toEqual(['OK']);
});

it('the rewritten body is byte for byte the one that a read gives', async () => {
  const { add, cache, join, store, tell } = follow();
  const message = add(newConversation(), 1n, 'text', { lastActivityId: revision(1) });
  await join([message]);
  const counts = [['a', 1] as const, ['é', 3] as const];
  tell(reactionsOf(at(message), 9n, counts));
  const rewritten = Buffer.concat((await join([message])).bodies.views());
  cache.clear();
  const record = [...store.records.values()][0];
  if (record === undefined) throw new Error('it was added');
  store.put(message.conversationId, record, summary(1n, 9n, counts, 5n));
  expect(Buffer.concat((await join([message])).bodies.views())).toEqual(rewritten);
});

it('an older or repeated reaction event changes nothing', async () => {
  const { add, join, store, tell } = follow();
  const message = add(newConversation(), 1n, 'text', { lastActivityId: revision(1) });
  await join([message]);
  tell(reactionsOf(at(message), 9n, [['a', 2]]));
  tell(reactionsOf(at(message), 9n, [['a', 2]]));
  tell(reactionsOf(at(message), 8n, [['a', 1]]));
  const outcome = await join([message]);
  expect(bodyOf(outcome, 0)?.reactions).toMatchObject({ summaryVersion: 9n });
  expect(store.reads).toHaveLength(1);
});

it('a reaction event keeps an older summary that is being read from the cache and from who waits', async () => {
  const { add, cache, join, store, tell } = follow();
  const message = add(newConversation(), 1n, 'text', { lastActivityId: revision(1) });
  const release = store.hold();
  const arrived = store.arrival();
  const waiting = join([message]);
  await arrived;
  tell(reactionsOf(at(message), 9n, [['a', 1]]));
  release();
  expect(names(await waiting)).toEqual(['NOT_YET']);
  expect(cache.stats().bodies).toBe(0);
});

it('a destroyed key takes what is cached under it, in the order keyring, cache', async () => {
  const { add, cache, dekId, join, tell } = follow();
  const message = add(newConversation(), 1n, 'text');
  await join([message]);
  tell(keyDestroyed(dekId));
  expect(cache.stats().bodies).toBe(0);
  expect(names(await join([message]))).toEqual(['ERASED']);
});

it('a full table of floors pauses caching; joins go on, and caching begins anew when floors have gone', async () => {
  const { add, cache, clock, join, store, tell } = follow(3);
  const conversationId = newConversation();
  const other = add(newConversation(), 1n, 'other');
  for (let seq = 1n; seq <= 4n; seq++) {
    const changed = add(conversationId, seq, 'old', { lastActivityId: revision(1) });
    tell(editOf(at(changed), revision(2)));
  }
  expect(cache.stats()).toMatchObject({ paused: true, floors: 3 });
  expect(textOf(await join([other]), 0)).toBe('other');
  expect(textOf(await join([other]), 0)).toBe('other');
  expect(store.reads).toHaveLength(2);
  clock.now += 60_001;
  (cache as RegionBodyCache).tend(clock.now);
  await join([other]);
  await join([other]);
  expect(store.reads).toHaveLength(3);
});
