/**
 * Learns of keys that other processes destroyed, by asking the key store every `pollMs`: the stated time of a purge.
 *
 * Each poll asks from `overlapMs` before the last complete one: the marker carries the destroyer's clock, so clocks
 * of the fleet may differ by the overlap. What was told is remembered (bounded; what is forgotten is told again, so
 * listeners are idempotent). A poll counts as complete only when every listener has succeeded for every key; until
 * then the same time is asked again. It never dies: a failed or hanging poll is counted, and `lastSuccessAgeMs`
 * shows how far behind it is.
 */
import { LRUCache } from 'lru-cache';
import { MailjoinError } from '../domain/errors.js';
import { DEK_CACHE_ENTRIES_MAX, KEY_POLL_MS_DEFAULT, STORE_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import { type DekId, dekKey } from '../domain/message.js';
import type { Clock, KeyStore } from '../domain/ports.js';
import { type Scheduler, systemScheduler } from './scheduler.js';

/** How far the clocks of two processes may differ. */
const OVERLAP_MS_DEFAULT = 60_000;

/** Called for every destroyed key; may be called again for the same one. Synchronous, so that none can hang the watch. */
export type DestructionListener = (dekId: DekId) => void;

export interface DestructionWatcherOptions {
  readonly store: Pick<KeyStore, 'destroyedSince'>;
  readonly clock: Clock;
  readonly listeners: readonly DestructionListener[];
  readonly scheduler?: Scheduler;
  readonly pollMs?: number;
  readonly pollTimeoutMs?: number;
  readonly overlapMs?: number;
  /** Destroyed keys remembered as told. */
  readonly toldMax?: number;
}

export class DestructionWatcher {
  readonly #options: DestructionWatcherOptions;
  readonly #scheduler: Scheduler;
  readonly #pollMs: number;
  readonly #pollTimeoutMs: number;
  readonly #overlapMs: number;
  readonly #told: LRUCache<string, true>;
  #askFromEpochMs: number;
  #lastSuccessAtMs: number;
  #failures = 0;
  #polling: Promise<void> | undefined;
  #cancelNext: (() => void) | undefined;
  #stopped = false;

  constructor(options: DestructionWatcherOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#pollMs = options.pollMs ?? KEY_POLL_MS_DEFAULT;
    this.#pollTimeoutMs = options.pollTimeoutMs ?? STORE_TIMEOUT_MS_DEFAULT;
    this.#overlapMs = options.overlapMs ?? OVERLAP_MS_DEFAULT;
    this.#told = new LRUCache({ max: options.toldMax ?? DEK_CACHE_ENTRIES_MAX });
    // Nothing was cached before this process began, so nothing older needs purging.
    this.#askFromEpochMs = options.clock.epochMs() - this.#overlapMs;
    this.#lastSuccessAtMs = options.clock.nowMs();
  }

  /** Polls or listeners that failed so far. */
  get failures(): number {
    return this.#failures;
  }

  /** Milliseconds since the last complete poll began, or since the watcher was made. */
  get lastSuccessAgeMs(): number {
    return this.#options.clock.nowMs() - this.#lastSuccessAtMs;
  }

  /** Polls now and then every pollMs, counted from the end of the poll before. */
  start(): void {
    void this.poll();
  }

  /** One poll, now; a poll under way is joined. Never rejects. */
  poll(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#polling ??= this.#pollOnce().finally(() => {
      this.#polling = undefined;
      this.#cancelNext?.();
      this.#cancelNext = this.#stopped
        ? undefined
        : this.#scheduler.after(this.#pollMs, () => void this.poll());
    });
    return this.#polling;
  }

  /** No further polls; resolves when the one under way has ended (at the latest at its timeout). */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelNext?.();
    this.#cancelNext = undefined;
    await this.#polling;
  }

  async #pollOnce(): Promise<void> {
    const { clock } = this.#options;
    const startedAtMs = clock.nowMs();
    const nextFromEpochMs = clock.epochMs() - this.#overlapMs;
    // The lower of the two: a clock that was set back must not make a poll ask from the future.
    const askFromEpochMs = Math.min(this.#askFromEpochMs, nextFromEpochMs);
    try {
      const destroyed = await this.#askStore(askFromEpochMs);
      let complete = true;
      for (const dekId of destroyed) complete = this.#tell(dekId) && complete;
      if (!complete) return;
      this.#askFromEpochMs = nextFromEpochMs;
      this.#lastSuccessAtMs = startedAtMs;
    } catch {
      // The cause is the store's and is counted there; what matters here is the age of the last success.
      this.#failures++;
    }
  }

  /** Bounded in time: a store that hangs must not end the watch. */
  #askStore(fromEpochMs: number): Promise<readonly DekId[]> {
    return new Promise((resolve, reject) => {
      const cancel = this.#scheduler.after(this.#pollTimeoutMs, () =>
        reject(new MailjoinError('STORE_UNAVAILABLE', `no destroyed keys within ${this.#pollTimeoutMs} ms`)),
      );
      const ask = async (): Promise<readonly DekId[]> => this.#options.store.destroyedSince(fromEpochMs);
      ask().then(resolve, reject).finally(cancel);
    });
  }

  /** True when the key was told before, or every listener has taken it now. */
  #tell(dekId: DekId): boolean {
    const name = dekKey(dekId);
    if (this.#told.get(name) === true) return true;
    let taken = true;
    for (const listener of this.#options.listeners) {
      try {
        listener(dekId);
      } catch {
        this.#failures++;
        taken = false;
      }
    }
    if (taken) this.#told.set(name, true);
    return taken;
  }
}
