/**
 * The one place that wires adapters to ports: a whole sidecar from its settings. Parts are closed in reverse order of
 * their making, also when a later one cannot be made.
 */
import { RegionBodyCache } from '../cache/body-cache.js';
import { Region } from '../cache/region.js';
import { DekCache } from '../crypto/dek-cache.js';
import { DestructionWatcher } from '../crypto/destruction-watcher.js';
import { LocalKeyProvider } from '../crypto/local-key-provider.js';
import { REGION_LEASE_MS_DEFAULT } from '../domain/limits.js';
import type { DekId } from '../domain/message.js';
import type { BodyCacheStats } from '../domain/ports.js';
import { DetailReader } from '../history/detail-reader.js';
import { HistoryReader } from '../history/history-reader.js';
import { MessageLookup } from '../history/message-lookup.js';
import { ConversationsInUse } from '../join/conversations-in-use.js';
import { fixedAge } from '../join/freshness.js';
import { Joiner } from '../join/joiner.js';
import { Admission, admissionFor } from '../server/admission.js';
import type { Log } from '../server/log.js';
import { Metrics } from '../server/metrics.js';
import { Readiness } from '../server/readiness.js';
import { Server } from '../server/server.js';
import { WorkerOpener } from '../workers/worker-opener.js';
import { Closers } from './closers.js';
import { followLog, logFreshness } from './follow-log.js';
import { freeCosts, loadReadCosts, type ReadCostsInUse } from './load-read-costs.js';
import { loadRetention } from './load-retention.js';
import { openLogReader } from './open-log.js';
import type { Settings } from './settings.js';
import { loadKek, openStores, requireKekOf, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';

/** Renewals in one lease: a few may be late before readers take the writer for dead. */
const RENEWALS_PER_LEASE = 3;
/** Polls that the watcher of destroyed keys may miss before the process is no longer ready. */
const MISSED_POLLS_MAX = 3;

export interface Sidecar {
  readonly server: Server;
  readonly joiner: Joiner;
  readonly history: HistoryReader;
  readonly stores: Stores;
  readonly costs: ReadCostsInUse;
  cacheStats(): BodyCacheStats;
  /** Stops serving and closes every part; resolves to the requests that the deadline cut off. */
  stop(withinMs: number): Promise<number>;
}

/** Starts a sidecar that serves when this resolves. Fails with any start-up error; then nothing is left open. */
export async function startSidecar(settings: Settings, log: Log): Promise<Sidecar> {
  const closers = new Closers();
  try {
    return await make(settings, log, closers);
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}

async function make(settings: Settings, log: Log, closers: Closers): Promise<Sidecar> {
  const clock = systemClock;
  const metrics = new Metrics();
  const retention = loadRetention(settings, log, clock.epochMs());
  const costs = loadReadCosts(settings);
  const free = freeCosts(costs.model).join(', ');
  if (free !== '') log.write('warn', 'read_costs_free', { readCosts: costs.source, constants: free });
  const kek = await loadKek(settings);
  closers.add(() => kek.fill(0));
  const stores = await openStores(settings, clock, ({ table, shape, furtherPage }) =>
    metrics.countStatement(table, shape, furtherPage),
  );
  closers.add(() => stores.close());
  await requireKekOf(settings, stores, kek, 'open');

  const provider = new LocalKeyProvider(stores.keys, kek);
  const keyring = new DekCache({
    provider,
    clock,
    ttlMs: settings.dekCacheTtlMs,
    unwrapTimeoutMs: settings.unwrapTimeoutMs,
  });
  closers.add(() => keyring.close());

  const region = Region.create({ regionBytes: settings.cacheBytes, nowMs: clock.nowMs() });
  const reader = await openLogReader(settings, stores.log, clock);
  // Readers of the region must not go on for longer than the cache may be behind.
  const leaseMs =
    reader === undefined
      ? REGION_LEASE_MS_DEFAULT
      : Math.min(REGION_LEASE_MS_DEFAULT, settings.followLagMaxMs);
  const cache = new RegionBodyCache(region, clock.nowMs(), { leaseMs });
  const logged = reader === undefined ? undefined : logFreshness(settings, cache, clock, log);
  const renewal = setInterval(() => {
    const nowMs = clock.nowMs();
    if (logged === undefined || logged.isCurrent(nowMs)) cache.renewLease(nowMs);
    else cache.tend(nowMs);
  }, leaseMs / RENEWALS_PER_LEASE);
  closers.add(() => {
    clearInterval(renewal);
    cache.retire();
  });

  const opener = new WorkerOpener({
    region: region.buffer,
    ...(settings.workers === undefined ? {} : { threads: settings.workers }),
  });
  closers.add(() => opener.close());

  // The key first: what is opened after this is not published under the old generation.
  const onKeyDestroyed = [
    (dekId: DekId) => keyring.markDestroyed(dekId),
    (dekId: DekId) => void cache.destroyKey(dekId),
  ];
  const watcher = new DestructionWatcher({
    store: stores.keys,
    clock,
    pollMs: settings.keyPollMs,
    pollTimeoutMs: settings.storeTimeoutMs,
    listeners: onKeyDestroyed,
  });
  closers.add(() => watcher.stop());
  watcher.start();

  const inUse = settings.warm && reader !== undefined ? new ConversationsInUse(clock) : undefined;
  const onFailure = (code: string, error: unknown) => {
    metrics.countFailure(code);
    log.write('warn', 'join_failure', { code, error: error instanceof Error ? error.name : typeof error });
  };
  const joiner = new Joiner({
    store: stores.messages,
    cache,
    keyring,
    opener,
    clock,
    costs: costs.model,
    allowUnsealed: settings.allowUnsealed,
    freshness: logged ?? fixedAge(settings.cacheAgeMs),
    inUse,
    onFailure,
  });

  const followed =
    reader === undefined || logged === undefined
      ? undefined
      : followLog(settings, {
          reader,
          freshness: logged,
          joiner,
          onKeyDestroyed,
          inUse,
          retention,
          clock,
          log,
        });
  closers.add(async () => {
    await followed?.stop();
    await reader?.close();
  });
  followed?.start();

  const history = new HistoryReader({
    buckets: stores.buckets,
    heads: stores.writes,
    joiner,
    clock,
    onAlert: (alert) => {
      metrics.countHistoryAlert(alert);
      log.write('warn', 'history_alert', { alert });
    },
    onFailure,
  });

  const details = new DetailReader({ joiner, reactions: stores.writes, onFailure });

  const lookups = settings.lookup
    ? new MessageLookup({
        index: stores.writes,
        joiner,
        clock,
        onLookup: (outcome) => metrics.countIndexLookup(outcome),
        onFailure,
      })
    : undefined;

  const watcherAgeMsMax = MISSED_POLLS_MAX * settings.keyPollMs + settings.storeTimeoutMs;
  const readiness = new Readiness(
    [
      { name: 'store', check: async () => void (await stores.messages.ping()) },
      {
        name: 'keys',
        check: async () =>
          watcher.lastSuccessAgeMs <= watcherAgeMsMax
            ? undefined
            : `destroyed keys not looked for during ${Math.round(watcher.lastSuccessAgeMs)} ms`,
      },
      ...(followed === undefined ? [] : [{ name: 'log', check: async () => followed.problem() }]),
    ],
    clock,
  );
  const admission = new Admission(admissionFor(settings.batchesMax));
  const server = new Server({
    socketPath: settings.socket,
    socketMode: settings.socketMode,
    joiner,
    history,
    details,
    lookups,
    admission,
    readiness,
    metrics,
    clock,
    log,
  });
  metrics.observe({
    cache: () => cache.stats(),
    joins: () => joiner.stats(),
    keys: () => ({
      ...keyring.stats(),
      watcherAgeMs: watcher.lastSuccessAgeMs,
      watcherFailures: watcher.failures,
    }),
    opener: () => opener.stats(),
    log: followed?.figures,
    inFlight: () => ({
      batches: admission.batches,
      requestBytes: admission.requestBytes,
      responseBytes: admission.responseBytes,
      connections: server.connections,
    }),
  });
  await server.start();
  return {
    server,
    joiner,
    history,
    stores,
    costs,
    cacheStats: () => cache.stats(),
    stop: async (withinMs) => {
      const cutOff = await server.stop(withinMs);
      await closers.closeAll();
      return cutOff;
    },
  };
}
