/**
 * The log on any broker that speaks Kafka's protocol (Redpanda in production): Outbox and LogReader on one topic.
 *
 * Appending: see group-commit.ts; following: topic-follower.ts; groups: group-consumer.ts. Every append, read and group
 * has connections of its own. close() finishes the appends that wait and ends reads and groups with LOG_UNAVAILABLE; an
 * abort of their signal ends those well. Fails with LOG_UNAVAILABLE, LOG_REFUSED, TLS_FAILED, RECORD_TOO_LARGE (nothing
 * is queued then), or with what a handler threw.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_RECORD_BYTES_MAX, LOG_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { LogAppend, LogPosition, LogReader, Outbox } from '../domain/write-ports.js';
import { ClusterLink } from './cluster-link.js';
import { recordBytesMaxOf } from './ensure-topic.js';
import { fetchRound, offsetsOf, partitionsOf } from './fetch-round.js';
import { GroupCommit } from './group-commit.js';
import { consumeAsMember, SESSION_MS_DEFAULT } from './group-consumer.js';
import { type KafkaConnectOptions, kafkaClient } from './kafka-client.js';
import { asLogError } from './kafka-errors.js';
import { missingTopic, refusalAtStart, refusalOf } from './refusal.js';
import { TopicFollower } from './topic-follower.js';

const RETRY_MS = 200;
/** A start that waits longer for brokers goes on without them. */
const ACCESS_TIMEOUT_MS = 5_000;
/** The brokers that are asked before that: one of several may be down. */
const ACCESS_ATTEMPTS = 3;

export interface KafkaLogOptions extends KafkaConnectOptions {
  readonly topic: string;
  readonly clock: Clock;
  /** How long a group's member may be silent before others take over; default 10 s, brokers take 6 s and more. */
  readonly sessionMs?: number | undefined;
}

type ReadOptions = Parameters<LogReader['read']>[0];
type ConsumeOptions = Parameters<LogReader['consume']>[0];

export class KafkaLog implements Outbox, LogReader {
  readonly #options: KafkaLogOptions;
  readonly #kafka: Kafka;
  readonly #producer: GroupCommit;
  readonly #offsets: ClusterLink;
  readonly #closing = new AbortController();
  #recordBytesMax = LOG_RECORD_BYTES_MAX;

  /** Contacts nobody. CONFIG_INVALID for options that cannot work. */
  constructor(options: KafkaLogOptions) {
    this.#options = options;
    this.#kafka = kafkaClient(options);
    this.#producer = new GroupCommit(this.#kafka, options.topic, this.#timeoutMs, options.clock);
    this.#offsets = new ClusterLink(this.#kafka, options.topic);
  }

  /**
   * For writers: learns how large the topic's records may be. LOG_UNAVAILABLE when no broker tells, TOPIC_MISSING, or a
   * refusal.
   */
  static async open(options: KafkaLogOptions): Promise<KafkaLog> {
    const log = new KafkaLog(options);
    log.#recordBytesMax = await recordBytesMaxOf(options);
    return log;
  }

  /**
   * For readers: LOG_REFUSED or TLS_FAILED when brokers can be reached and will not have us, TOPIC_MISSING when they have
   * no such topic, which no reader would ever tell, since readers wait for brokers. Those that cannot be reached are no
   * reason not to start.
   */
  static async openReader(options: KafkaLogOptions): Promise<KafkaLog> {
    const log = new KafkaLog(options);
    const failure = await log.#accessFailure();
    const refusal =
      failure === undefined
        ? undefined
        : (missingTopic(failure, options.topic) ?? (await refusalAtStart(failure, options)));
    if (refusal === undefined) return log;
    await log.close();
    throw refusal;
  }

  get recordBytesMax(): number {
    return this.#recordBytesMax;
  }

  async append(record: LogAppend): Promise<LogPosition> {
    const bytes = record.key.length + record.value.length;
    if (bytes > this.#recordBytesMax) throw new MailjoinError('RECORD_TOO_LARGE', `${bytes} bytes`);
    return this.#producer.append(record);
  }

  async ends(): Promise<readonly LogPosition[]> {
    const { topic, clock } = this.#options;
    const deadlineMs = clock.nowMs() + this.#timeoutMs;
    let failure: unknown;
    for (;;) {
      try {
        const ends = await this.#offsets.use(Math.max(1, deadlineMs - clock.nowMs()), (cluster) =>
          offsetsOf(cluster, topic, partitionsOf(cluster, topic), false),
        );
        return [...ends]
          .map(([partition, offset]) => ({ partition, offset }))
          .sort((a, b) => a.partition - b.partition);
      } catch (error) {
        // That the time was over for the last attempt says less than what the ones before it met.
        if (failure === undefined || !(error instanceof MailjoinError)) failure = error;
        if (this.#closing.signal.aborted || clock.nowMs() + RETRY_MS >= deadlineMs) {
          throw asLogError(failure, 'the ends of the log could not be read in time');
        }
        await delay(RETRY_MS);
      }
    }
  }

  read(options: ReadOptions): Promise<void> {
    const { topic, clock } = this.#options;
    const follower = new TopicFollower(this.#kafka, topic, this.#timeoutMs, clock, options);
    return follower.run(options, this.#closing.signal);
  }

  consume(options: ConsumeOptions): Promise<void> {
    const { topic, sessionMs = SESSION_MS_DEFAULT } = this.#options;
    const member = { kafka: this.#kafka, topic, timeoutMs: this.#timeoutMs, sessionMs };
    return consumeAsMember(member, options, this.#closing.signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#offsets.close();
    await this.#producer.close();
  }

  /** What the last of a few brokers answered, unless one of them had us. */
  async #accessFailure(): Promise<unknown> {
    const { topic, clock } = this.#options;
    const deadlineMs = clock.nowMs() + ACCESS_TIMEOUT_MS;
    let failure: unknown;
    for (let attempt = 1; attempt <= ACCESS_ATTEMPTS && clock.nowMs() < deadlineMs; attempt++) {
      try {
        await this.#offsets.use(Math.max(1, deadlineMs - clock.nowMs()), async (cluster) => {
          const ends = await offsetsOf(cluster, topic, partitionsOf(cluster, topic), false);
          // Who may write may also ask where the log ends, so only reading shows who may read.
          await fetchRound(cluster, topic, ends);
        });
        return undefined;
      } catch (error) {
        failure = error;
        if (refusalOf(error) !== undefined) break;
        // A topic that was just made is not known to every broker at once.
        if (attempt < ACCESS_ATTEMPTS) await delay(RETRY_MS);
      }
    }
    return failure;
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? LOG_TIMEOUT_MS_DEFAULT;
  }
}
