/** What a page does when its store fails, is late, or says more than the cache: on the embedded store, scripted around. */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { HistoryDirection, HistoryStop } from '../../src/domain/history.js';
import { MessageState } from '../../src/domain/message.js';
import { activity, fullRecord, life } from '../stores/fixtures.js';
import type { OpenedHistory } from './history-contract.js';
import {
  type Ask,
  type HistoryWorld,
  historyWorld,
  newPlace,
  type Page,
  type Place,
  putHead,
  putMessages,
  span,
} from './history-fixtures.js';
import { openEmbeddedHistory } from './open-embedded-history.js';

let opened: OpenedHistory;
let world: HistoryWorld;
beforeAll(async () => {
  opened = await openEmbeddedHistory();
});
beforeEach(() => {
  world = historyWorld(opened.stores);
});
afterAll(() => opened.close());

async function put(seqs: readonly bigint[], latest: bigint): Promise<Place> {
  const place = newPlace();
  await putMessages(opened.stores, place, seqs);
  await putHead(opened.stores, place, latest);
  return place;
}

/** A page whose deadline comes when a read is asked for that is not answered: no clock decides what was read before. */
async function cutShort(place: Place, ask: Ask): Promise<Page> {
  const deadlineMs = 20_000;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const silence = world.buckets.silence();
    const page = world.page(place, { ...ask, deadlineMs });
    page.catch(() => undefined);
    await silence;
    vi.advanceTimersByTime(deadlineMs);
    return await page;
  } finally {
    vi.useRealTimers();
  }
}

