/**
 * What the cache may promise while a log is followed: **nothing is served from it that was out of date in the log for
 * longer than `lagMsMax`**, whatever happens to the broker, the network or this process.
 *
 *     CURRENT ── more than lagMsMax since the follower stood at the end ──▶ BEHIND   the cache is dropped here
 *        ▲                                                                    │
 *        └──────────────── it stands at the end again ────────────────────────┘
 *
 * CURRENT: bodies are cached for the whole age, since events drop them. BEHIND: events are not heard, so bodies are cached
 * for lagMsMax from the moment their read was sent: the same bound kept by age instead. That is less than the age
 * without a broker, yet enough for hot messages to be read once per lagMsMax and not by every batch, when the log is
 * what is broken and the store must not be made to break as well.
 *
 * SETTLING, the first time after a start or a gap in the log: events may have been missed whose rows do not show them
 * yet (the log is told before the row). So a body read in that time has the short age, too.
 *
 * The state follows from the clock alone and is looked at before any hit is served (check), so a process that was
 * stopped for a while serves nothing old on waking. Owner: the main thread.
 */
import type { Clock } from '../domain/ports.js';
import type { Freshness } from '../join/freshness.js';

export interface LogFreshnessOptions {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** How long a body may be cached while events are heard. */
  readonly cacheAgeMs: number;
  readonly lagMsMax: number;
  readonly settleMs: number;
  /** Drops everything cached. */
  readonly dropCache: () => void;
  /** Told when the state changes: for the log. */
  readonly onChange?: ((isCurrent: boolean, behindMs: number) => void) | undefined;
}

export class LogFreshness implements Freshness {
  readonly #options: LogFreshnessOptions;
  /** Everything appended before this time was applied. */
  #standsAtMs: number;
  /** Reads sent before this time have the short age. */
  #settledAtMs: number;
  #behind = true;
  #drops = 0;

  /** BEHIND until the follower stands at an end for the first time. */
  constructor(options: LogFreshnessOptions) {
    this.#options = options;
    this.#standsAtMs = options.clock.nowMs();
    this.#settledAtMs = Number.POSITIVE_INFINITY;
  }

  /** Milliseconds since the follower last stood at the end of the log, or since it was made. */
  get behindMs(): number {
    return this.#options.clock.nowMs() - this.#standsAtMs;
  }

  /** How often the cache was dropped: falling behind, and gaps. */
  get drops(): number {
    return this.#drops;
  }

  /** Whether events are heard in time, now; the region's lease is renewed only then. */
  isCurrent(nowMs: number): boolean {
    this.check(nowMs);
    return !this.#behind;
  }

  /** The follower begins at the log's ends, or found that events are missing: what is cached may be out of date. */
  begin(nowMs: number): void {
    this.#settledAtMs = nowMs + this.#options.settleMs;
    this.#drop();
  }

  /** Everything appended before `atMs` is applied. */
  standsAt(atMs: number, nowMs: number): void {
    this.check(nowMs);
    this.#standsAtMs = Math.max(this.#standsAtMs, atMs);
    if (!this.#behind || this.#isLate(nowMs)) return;
    this.#behind = false;
    this.#options.onChange?.(true, nowMs - this.#standsAtMs);
  }

  check(nowMs: number): void {
    if (this.#behind || !this.#isLate(nowMs)) return;
    this.#behind = true;
    this.#drop();
    this.#options.onChange?.(false, nowMs - this.#standsAtMs);
  }

  ageMsMax(sentAtMs: number): number {
    const { cacheAgeMs, clock, lagMsMax } = this.#options;
    this.check(clock.nowMs());
    return this.#behind || sentAtMs < this.#settledAtMs ? Math.min(cacheAgeMs, lagMsMax) : cacheAgeMs;
  }

  #isLate(nowMs: number): boolean {
    return nowMs - this.#standsAtMs > this.#options.lagMsMax;
  }

  #drop(): void {
    this.#drops++;
    this.#options.dropCache();
  }
}
