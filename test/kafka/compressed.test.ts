// On the shared broker: a topic whose broker compresses what it is given, in a way that the client cannot open.
import { randomBytes } from 'node:crypto';
import kafkajs from 'kafkajs';
import { expect, it, onTestFinished } from 'vitest';
import type { LogReader } from '../../src/domain/write-ports.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { describeWithKafka } from '../services/kafka.js';
import { until } from '../stores/fixtures.js';
import { appendAll, between, freshGroup, named, text } from '../stores/log-contract.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
const REFUSED = {
  code: 'LOG_CORRUPT',
  retryable: false,
  message: expect.stringContaining('compression.type'),
};

describeWithKafka('a topic whose broker compresses', ({ contactPoint }) => {
  const admin = async (task: (admin: kafkajs.Admin) => Promise<unknown>): Promise<void> => {
    const client = new kafkajs.Kafka({ brokers: [contactPoint], logLevel: kafkajs.logLevel.NOTHING }).admin();
    await client.connect();
    await task(client);
    await client.disconnect();
  };
  const compressed = async (name: string, partitions = 2): Promise<KafkaLog> => {
    const topic = `compressed-${name}-${randomBytes(4).toString('hex')}`;
    const configEntries = [{ name: 'compression.type', value: name }];
    await admin((client) =>
      client.createTopics({
        topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }],
      }),
    );
    const log = await KafkaLog.openReader({ brokers: [contactPoint], topic, clock, timeoutMs: 2_000 });
    onTestFinished(() => log.close());
    return log;
  };
  const failures = (
    read: (options: Pick<Parameters<LogReader['read']>[0], 'onFailure' | 'signal'>) => void,
  ) => {
    const [seen, controller]: [unknown[], AbortController] = [[], new AbortController()];
    onTestFinished(() => controller.abort());
    read({ onFailure: (error) => void seen.push(error), signal: controller.signal });
    return seen;
  };

  it.each(['lz4', 'zstd', 'snappy'])(
    '%s: followers, reads that have an end and groups say so, and by which setting',
    async (name) => {
      const log = await compressed(name);
      // Enough that compressing makes it smaller, or a broker leaves it as it is.
      await appendAll(log, named('a record that repeats itself '.repeat(20), 20));
      const onEntries = async () => expect.fail('nothing can be read');
      const seen = failures((told) => void log.read({ from: [], onEntries, ...told }));
      await until(async () => seen.length > 0);
      expect(seen[0]).toMatchObject(REFUSED);
      await expect(between(log, [], await log.ends())).rejects.toMatchObject(REFUSED);
      const { signal } = new AbortController();
      const memberships: unknown[] = [];
      const onFailure = (error: unknown) => void memberships.push(error);
      const consuming = log.consume({ group: freshGroup(), onEntries, onFailure, signal });
      await expect(consuming).rejects.toMatchObject(REFUSED);
      expect(memberships).toEqual(memberships.map(() => expect.objectContaining(REFUSED)));
      expect(memberships).toHaveLength(3);
    },
    60_000,
  );

  it('gzip: is read as if it were not compressed', async () => {
    const log = await compressed('gzip', 1);
    const texts = named('a record that repeats itself '.repeat(20), 20);
    await appendAll(log, texts);
    expect((await between(log, [], await log.ends())).map(text)).toEqual(texts);
  });
});