it('B52 repeats a read that failed once, and no more: then the page fails whole', async () => {
  const place = await put([1n, 2n], 2n);
  world.buckets.failures = [new MailjoinError('STORE_UNAVAILABLE')];
  expect((await world.page(place, { anchor: 3n })).seqs).toEqual([2n, 1n]);
  expect(world.failures).toEqual(['STORE_UNAVAILABLE']);
  world.buckets.failures = [new MailjoinError('STORE_UNAVAILABLE'), new MailjoinError('STORE_UNAVAILABLE')];
  await expect(world.page(place, { anchor: 3n })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});

it('R4.2 does not repeat a read that breaks an invariant', async () => {
  const place = await put([1n], 1n);
  world.buckets.failures = [new MailjoinError('STORE_CORRUPT')];
  await expect(world.page(place, { anchor: 3n })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  expect(world.buckets.reads).toHaveLength(1);
});

it('a page that its deadline cuts short keeps what it has and says where to go on', async () => {
  const seqs = [5n, 6n, 4096n + 7n, 4096n + 8n];
  const place = await put(seqs, 4096n + 8n);
  world.buckets.silentFrom = 1;
  const cut = await cutShort(place, { anchor: 4096n + 9n });
  expect(cut).toMatchObject({ hasMore: true, stop: HistoryStop.DEADLINE, nextAnchor: 4096n });
  expect(cut.seqs).toEqual([4096n + 8n, 4096n + 7n]);
  world.buckets.silentFrom = Number.POSITIVE_INFINITY;
  expect((await world.page(place, { anchor: cut.nextAnchor })).seqs).toEqual([6n, 5n]);
});

it('a deadline inside a bucket goes on behind the last message found there, both ways', async () => {
  const place = newPlace();
  const stateOf = (seq: bigint) => (seq > 3n && seq < 900n ? MessageState.DELETED : MessageState.NORMAL);
  await putMessages(opened.stores, place, span(1n, 902n), stateOf);
  await putHead(opened.stores, place, 902n);
  world.buckets.silentFrom = 1;
  const older = await cutShort(place, { anchor: 1000n, limit: 5 });
  expect(older).toMatchObject({ seqs: [902n, 901n, 900n], hasMore: true, nextAnchor: 900n });
  world.buckets.silentFrom = 3;
  const newer = await cutShort(place, { anchor: 0n, newer: true, limit: 5 });
  expect(newer).toMatchObject({ seqs: [1n, 2n, 3n], hasMore: true, nextAnchor: 3n });
});

it.each([
  ['the newest', {}],
  ['an older', { anchor: 4096n + 9n }],
  ['the first', { newer: true }],
  ['a newer', { newer: true, anchor: 6n }],
])(
  '%s page whose bucket is not read in time has gone nowhere: unavailable, no page to go on from',
  async (_name, ask) => {
    const place = newPlace();
    await putMessages(opened.stores, place, [7n, 8n]);
    await putHead(opened.stores, place, 8n, 5n);
    world.buckets.silentFrom = 0;
    const page = cutShort(place, ask);
    await expect(page).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
  },
);

it('nor has one that met only messages that are not shown, in a bucket that it could not read to its end', async () => {
  const place = newPlace();
  await putMessages(opened.stores, place, span(1n, 8n), () => MessageState.DELETED);
  await putHead(opened.stores, place, 8n);
  world.buckets.silentFrom = 1;
  const page = cutShort(place, { anchor: 9n, limit: 1 });
  await expect(page).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});

it('a page that crossed an empty bucket before its deadline has nothing to show and goes on elsewhere', async () => {
  const place = await put([5n], 4096n + 8n);
  world.buckets.silentFrom = 1;
  const cut = await cutShort(place, { anchor: 4096n + 9n });
  expect(cut).toMatchObject({ seqs: [], hasMore: true, stop: HistoryStop.DEADLINE, nextAnchor: 4096n });
  world.buckets.silentFrom = Number.POSITIVE_INFINITY;
  expect((await world.page(place, { anchor: cut.nextAnchor })).seqs).toEqual([5n]);
});

it('a page whose caller has left reads nothing more', async () => {
  const place = await put([5n], 6n * 4096n);
  const question = {
    ...place,
    direction: HistoryDirection.NEWER,
    anchor: 5n,
    limit: 5,
    deadlineMs: 20_000,
    responseBytesMax: 1_000_000,
  };
  await world.reader
    .page(question, 0, undefined, () => world.buckets.reads.length < 2)
    .catch(() => undefined);
  expect(world.buckets.reads).toHaveLength(2);
});

it('D14 never shows less than it has read: a row above its cached body replaces it', async () => {
  const place = newPlace();
  const ids = await putMessages(opened.stores, place, [1n]);
  await putHead(opened.stores, place, 1n);
  expect((await world.page(place)).results).toEqual(['OK']);
  const recalledAt = activity(Buffer.alloc(16, 0xff));
  const messageId = ids.get(1n);
  if (messageId === undefined) throw new Error('was written');
  const recalled = fullRecord(1n, {
    messageId,
    lastActivityId: recalledAt,
    state: MessageState.RECALLED,
    recallEventSeq: 2n,
    payload: Buffer.from('1'),
    dekId: undefined,
  });
  await opened.stores.messages.insertRecord({ ...place, seq: 1n }, recalled, life(2n ** 60n));
  // Nobody told the cache: what the page has read tells it.
  expect((await world.page(place)).results).toEqual(['RECALLED']);
  expect((await world.page(place)).outcome.receipt.cacheHits).toBe(1);
});

it('D14 a row below a log event’s floor is read again, and NOT_YET when the store still lags', async () => {
  const place = newPlace();
  const ids = await putMessages(opened.stores, place, [1n, 2n]);
  await putHead(opened.stores, place, 2n);
  const messageId = ids.get(2n);
  if (messageId === undefined) throw new Error('was written');
  const floor = { activityId: activity(Buffer.alloc(16, 0xff)), summaryVersion: 0n };
  world.joiner.raiseFloor(place.tenantId, messageId, floor);
  expect((await world.page(place)).results).toEqual(['NOT_YET', 'OK']);
});

it('single-flight: pages and joins of the same messages at once open each of them once', async () => {
  const place = await put(span(1n, 30n), 30n);
  const pages = await Promise.all(Array.from({ length: 5 }, () => world.page(place)));
  for (const page of pages) expect(page.seqs).toEqual(span(1n, 30n).reverse());
  expect(world.cache.stats().published).toBe(30);
  expect(world.joinReads()).toBe(0);
});
