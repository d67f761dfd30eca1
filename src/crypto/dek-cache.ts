/**
 * Opened DEKs, cached with a time limit (R6.2): the Keyring that join asks. Owned by the main thread.
 *
 * - One key is asked for once, however many wait for it (B36); what is asked in one tick shares provider calls.
 * - Failures and unknown keys are not cached; 'destroyed' is, since it is for ever (D12).
 * - **Who owns a key's bytes**: the cache takes over the bytes that the provider answers and zeroes them when it drops
 *   them (evicted, expired, destroyed, closed). What it hands out are copies that belong to the asker, so a drop never
 *   changes a key under an open job; an asker zeroes its copy when its job is done.
 * - markDestroyed acts at once on peeks and on answers still under way. It cannot take back a copy already handed out:
 *   the body cache's generation check at publication covers that window.
 */
import { LRUCache } from 'lru-cache';
import {
  DEK_CACHE_ENTRIES_MAX,
  DEK_CACHE_TTL_MS_DEFAULT,
  UNWRAP_BATCH_MAX,
  UNWRAP_TIMEOUT_MS_DEFAULT,
} from '../domain/limits.js';
import { type DekId, dekKey } from '../domain/message.js';
import type { Clock, KeyProvider, Keyring, Unwrapped } from '../domain/ports.js';
import { type Scheduler, systemScheduler } from './scheduler.js';
import { UnwrapBatcher } from './unwrap-batcher.js';

export interface DekCacheOptions {
  readonly provider: KeyProvider;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly scheduler?: Scheduler;
  /** Keys kept; the least recently used goes. Also the bound on keys being resolved and on 'destroyed' answers kept. */
  readonly entriesMax?: number;
  /** R6.2, dek_cache_ttl. */
  readonly ttlMs?: number;
  readonly unwrapTimeoutMs?: number;
  readonly unwrapBatchMax?: number;
}

export interface DekCacheStats {
  readonly entries: number;
  readonly hits: number;
  /** Answers that had to be resolved, those that joined a flight included. */
  readonly misses: number;
  readonly unwrapCalls: number;
  readonly unwrapFailures: number;
}

/** One key being asked for. */
interface Flight {
  readonly waiters: ((answer: Unwrapped) => void)[];
  /** Set when the key was destroyed meanwhile: whatever the provider answers, it is destroyed. */
  destroyed: boolean;
}

const DESTROYED: Unwrapped = { status: 'destroyed' };
/** Expired keys are zeroed by a sweep, at most this part of the TTL after their time. */
const SWEEPS_PER_TTL = 4;

export class DekCache implements Keyring {
  readonly #keys: LRUCache<string, Uint8Array>;
  readonly #destroyed: LRUCache<string, true>;
  readonly #flights = new Map<string, Flight>();
  readonly #batcher: UnwrapBatcher;
  readonly #scheduler: Scheduler;
  readonly #sweepMs: number;
  #cancelSweep: (() => void) | undefined;
  #closed = false;
  #hits = 0;
  #misses = 0;

  constructor(options: DekCacheOptions) {
    const entriesMax = options.entriesMax ?? DEK_CACHE_ENTRIES_MAX;
    const ttlMs = options.ttlMs ?? DEK_CACHE_TTL_MS_DEFAULT;
    const { clock } = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#sweepMs = Math.max(1, Math.ceil(ttlMs / SWEEPS_PER_TTL));
    this.#keys = new LRUCache({
      max: entriesMax,
      ttl: ttlMs,
      ttlResolution: 0,
      perf: { now: () => clock.nowMs() },
      dispose: (key) => key.fill(0),
    });
    this.#destroyed = new LRUCache({ max: entriesMax });
    this.#batcher = new UnwrapBatcher({
      provider: options.provider,
      scheduler: this.#scheduler,
      batchMax: options.unwrapBatchMax ?? UNWRAP_BATCH_MAX,
      timeoutMs: options.unwrapTimeoutMs ?? UNWRAP_TIMEOUT_MS_DEFAULT,
      askedMax: entriesMax,
    });
  }

  /** The cached answer, without waiting: a copy of the key, or 'destroyed'. */
  peek(id: DekId): Unwrapped | undefined {
    return this.#cached(dekKey(id));
  }

  /** Whether the key is known to be destroyed; copies nothing. */
  isDestroyed(id: DekId): boolean {
    return this.#destroyed.get(dekKey(id)) === true;
  }

  /** As many answers as ids; keys are copies, one per answer. Never rejects. */
  resolve(ids: readonly DekId[]): Promise<readonly Unwrapped[]> {
    return Promise.all(ids.map((id) => this.#resolveOne(id)));
  }

  /** The key was destroyed (R3.2): drops it now, for peeks and for whoever still waits for it. */
  markDestroyed(id: DekId): void {
    const name = dekKey(id);
    this.#destroyed.set(name, true);
    this.#keys.delete(name);
    const flight = this.#flights.get(name);
    if (flight !== undefined) flight.destroyed = true;
  }

  stats(): DekCacheStats {
    return {
      entries: this.#keys.size,
      hits: this.#hits,
      misses: this.#misses,
      unwrapCalls: this.#batcher.callCount,
      unwrapFailures: this.#batcher.failedCount,
    };
  }

  /** Zeroes every key; nothing is cached afterwards. */
  close(): void {
    this.#closed = true;
    this.#cancelSweep?.();
    this.#keys.clear();
  }

  #cached(name: string): Unwrapped | undefined {
    const key = this.#keys.get(name);
    if (key !== undefined) {
      this.#hits++;
      return { status: 'ok', key: copyOf(key) };
    }
    return this.#destroyed.get(name) === true ? DESTROYED : undefined;
  }

  #resolveOne(id: DekId): Unwrapped | Promise<Unwrapped> {
    const name = dekKey(id);
    const known = this.#cached(name);
    if (known !== undefined) return known;
    this.#misses++;
    return new Promise((resolve) => {
      const running = this.#flights.get(name);
      if (running !== undefined) {
        running.waiters.push(resolve);
        return;
      }
      const flight: Flight = { waiters: [resolve], destroyed: false };
      this.#flights.set(name, flight);
      this.#batcher.ask(id, (answer) => this.#land(name, flight, answer));
    });
  }

  /** Synchronous from the answer to the last waiter's copy: once the key is in the cache, it may be zeroed any time. */
  #land(name: string, flight: Flight, answer: Unwrapped): void {
    this.#flights.delete(name);
    if (answer.status !== 'ok') {
      const told = flight.destroyed ? DESTROYED : answer;
      if (told.status === 'destroyed') this.#destroyed.set(name, true);
      for (const waiter of flight.waiters) waiter(told);
      return;
    }
    if (flight.destroyed) {
      answer.key.fill(0);
      for (const waiter of flight.waiters) waiter(DESTROYED);
      return;
    }
    for (const waiter of flight.waiters) waiter({ status: 'ok', key: copyOf(answer.key) });
    if (this.#closed) {
      answer.key.fill(0);
      return;
    }
    this.#keys.set(name, answer.key);
    this.#cancelSweep ??= this.#scheduler.after(this.#sweepMs, () => this.#sweep());
  }

  #sweep(): void {
    this.#keys.purgeStale();
    this.#cancelSweep =
      this.#keys.size > 0 ? this.#scheduler.after(this.#sweepMs, () => this.#sweep()) : undefined;
  }
}

/** Not slice(): a provider may answer a Buffer, whose slice is a view. */
function copyOf(key: Uint8Array): Uint8Array {
  return new Uint8Array(key);
}
