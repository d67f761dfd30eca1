// A follower of the real embedded log over a joiner: its floors, and the lease of the region's readers.
import { expect, it, onTestFinished } from 'vitest';
import { RegionBodyCache } from '../../src/cache/body-cache.js';
import { Region } from '../../src/cache/region.js';
import { openItems } from '../../src/crypto/open-items.js';
import type { OpenJob } from '../../src/domain/open-job.js';
import { LogEvents } from '../../src/follow/log-events.js';
import { LogFollower } from '../../src/follow/log-follower.js';
import { LogFreshness } from '../../src/follow/log-freshness.js';
import { openFor, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import {
  makeWorld,
  names,
  newConversation,
  type Reference,
  revision,
  TENANT,
  textOf,
} from '../join/harness.js';
import { until } from '../stores/fixtures.js';
import { append, editOf, recallOf } from './log-fixtures.js';

const LAG_MS = 100;
const REGION_BYTES = 4 * 1024 * 1024;
const at = (reference: Reference) => ({ tenantId: TENANT, ...reference });

async function follow(floorsMax: number) {
  const clock = { now: 1_000_000, nowMs: () => clock.now, epochMs: () => Date.now() };
  const { log } = await openFor(temporaryDirectory(), clock);
  const region = Region.create({ regionBytes: REGION_BYTES, nowMs: clock.now });
  const cache = new RegionBodyCache(region, clock.now, { floorsMax });
  const freshness = new LogFreshness({
    clock,
    cacheAgeMs: 60_000,
    lagMsMax: LAG_MS,
    settleMs: 0,
    dropCache: () => cache.clear(),
  });
  const opener = { open: async (job: OpenJob) => openItems(job, region.bytes) };
  const world = makeWorld({ cache, clock, freshness, opener });
  const events = new LogEvents({ joiner: world.joiner, onKeyDestroyed: [] });
  const follower = new LogFollower({ log, events, freshness, clock, lagMsMax: LAG_MS });
  follower.start();
  onTestFinished(() => follower.stop());
  await until(async () => freshness.isCurrent(clock.now));
  return { ...world, cache, clock, events, follower, freshness, log };
}

it('a table of floors that the log fills pauses caching; joins go on, and caching begins anew with room', async () => {
  const { add, cache, clock, events, join, log, store } = await follow(3);
  const conversationId = newConversation();
  const other = add(newConversation(), 1n, 'other');
  for (let seq = 1n; seq <= 4n; seq++) {
    await append(
      log,
      editOf(at(add(conversationId, seq, 'old', { lastActivityId: revision(1) })), revision(2)),
    );
  }
  await until(async () => events.stats().edits === 4);
  expect(cache.stats()).toMatchObject({ paused: true, floors: 3 });
  expect(textOf(await join([other]), 0)).toBe('other');
  expect(textOf(await join([other]), 0)).toBe('other');
  expect(store.reads).toHaveLength(2);
  clock.now += 60_001;
  cache.tend(clock.now);
  await join([other]);
  await join([other]);
  expect(store.reads).toHaveLength(3);
});

it('a follower that has stopped: the next batch is served from the store, and what it caches lasts for the bound', async () => {
  const { add, clock, follower, freshness, join, store } = await follow(100);
  const message = add(newConversation(), 1n, 'text');
  await join([message]);
  await join([message]);
  expect(store.reads).toHaveLength(1);
  await follower.stop();
  clock.now += LAG_MS + 1;
  await join([message]);
  expect(store.reads).toHaveLength(2);
  expect(freshness.isCurrent(clock.now)).toBe(false);
  clock.now += LAG_MS - 1;
  await join([message]);
  expect(store.reads).toHaveLength(2);
  clock.now += 1;
  await join([message]);
  expect(store.reads).toHaveLength(3);
});

it('events that came while it was away are applied when it goes on, and undo nothing that is newer', async () => {
  const { add, events, join, log } = await follow(100);
  const conversationId = newConversation();
  const recalled = add(conversationId, 1n, 'secret', { lastActivityId: revision(1) });
  const edited = add(conversationId, 2n, 'newest', { lastActivityId: revision(5) });
  await join([recalled, edited]);
  await append(log, recallOf(at(recalled), revision(2)));
  await append(log, editOf(at(edited), revision(4)));
  await until(async () => events.stats().edits === 1);
  expect(names(await join([recalled, edited]))).toEqual(['NOT_YET', 'OK']);
});
