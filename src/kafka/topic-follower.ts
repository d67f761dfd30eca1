/**
 * Reads the topic from positions on, without a consumer group: a follower needs every record and commits nothing.
 *
 * A follower reconnects by itself for as long as it runs; a read that has an end gives up (LOG_UNAVAILABLE) when no
 * broker answered for the timeout. A position moves only when the handler is done, so a failure repeats nothing that was
 * handed over. Partitions that are added later are followed from their beginning.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import type { Clock } from '../domain/ports.js';
import type { LogEntry, LogPosition, LogReader } from '../domain/write-ports.js';
import { ClusterLink } from './cluster-link.js';
import { pagesOf } from './entry-pages.js';
import { type FetchedPartition, fetchRound, partitionsOf } from './fetch-round.js';
import { asLogError } from './kafka-errors.js';

const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 2_000;

type ReadOptions = Parameters<LogReader['read']>[0];

export class TopicFollower {
  readonly #link: ClusterLink;
  readonly #topic: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #positions: Map<number, bigint>;
  readonly #until: ReadonlyMap<number, bigint> | undefined;

  constructor(kafka: Kafka, topic: string, timeoutMs: number, clock: Clock, options: ReadOptions) {
    this.#link = new ClusterLink(kafka, topic);
    this.#topic = topic;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#positions = byPartition(options.from);
    this.#until = options.until === undefined ? undefined : byPartition(options.until);
  }

  async run({ onEntries, onPosition, onFailure, signal }: ReadOptions, closed: AbortSignal): Promise<void> {
    let answeredAtMs = this.#clock.nowMs();
    let backoffMs = BACKOFF_MS_MIN;
    try {
      while (!signal.aborted && !this.#isDone()) {
        if (closed.aborted) throw new MailjoinError('LOG_UNAVAILABLE', 'the log is closed');
        let round: FetchedPartition[];
        const from = new Map(this.#positions);
        try {
          round = await this.#round();
        } catch (error) {
          if (this.#until !== undefined && this.#clock.nowMs() - answeredAtMs > this.#timeoutMs) {
            throw asLogError(error, 'the log could not be read in time');
          }
          if (!signal.aborted) onFailure?.(asLogError(error, 'the log could not be read'));
          await delay(backoffMs, undefined, { signal }).catch(() => {});
          backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
          continue;
        }
        for (const fetched of round) {
          await this.#handOver(fetched, onEntries, signal);
          const { partition, entries, next } = fetched;
          const isBehind = next === (entries.at(-1)?.offset ?? -1n) + 1n;
          const isSame = entries.length === 0 && next === from.get(partition);
          if (!isBehind && !isSame && !signal.aborted) onPosition?.({ partition, offset: next });
        }
        answeredAtMs = this.#clock.nowMs();
        backoffMs = BACKOFF_MS_MIN;
      }
    } finally {
      this.#link.close();
    }
  }

  #round(): Promise<FetchedPartition[]> {
    return this.#link.use(this.#timeoutMs, async (cluster) => {
      const wanted = new Map<number, bigint>();
      for (const partition of partitionsOf(cluster, this.#topic)) {
        const position = this.#positions.get(partition) ?? 0n;
        if (this.#reached(partition, position)) continue;
        wanted.set(partition, position);
      }
      return wanted.size === 0 ? [] : fetchRound(cluster, this.#topic, wanted);
    });
  }

  async #handOver(
    { partition, entries, next }: FetchedPartition,
    onEntries: ReadOptions['onEntries'],
    signal: AbortSignal,
  ): Promise<void> {
    const end = this.#until?.get(partition);
    const before = end === undefined ? entries : entries.filter(({ offset }) => offset < end);
    for (const page of pagesOf(before)) {
      if (signal.aborted) return;
      await onEntries(page);
      this.#positions.set(partition, lastOf(page).offset + 1n);
    }
    this.#positions.set(partition, next);
  }

  #isDone(): boolean {
    if (this.#until === undefined) return false;
    return [...this.#until.keys()].every((partition) =>
      this.#reached(partition, this.#positions.get(partition) ?? 0n),
    );
  }

  #reached(partition: number, position: bigint): boolean {
    return this.#until !== undefined && position >= (this.#until.get(partition) ?? 0n);
  }
}

function byPartition(positions: readonly LogPosition[]): Map<number, bigint> {
  return new Map(positions.map(({ partition, offset }) => [partition, offset]));
}

function lastOf(page: readonly LogEntry[]): LogEntry {
  const last = page.at(-1);
  if (last === undefined) throw new MailjoinError('INTERNAL', 'a page has entries');
  return last;
}
