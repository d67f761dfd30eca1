/** `mailjoin topic apply` on the real Kafka: what it makes, what it finds, and what is said where there is no topic. */
import { randomBytes, randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { LOG_RECORD_BYTES_MAX } from '../../src/domain/limits.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { topicFindings } from '../../src/kafka/topic-settings.js';
import { describeWithKafka } from '../services/kafka.js';
import { messageJson, programUnderTest, run } from './write-program.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
const freshName = () => `applied-${randomBytes(4).toString('hex')}`;

describe('what is not understood: exit code 2', () => {
  it.each([
    [['topic', 'apply'], 'brokers (not given)'],
    [['topic', 'apply', '--brokers', 'b:9092', '--partitions', '0'], '--partitions must be a whole number'],
    [['topic', 'apply', '--brokers', 'b:9092', '--replication-factor', 'x'], '--replication-factor must be'],
    [['topic'], 'topic apply'],
  ])('%j', async (words, text) => {
    const { exitCode, errors } = await run(words, undefined, {});
    expect([exitCode, errors]).toEqual([2, expect.stringContaining(text)]);
  });
});

describe('what is said of a topic’s settings', () => {
  it.each<[Record<string, string>, boolean | undefined]>([
    [{}, undefined],
    [{ 'cleanup.policy': 'delete', 'compression.type': 'producer' }, undefined],
    [{ 'compression.type': 'gzip', 'max.message.bytes': '20000000' }, undefined],
    [{ 'cleanup.policy': 'compact' }, true],
    [{ 'cleanup.policy': 'compact,delete' }, true],
    [{ 'compression.type': 'lz4' }, true],
    [{ 'compression.type': 'zstd' }, true],
    [{ 'compression.type': 'snappy' }, true],
    [{ 'max.message.bytes': '1048588' }, false],
    [{ 'message.timestamp.type': 'CreateTime' }, false],
  ])('%j: harmful is %s', (settings, isHarmful) => {
    const findings = topicFindings(new Map(Object.entries(settings)));
    expect(findings.map((finding) => finding.isHarmful)).toEqual(isHarmful === undefined ? [] : [isHarmful]);
  });
});

describeWithKafka('topic apply', ({ contactPoint }) => {
  const admin = async <T>(task: (admin: kafkajs.Admin) => Promise<T>): Promise<T> => {
    const client = new kafkajs.Kafka({ brokers: [contactPoint], logLevel: kafkajs.logLevel.NOTHING }).admin();
    await client.connect();
    try {
      return await task(client);
    } finally {
      await client.disconnect();
    }
  };
  const apply = (topic: string, ...words: string[]) =>
    run(['topic', 'apply', '--brokers', contactPoint, '--topic', topic, ...words], undefined, {});

  it('makes it with the settings that a log needs; the next time it finds it and changes nothing', async () => {
    const topic = freshName();
    const made = await apply(topic, '--partitions', '5', '--replication-factor', '1');
    expect(made).toMatchObject({
      exitCode: 0,
      out: `topic ${topic} is made: 5 partitions, replication factor 1`,
    });
    const { resources } = await admin((client) =>
      client.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
      }),
    );
    // Kafka tells by isDefault what was set on the topic itself.
    const set = resources[0]?.configEntries.filter(({ isDefault }) => !isDefault) ?? [];
    const settings = Object.fromEntries(set.map(({ configName, configValue }) => [configName, configValue]));
    expect(settings).toMatchObject({
      'cleanup.policy': 'delete',
      'compression.type': 'producer',
      'message.timestamp.type': 'LogAppendTime',
    });
    expect(Number(settings['max.message.bytes'])).toBeGreaterThan(LOG_RECORD_BYTES_MAX);
    expect(settings).not.toHaveProperty('retention.ms');

    const found = `topic ${topic} is there, and is left as it is: 5 partitions, replication factor 1`;
    expect(await apply(topic)).toMatchObject({ exitCode: 0, out: found });
    const { exitCode, out } = await apply(topic, '--partitions', '6', '--replication-factor', '2');
    expect([exitCode, out.split('\n')]).toEqual([
      0,
      [
        found,
        expect.stringContaining('partitions are 5, not 6: they are never changed'),
        expect.stringContaining('the replication factor is 1, not 2'),
      ],
    ]);
    const { topics } = await admin((client) => client.fetchTopicMetadata({ topics: [topic] }));
    expect(topics[0]?.partitions).toHaveLength(5);
  });

  it('the largest record of a log fits the topic that it made', async () => {
    const topic = freshName();
    await apply(topic, '--partitions', '1', '--replication-factor', '1');
    const log = await KafkaLog.open({ brokers: [contactPoint], topic, clock });
    const value = Buffer.alloc(LOG_RECORD_BYTES_MAX - 16, 1);
    expect(await log.append({ key: randomBytes(16), value })).toMatchObject({ offset: 0n });
    await log.close();
  }, 60_000);

  it('one that others made so that it cannot be a log is told, with exit code 1', async () => {
    const topic = freshName();
    const configEntries = [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'compression.type', value: 'lz4' },
    ];
    await admin((client) => client.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] }));
    const { exitCode, out } = await apply(topic);
    expect(exitCode).toBe(1);
    expect(out).toContain('cleanup.policy is compact, not delete');
    expect(out).toContain('compression.type is lz4, not producer');
    expect(out).toContain('message.timestamp.type is CreateTime, not LogAppendTime');
  });

  it.each([
    ['more replicas than brokers', freshName(), ['--partitions', '1'], '--replication-factor names another'],
    ['a name that is none', 'not/a name', ['--replication-factor', '1'], 'it is no name for one'],
  ])('what brokers refuse for good is CONFIG_INVALID: %s', async (_, topic, words, text) => {
    const { exitCode, errors } = await apply(topic, ...words);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('CONFIG_INVALID')]);
    expect(errors).toContain(text);
  });

  it('where there is none, writers and readers are told at the start, by its name and by what makes it', async () => {
    const topic = freshName();
    const options = { brokers: [contactPoint], topic, clock };
    for (const open of [KafkaLog.open, KafkaLog.openReader]) {
      const error: unknown = await open(options).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MailjoinError);
      expect(error).toMatchObject({
        code: 'TOPIC_MISSING',
        retryable: false,
        message: expect.stringContaining(`${topic}; mailjoin topic apply makes it`),
      });
    }
    const program = programUnderTest();
    const words = ['commit', '--brokers', contactPoint, '--topic', topic];
    const refused = await program.run(words, messageJson({ conversation_id: randomUUID() }));
    expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('TOPIC_MISSING')]);
    await apply(topic, '--replication-factor', '1');
    expect((await program.run(words, messageJson())).exitCode).toBe(0);
  });
});
