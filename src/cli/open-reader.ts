/**
 * Wires what a command needs to read messages by itself, without a sidecar: stores that exist, keys, a cache as small as
 * it may be (a command meets each message once), one thread. Nothing is made that is not there. A person may look at a
 * page for hours, so an opened key is kept no longer than a sidecar takes to learn of its destruction (B37): no watcher is
 * needed. Parts are closed in reverse order of their making, also when a later one fails.
 */
import { RegionBodyCache } from '../cache/body-cache.js';
import { Region } from '../cache/region.js';
import { DekCache } from '../crypto/dek-cache.js';
import { LocalKeyProvider } from '../crypto/local-key-provider.js';
import { REGION_BYTES_MIN } from '../domain/limits.js';
import { DetailReader } from '../history/detail-reader.js';
import { HistoryReader } from '../history/history-reader.js';
import { fixedAge } from '../join/freshness.js';
import { Joiner } from '../join/joiner.js';
import type { Log } from '../server/log.js';
import { WorkerOpener } from '../workers/worker-opener.js';
import { Closers } from './closers.js';
import { loadReadCosts } from './load-read-costs.js';
import type { Settings } from './settings.js';
import { loadKek, openExistingStores, requireKekOf, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';

/** What reads messages. */
interface Readers {
  readonly history: HistoryReader;
  readonly details: DetailReader;
  readonly stores: Stores;
}

export interface OpenedReader extends Readers {
  close(): Promise<void>;
}

/** Fails with STORE_MISSING, KEY_FILE, CONFIG_INVALID, STORE_*, SCHEMA_* or BUCKET_WIDTH; nothing is left open. */
export async function openReader(settings: Settings, log: Log): Promise<OpenedReader> {
  const closers = new Closers();
  try {
    return { ...(await make(settings, log, closers)), close: () => closers.closeAll() };
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}

async function make(settings: Settings, log: Log, closers: Closers): Promise<Readers> {
  const clock = systemClock;
  const costs = loadReadCosts(settings);
  const kek = await loadKek(settings, false);
  closers.add(() => kek.fill(0));
  const stores = await openExistingStores(settings, clock);
  closers.add(() => stores.close());
  await requireKekOf(settings, stores, kek, 'open');
  const { dekCacheTtlMs, keyPollMs, unwrapTimeoutMs } = settings;
  const ttlMs = Math.min(dekCacheTtlMs, keyPollMs);
  const provider = new LocalKeyProvider(stores.keys, kek);
  const keyring = new DekCache({ provider, clock, ttlMs, unwrapTimeoutMs });
  closers.add(() => keyring.close());

  const region = Region.create({ regionBytes: REGION_BYTES_MIN, nowMs: clock.nowMs() });
  const cache = new RegionBodyCache(region, clock.nowMs());
  closers.add(() => cache.retire());
  const opener = new WorkerOpener({ region: region.buffer, threads: 1 });
  closers.add(() => opener.close());

  const onFailure = (code: string) => log.write('warn', 'read_failure', { code });
  const joiner = new Joiner({
    store: stores.messages,
    cache,
    keyring,
    opener,
    clock,
    costs: costs.model,
    allowUnsealed: settings.allowUnsealed,
    freshness: fixedAge(settings.cacheAgeMs),
    onFailure,
  });
  const history = new HistoryReader({
    buckets: stores.buckets,
    heads: stores.writes,
    joiner,
    clock,
    // A hole is told to the person who asked.
    onAlert: () => undefined,
    onFailure,
  });
  const details = new DetailReader({ joiner, reactions: stores.writes, onFailure });
  return { history, details, stores };
}
