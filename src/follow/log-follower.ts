/**
 * Follows the log from its ends at the start on, without a consumer group: every node needs every event.
 *
 *     ends() ──▶ BEGIN at these positions; the cache starts empty ──▶ FOLLOW: apply, move on
 *                  ▲                                                    │
 *                  │   the log was replaced                             │   reading failed, or stands still: again from the
 *                  └────────────────────────────────────────────────────┘   same positions
 *
 * **How far behind it is** is not told by silence: a broken connection is silent, too. So every `probeMs` it asks for the log's
 * ends; once it has applied everything before them, everything that was appended before that question was asked is
 * applied (LogFreshness.standsAt). No clock but this process's own is needed.
 *
 * A gap in the offsets means that events are gone (the log's age passed them): the cache is dropped and settles anew.
 * So does any other gap, of which there are few: nobody should use transactions on this topic, whose markers are gaps.
 * Records that were given before are applied again, which changes nothing. It never ends by itself and never rejects;
 * failures are counted.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FOLLOW_PROBE_MS_MAX, FOLLOW_RETRY_MS, FOLLOW_TICK_RECORDS } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { LogEntry, LogPosition, LogReader } from '../domain/write-ports.js';
import type { LogEvents } from './log-events.js';
import type { LogFreshness } from './log-freshness.js';
import type { Warmer } from './warmer.js';

export interface LogFollowerOptions {
  readonly log: Pick<LogReader, 'ends' | 'read'>;
  readonly events: Pick<LogEvents, 'apply'>;
  readonly freshness: LogFreshness;
  readonly warmer?: Pick<Warmer, 'begin'> | undefined;
  readonly clock: Clock;
  readonly lagMsMax: number;
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

export interface LogFollowerStats {
  /** Records known to be in the log and not applied yet. */
  readonly behindRecords: number;
  readonly behindMs: number;
  readonly applied: number;
  readonly gaps: number;
  /** Questions and reads that failed. */
  readonly failures: number;
}

/** Where the log ended when that was asked. */
interface EndsAnswer {
  readonly askedAtMs: number;
  readonly ends: readonly LogPosition[];
}

