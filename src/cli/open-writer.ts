/**
 * Wires a Writer from its settings, as compose.ts does a sidecar: store, log, keys, sealing, retention (R3.4). Its alerts
 * become log lines and, like its steps, metrics. Keys that others destroy are forgotten within `keyPollMs`, so that
 * nothing more is sealed under them. Parts are closed in reverse order of their making, also when a later one fails.
 */
import { ConversationSealer } from '../crypto/conversation-sealer.js';
import { DekCache } from '../crypto/dek-cache.js';
import { DestructionWatcher } from '../crypto/destruction-watcher.js';
import { KeyAdmin } from '../crypto/key-admin.js';
import { LocalKeyProvider } from '../crypto/local-key-provider.js';
import type { DekId } from '../domain/message.js';
import type { LogReader, Outbox } from '../domain/write-ports.js';
import type { Log } from '../server/log.js';
import { WindowAllocator } from '../write/allocator.js';
import { Writer } from '../write/writer.js';
import { Closers } from './closers.js';
import { destroyKey } from './destroy-key.js';
import { loadRetention } from './load-retention.js';
import { openLog } from './open-log.js';
import type { Settings } from './settings.js';
import { loadKek, openStores, requireKekOf, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';
import { WriteMetrics } from './write-metrics.js';

export interface OpenedWriter {
  readonly writer: Writer;
  readonly stores: Stores;
  /** What the writer appends to, for recovery runs. */
  readonly log: Outbox & LogReader;
  readonly keys: KeyAdmin;
  readonly metrics: WriteMetrics;
  /**
   * Destroys a data key for ever and tells those who follow the log. KEY_UNKNOWN, or STORE_*. A conversation's has scope
   * "conversation" and the id that conversationKeyId() gives.
   */
  destroyKey(dekId: DekId): Promise<void>;
  /** Waits for heads that are not written yet at most so long, then closes everything; resolves to the heads left. */
  close(withinMs: number): Promise<number>;
}

export interface OpenWriterOptions {
  /** Seqs reserved at once, for a process that ends soon; see WindowAllocatorOptions. */
  readonly windowSeqs?: number;
  /** It changes what is there already: without a store there is nothing to change. */
  readonly needsStore?: boolean;
}

/**
 * Fails with CONFIG_INVALID, KEY_FILE, STORE_*, SCHEMA_*, BUCKET_WIDTH, LOG_*, TLS_FAILED or TOPIC_MISSING; nothing is left
 * open.
 */
export async function openWriter(
  settings: Settings,
  events: Log,
  options: OpenWriterOptions = {},
): Promise<OpenedWriter> {
  const closers = new Closers();
  try {
    return await make(settings, events, options, closers);
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}

async function make(
  settings: Settings,
  events: Log,
  options: OpenWriterOptions,
  closers: Closers,
): Promise<OpenedWriter> {
  const clock = systemClock;
  const retention = loadRetention(settings, events, clock.epochMs());
  const { needsStore = false, ...allocation } = options;
  const kek = await loadKek(settings, !needsStore);
  closers.add(() => kek.fill(0));
  const stores = await openStores(settings, clock);
  closers.add(() => stores.close());
  await requireKekOf(settings, stores, kek, 'wrap');
  const log = await openLog(settings, stores.log, clock);
  closers.add(() => log.close());

  const keyring = new DekCache({
    provider: new LocalKeyProvider(stores.keys, kek),
    clock,
    ttlMs: settings.dekCacheTtlMs,
    unwrapTimeoutMs: settings.unwrapTimeoutMs,
  });
  closers.add(() => keyring.close());
  const watcher = new DestructionWatcher({
    store: stores.keys,
    clock,
    pollMs: settings.keyPollMs,
    pollTimeoutMs: settings.storeTimeoutMs,
    listeners: [(dekId) => keyring.markDestroyed(dekId)],
  });
  closers.add(() => watcher.stop());
  watcher.start();

  const keys = new KeyAdmin(stores.keys, kek, clock);
  const metrics = new WriteMetrics();
  const writer = new Writer({
    messages: stores.messages,
    writes: stores.writes,
    outbox: log,
    sealer: new ConversationSealer({ keys, keyring, clock }),
    retention,
    allocator: new WindowAllocator({ store: stores.writes, clock, ...allocation }),
    clock,
    record: settings.record,
    onAlert: (alert) => {
      metrics.countAlert(alert);
      events.write('warn', 'write_alert', { alert });
    },
    watchStep: (operation, step, elapsedMs) => metrics.observeStep(operation, step, elapsedMs),
  });
  metrics.observeHeads(() => writer.headStats());
  return {
    writer,
    stores,
    log,
    keys,
    metrics,
    destroyKey: async (dekId) => {
      const untold = await destroyKey({ keys, outbox: log, clock }, dekId);
      keyring.markDestroyed(dekId);
      if (untold !== undefined) events.write('warn', 'destruction_not_logged', { code: untold.code });
    },
    close: async (withinMs) => {
      const headsLeft = await writer.close(withinMs);
      await closers.closeAll();
      return headsLeft;
    },
  };
}
