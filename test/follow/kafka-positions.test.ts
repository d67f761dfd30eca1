// What a follower makes of a real Kafka's offsets that have no record for it: foreign transactions, and truncation.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { expect, it, onTestFinished } from 'vitest';
import type { LogEntry, LogReader } from '../../src/domain/write-ports.js';
import { LogFollower } from '../../src/follow/log-follower.js';
import { LogFreshness } from '../../src/follow/log-freshness.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { partitionOf } from '../../src/kafka/partition-of.js';
import { describeWithKafka } from '../services/kafka.js';
import { until } from '../stores/fixtures.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
const LAG_MS = 2_000;
const TIMEOUT_MS = 60_000;

/** Follows as a sidecar does; `applied` are values. */
function follow(log: Pick<LogReader, 'ends' | 'read'>) {
  const applied: string[] = [];
  const freshness = new LogFreshness({
    clock,
    cacheAgeMs: 60_000,
    lagMsMax: LAG_MS,
    settleMs: 10_000,
    dropCache: () => undefined,
  });
  const events = { apply: ({ value }: LogEntry) => void applied.push(Buffer.from(value).toString()) };
  const follower = new LogFollower({ log, events, freshness, clock, lagMsMax: LAG_MS });
  follower.start();
  onTestFinished(() => follower.stop());
  return { applied, follower, isCurrent: () => freshness.isCurrent(clock.nowMs()) };
}

function keyOf(partition: number, partitions: number): Buffer {
  for (;;) {
    const key = randomBytes(16);
    if (partitionOf(key, partitions) === partition) return key;
  }
}

describeWithKafka('a follower of a real Kafka', ({ contactPoint }) => {
  const brokers = [contactPoint];

  async function topicOf(partitions: number) {
    const topic = `positions-${randomBytes(6).toString('hex')}`;
    await ensureTopic({ brokers, topic, partitions, replicationFactor: 1 });
    const log = await KafkaLog.open({ brokers, topic, clock });
    onTestFinished(() => log.close());
    const append = (partition: number, value: string) =>
      log.append({ key: keyOf(partition, partitions), value: Buffer.from(value) });
    const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING });
    return { topic, log, append, kafka };
  }

  /** Keeps a partition busy until the test is over. */
  function keepBusy(append: () => Promise<unknown>): void {
    let stopped = false;
    const busy = (async () => {
      while (!stopped) {
        await append();
        await delay(100);
      }
    })();
    onTestFinished(async () => {
      stopped = true;
      await busy;
    });
  }

  async function openTransaction(kafka: kafkajs.Kafka, topic: string, partition: number) {
    const transactionalId = `foreign-${randomBytes(6).toString('hex')}`;
    const producer = kafka.producer({ transactionalId, maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    onTestFinished(() => producer.disconnect());
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ key: 'k', value: 'foreign', partition }] });
    return transaction;
  }

  it('reads what was appended behind an open transaction of somebody else', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { topic, log, append, kafka } = await topicOf(1);
    const { applied, isCurrent } = follow(log);
    await until(async () => isCurrent());
    const transaction = await openTransaction(kafka, topic, 0);
    for (const value of ['one', 'two']) await append(0, value);
    await until(async () => applied.includes('two'));
    expect(applied.slice(-2)).toEqual(['one', 'two']);
    await transaction.abort();
  });

  it('is current behind a transaction’s marker while another partition is busy', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { topic, log, append, kafka } = await topicOf(2);
    const { follower, isCurrent } = follow(log);
    await until(async () => isCurrent());
    const transaction = await openTransaction(kafka, topic, 1);
    await transaction.commit();
    keepBusy(() => append(0, 'busy'));
    // Longer than it may be behind: it is not current by what it knew before.
    await delay(LAG_MS + 500);
    await until(async () => isCurrent() && follower.stats().behindRecords < 10);
    await delay(LAG_MS + 500);
    expect(isCurrent()).toBe(true);
  });

  it('goes on behind records that were deleted before it read them, with a gap, while another partition is busy', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { topic, log, append, kafka } = await topicOf(2);
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { applied, follower, isCurrent } = follow({
      ends: () => log.ends(),
      read: async (options) => {
        await begun;
        return log.read(options);
      },
    });
    await until(async () => isCurrent());
    for (const value of ['gone', 'gone', 'gone']) await append(1, value);
    const admin = kafka.admin();
    await admin.connect();
    await admin.fetchTopicMetadata({ topics: [topic] });
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: '3' }] });
    await admin.disconnect();
    keepBusy(() => append(0, 'busy'));
    begin();
    await until(async () => follower.stats().gaps === 1);
    await until(async () => isCurrent());
    await append(1, 'new');
    await until(async () => applied.includes('new'));
    expect(applied).not.toContain('gone');
  });
});