/** Probes in the time that it may be behind: some may be late. */
const PROBES_PER_LAG = 5;
/** How long a stop waits for a read that does not hear it. */
const STOP_MS_MAX = 1_000;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  readonly #stop = new AbortController();
  readonly #probeMs: number;
  /** Partition → offset of the next record to apply. */
  readonly #positions = new Map<number, bigint>();
  /** The oldest answer that is not applied up to its ends, and the latest answer. */
  #oldest: EndsAnswer | undefined;
  #latest: EndsAnswer | undefined;
  /** Ends the read under way; a read that was ended hands over nothing more. */
  #reading: AbortController | undefined;
  #readSinceMs = 0;
  #done: Promise<unknown> = Promise.resolve();
  #applied = 0;
  #appliedAtProbe = 0;
  #gaps = 0;
  #failures = 0;

  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.#probeMs = Math.min(FOLLOW_PROBE_MS_MAX, options.lagMsMax / PROBES_PER_LAG);
  }

  /** Begins; once. Until it stands at the log's ends for the first time the cache is kept fresh by age. */
  start(): void {
    this.#done = Promise.all([this.#follow(), this.#probe()]);
  }

  /** Applies nothing more when this resolves. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#reading?.abort();
    const timer = new AbortController();
    await Promise.race([this.#done, delay(STOP_MS_MAX, undefined, { signal: timer.signal })]).catch(() => {});
    timer.abort();
  }

  stats(): LogFollowerStats {
    return {
      behindRecords: Number(this.#behindRecords()),
      behindMs: this.#options.freshness.behindMs,
      applied: this.#applied,
      gaps: this.#gaps,
      failures: this.#failures,
    };
  }

  async #follow(): Promise<void> {
    const { log } = this.#options;
    while (!this.#stop.signal.aborted) {
      // With positions it goes on from them, without it begins.
      const reading = new AbortController();
      this.#reading = reading;
      this.#readSinceMs = this.#options.clock.nowMs();
      try {
        if (this.#positions.size === 0) await this.#begin();
        const from = [...this.#positions].map(([partition, offset]) => ({ partition, offset }));
        const onEntries = (entries: readonly LogEntry[]) => this.#apply(entries, reading.signal);
        const onPosition = (position: LogPosition) => this.#jump(position, reading.signal);
        const onFailure = (error: unknown) => this.#fail(error);
        await endedBy(
          reading.signal,
          log.read({ from, onEntries, onPosition, onFailure, signal: reading.signal }),
        );
      } catch (error) {
        this.#fail(error);
      }
      // Also when a read ended well by itself, so that this can never spin.
      if (!reading.signal.aborted) await this.#pause(FOLLOW_RETRY_MS);
    }
  }

  /** Everything from the ends of now on will be heard; what was cached before may be out of date. */
  async #begin(): Promise<void> {
    const { clock, freshness, log, warmer } = this.#options;
    const askedAtMs = clock.nowMs();
    const ends = await log.ends();
    for (const { partition, offset } of ends) this.#positions.set(partition, offset);
    freshness.begin(clock.nowMs());
    warmer?.begin();
    freshness.standsAt(askedAtMs, clock.nowMs());
  }

  async #apply(entries: readonly LogEntry[], signal: AbortSignal): Promise<void> {
    for (let index = 0; index < entries.length; index++) {
      if (signal.aborted) return;
      this.#applyOne(entries[index] as LogEntry);
      if ((index + 1) % FOLLOW_TICK_RECORDS === 0) await nextTurn();
    }
    if (!signal.aborted) this.#settleQuestions();
  }

  #applyOne(entry: LogEntry): void {
    const { events } = this.#options;
    const expected = this.#positions.get(entry.partition) ?? 0n;
    if (entry.offset > expected) this.#noteGap();
    events.apply(entry);
    this.#applied++;
    if (entry.offset >= expected) this.#positions.set(entry.partition, entry.offset + 1n);
  }

  /** Offsets without records: whatever they were, they are gone. */
  #jump({ partition, offset }: LogPosition, signal: AbortSignal): void {
    if (signal.aborted || offset <= (this.#positions.get(partition) ?? 0n)) return;
    this.#noteGap();
    this.#positions.set(partition, offset);
    this.#settleQuestions();
  }

  #noteGap(): void {
    const { clock, freshness, warmer } = this.#options;
    this.#gaps++;
    freshness.begin(clock.nowMs());
    warmer?.begin();
  }

  async #probe(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#pause(this.#probeMs);
      const before = new Map(this.#positions);
      const appliedBefore = this.#applied;
      if (before.size === 0) continue;
      try {
        const askedAtMs = clock.nowMs();
        const ends = await log.ends();
        const isReplaced = ends.some(({ partition, offset }) => offset < (before.get(partition) ?? 0n));
        if (isReplaced) {
          this.#beginAnew();
          continue;
        }
        this.#latest = { askedAtMs, ends };
        this.#oldest ??= this.#latest;
        this.#settleQuestions();
        // From the same positions: what was not read must not be passed over.
        if (this.#standsStill(appliedBefore)) this.#reading?.abort();
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  /** Tells how far it stands, if the oldest question that was open is settled. */
  #settleQuestions(): void {
    const { clock, freshness } = this.#options;
    while (this.#oldest !== undefined && this.#isApplied(this.#oldest.ends)) {
      freshness.standsAt(this.#oldest.askedAtMs, clock.nowMs());
      this.#oldest = this.#latest === this.#oldest ? undefined : this.#latest;
    }
  }

  /** Too far behind, with records to read and a log that answers, and yet nothing was applied for as long by this read. */
  #standsStill(appliedBefore: number): boolean {
    const { clock, freshness, lagMsMax } = this.#options;
    const nowMs = clock.nowMs();
    const stood = this.#appliedAtProbe === this.#applied && appliedBefore === this.#applied;
    this.#appliedAtProbe = this.#applied;
    if (!stood || this.#oldest === undefined || freshness.isCurrent(nowMs)) return false;
    return nowMs - this.#readSinceMs > lagMsMax;
  }

  #beginAnew(): void {
    this.#positions.clear();
    this.#oldest = undefined;
    this.#latest = undefined;
    this.#reading?.abort();
  }

  #isApplied(ends: readonly LogPosition[]): boolean {
    return ends.every(({ partition, offset }) => (this.#positions.get(partition) ?? 0n) >= offset);
  }

  #behindRecords(): bigint {
    let records = 0n;
    for (const { partition, offset } of this.#latest?.ends ?? []) {
      const position = this.#positions.get(partition) ?? 0n;
      if (offset > position) records += offset - position;
    }
    return records;
  }

  #fail(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#failures++;
    this.#options.onFailure?.(error);
  }

  #pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when the task or the signal ends, whichever is first: a read may hang and not hear the signal. */
function endedBy(signal: AbortSignal, task: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    task.then(resolve, reject);
  });
}
