/**
 * A member of a consumer group on kafkajs' own consumer, which joins, rebalances and sends heartbeats.
 *
 * Offsets are committed only after the handler is done, so a member that dies leaves its last page to be repeated, no
 * less. A handler that takes long keeps its membership by heartbeats from a timer. When the group rebalances, the page
 * under way is finished and committed if that is still allowed; otherwise whoever gets the partition repeats it.
 * kafkajs gives up after some failures: then a new consumer is made, for as long as the signal lets it run. Ends with
 * what a handler threw, with a refusal (LOG_REFUSED, TLS_FAILED) that is met three times with no membership in between
 * that worked, or with records that cannot be opened (LOG_CORRUPT) three times: waiting does not help there. An abort
 * ends it well, after the page under way.
 */
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Consumer, type EachBatchPayload, type Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_PAGE_BYTES_MAX } from '../domain/limits.js';
import type { LogEntry, LogReader } from '../domain/write-ports.js';
import { ClusterLink } from './cluster-link.js';
import { pagesOf } from './entry-pages.js';
import { GroupLag } from './group-lag.js';
import { asLogError } from './kafka-errors.js';
import { refusalOf } from './refusal.js';

/** How long a member may be silent before the others take its partitions over. */
export const SESSION_MS_DEFAULT = 10_000;
const HEARTBEAT_MS = 1_000;
/** How long a rebalance waits for a member whose handler is at work. */
const REBALANCE_MS = 60_000;
const WAIT_MS = 250;
const BACKOFF_MS = 500;
/** A broken connection can look like a refusal; this many of them in a row do not. */
const REFUSALS_MAX = 3;

type ConsumeOptions = Parameters<LogReader['consume']>[0];

export interface GroupConsumerOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly timeoutMs: number;
  readonly sessionMs: number;
}

export async function consumeAsMember(
  { kafka, topic, timeoutMs, sessionMs }: GroupConsumerOptions,
  options: ConsumeOptions,
  closed: AbortSignal,
): Promise<void> {
  const { group, onFailure, onLag, signal } = options;
  const ending = AbortSignal.any([signal, closed]);
  const lag = onLag === undefined ? undefined : new GroupLag({ kafka, topic, group, timeoutMs, onLag });
  let refusals = 0;
  try {
    while (!ending.aborted) {
      const consumer = kafka.consumer({
        groupId: group,
        sessionTimeout: sessionMs,
        heartbeatInterval: HEARTBEAT_MS,
        rebalanceTimeout: REBALANCE_MS,
        maxBytes: LOG_PAGE_BYTES_MAX,
        maxBytesPerPartition: LOG_PAGE_BYTES_MAX,
        maxWaitTimeInMs: WAIT_MS,
        allowAutoTopicCreation: false,
        readUncommitted: true,
        retry: {
          retries: 5,
          initialRetryTime: 100,
          maxRetryTime: 1_000,
          restartOnFailure: async () => false,
        },
      });
      const membership = new Membership(consumer, topic, options, lag);
      const failure = await membership.last(ending);
      if (failure !== undefined && !ending.aborted)
        onFailure?.(asLogError(failure, 'the group could not be read'));
      const refusal = ending.aborted
        ? undefined
        : await refusalToJoin(failure, kafka, topic, group, timeoutMs);
      // What cannot be decoded stays so, however much of the other partitions was read meanwhile.
      if (membership.hasWorked && refusal?.code !== 'LOG_CORRUPT') refusals = 0;
      refusals = refusal === undefined ? 0 : refusals + 1;
      if (refusal !== undefined && refusals >= REFUSALS_MAX) throw refusal;
      if (!ending.aborted) await delay(BACKOFF_MS, undefined, { signal: ending }).catch(() => {});
    }
  } finally {
    lag?.stop();
  }
  if (!signal.aborted) throw new MailjoinError('LOG_UNAVAILABLE', 'the log is closed');
}

/** kafkajs keeps to itself why brokers name no coordinator, so they are asked about the group once more. */
async function refusalToJoin(
  failure: unknown,
  kafka: Kafka,
  topic: string,
  group: string,
  timeoutMs: number,
): Promise<MailjoinError | undefined> {
  if (!(failure instanceof kafkajs.KafkaJSGroupCoordinatorNotFound)) return refusalOf(failure);
  const link = new ClusterLink(kafka, topic);
  try {
    await link.use(timeoutMs, async (cluster) => {
      const [nodeId] = cluster.getNodeIds();
      const broker = await cluster.findBroker({ nodeId: String(nodeId) });
      await broker.describeGroups({ groupIds: [group] });
    });
    return undefined;
  } catch (error) {
    return refusalOf(error);
  } finally {
    link.close();
  }
}

/** One consumer from its start until it crashes or is stopped. */
class Membership {
  readonly #consumer: Consumer;
  readonly #topic: string;
  readonly #onEntries: ConsumeOptions['onEntries'];
  readonly #lag: GroupLag | undefined;
  #hasWorked = false;
  #handlerFailure: { readonly reason: unknown } | undefined;

  constructor(consumer: Consumer, topic: string, options: ConsumeOptions, lag: GroupLag | undefined) {
    this.#consumer = consumer;
    this.#topic = topic;
    this.#onEntries = options.onEntries;
    this.#lag = lag;
  }

  /** It could read, or was a member whom nothing was given to read: to join is not enough, rights on the topic are another's. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  /** Runs until the consumer crashed, with what, or the signal aborts; rejects with what the handler threw. */
  async last(ending: AbortSignal): Promise<unknown> {
    const consumer = this.#consumer;
    let failure: unknown;
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    ending.addEventListener('abort', end);
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      failure = payload.error;
      end();
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      const partitions = payload.memberAssignment[this.#topic] ?? [];
      if (partitions.length === 0) this.#hasWorked = true;
      this.#lag?.watch(partitions);
    });
    consumer.on(consumer.events.FETCH, ({ payload }) => {
      // A batch for each partition that answered, also where it has nothing new.
      if (payload.numberOfBatches > 0) this.#hasWorked = true;
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topic: this.#topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#onBatch(payload, ending, end),
      });
      await ended;
    } catch (error) {
      failure = error;
    } finally {
      ending.removeEventListener('abort', end);
      // Waits for the page under way; what cannot be left well is left when the session ends.
      await consumer.disconnect().catch(() => {});
    }
    if (this.#handlerFailure !== undefined) throw this.#handlerFailure.reason;
    return failure;
  }

  async #onBatch(payload: EachBatchPayload, ending: AbortSignal, end: () => void): Promise<void> {
    const { batch, resolveOffset, commitOffsetsIfNecessary, heartbeat, isRunning, isStale } = payload;
    const { topic, partition } = batch;
    const entries = batch.messages.map(({ offset, value, timestamp }) => ({
      partition,
      offset: BigInt(offset),
      value: value ?? Buffer.alloc(0),
      appendedAtMs: Number(timestamp),
    }));
    for (const page of pagesOf(entries)) {
      if (!isRunning() || isStale() || ending.aborted || this.#handlerFailure !== undefined) return;
      try {
        await whileBeating(heartbeat, () => this.#onEntries(page));
      } catch (reason) {
        this.#handlerFailure = { reason };
        end();
        return;
      }
      const offset = lastOffset(page);
      const next = (offset + 1n).toString();
      await commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset: next }] }] });
      // Only now: what is resolved in kafkajs' memory is not fetched again.
      resolveOffset(offset.toString());
      await heartbeat();
    }
  }
}

/** Keeps the membership while a handler works, however long it takes. */
async function whileBeating(heartbeat: () => Promise<void>, task: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => {
    // A rebalance is learnt again from the commit or the heartbeat that follows the page.
    heartbeat().catch(() => {});
  }, HEARTBEAT_MS);
  try {
    await task();
  } finally {
    clearInterval(timer);
  }
}

function lastOffset(page: readonly LogEntry[]): bigint {
  const last = page.at(-1);
  if (last === undefined) throw new MailjoinError('INTERNAL', 'a page has entries');
  return last.offset;
}
