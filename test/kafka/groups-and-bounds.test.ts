// On the shared broker: what only a log of several partitions, or of a smaller bound, can show.
import { randomBytes } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { expect, it, onTestFinished } from 'vitest';
import { LOG_PAGE_RECORDS_MAX, LOG_RECORD_BYTES_MAX } from '../../src/domain/limits.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { describeWithKafka } from '../services/kafka.js';
import { until } from '../stores/fixtures.js';
import { between, Collected, freshGroup, member, named, text } from '../stores/log-contract.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

describeWithKafka('Kafka beyond the contract', ({ contactPoint }) => {
  const options = (topic: string) => ({ brokers: [contactPoint], topic, clock, sessionMs: 6_000 });
  const opened = async (topic: string): Promise<KafkaLog> => {
    const log = await KafkaLog.open(options(topic));
    onTestFinished(() => log.close());
    return log;
  };
  const freshTopic = async (partitions: number): Promise<string> => {
    const topic = `beyond-${randomBytes(4).toString('hex')}`;
    expect(await ensureTopic({ ...options(topic), partitions, replicationFactor: 1 })).toBe(true);
    return topic;
  };
  /** A topic that takes less than records may have. */
  const narrowTopic = async (bytes: number): Promise<string> => {
    const topic = `narrow-${randomBytes(4).toString('hex')}`;
    const admin = new Kafka({ brokers: [contactPoint], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
    await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1, configEntries }] });
    await admin.disconnect();
    return topic;
  };

  it('a topic that exists is left as it is', async () => {
    const topic = await freshTopic(2);
    expect(await ensureTopic({ ...options(topic), partitions: 5, replicationFactor: 1 })).toBe(false);
    const log = await opened(topic);
    expect((await log.ends()).map(({ partition }) => partition)).toEqual([0, 1]);
    expect(log.recordBytesMax).toBe(LOG_RECORD_BYTES_MAX);
  });

  it('a topic that is gone has no ends, and its readers are told why', async () => {
    const log = new KafkaLog({ ...options(`none-${randomBytes(4).toString('hex')}`), timeoutMs: 1_000 });
    onTestFinished(() => log.close());
    await expect(log.ends()).rejects.toMatchObject({
      code: 'LOG_UNAVAILABLE',
      message: expect.stringContaining('UNKNOWN_TOPIC_OR_PARTITION'),
    });
  });

  it('many topics made at once are ready when they are told to be', async () => {
    const topics = await Promise.all(Array.from({ length: 24 }, () => freshTopic(3)));
    const logs = await Promise.all(topics.map(opened));
    const places = logs.map((log) => log.append({ key: randomBytes(16), value: Buffer.from('first') }));
    for (const { offset } of await Promise.all(places)) expect(offset).toBe(0n);
  });

  it('a writer learns the bound of a topic that others made', async () => {
    const log = await opened(await narrowTopic(100_000));
    expect(log.recordBytesMax).toBeLessThan(100_000);
    const place = await log.append({ key: randomBytes(16), value: Buffer.alloc(log.recordBytesMax - 16) });
    expect(place.offset).toBe(0n);
  });

  it('B50 a record that only the broker finds too large is refused alone, the order of the others is kept', async () => {
    const log = new KafkaLog(options(await narrowTopic(50_000)));
    onTestFinished(() => log.close());
    const keys = Array.from({ length: 6 }, () => randomBytes(16));
    const appends = keys.flatMap((key, which) => [
      { key, value: Buffer.from(`${which} a`) },
      { key, value: Buffer.alloc(60_000) },
      { key, value: Buffer.from(`${which} b`) },
    ]);
    const outcomes = await Promise.allSettled(appends.map((record) => log.append(record)));
    const expected = keys.flatMap(() => ['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes.map(({ status }) => status)).toEqual(expected);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'RECORD_TOO_LARGE' });
    }
    const texts = (await between(log, [], await log.ends())).map(text);
    expect(texts).toHaveLength(12);
    for (const which of keys.keys()) {
      expect(texts.filter((each) => each.startsWith(`${which} `))).toEqual([`${which} a`, `${which} b`]);
    }
  });

  it('two members share the partitions; when one stops the other has them all, and nothing is missed', async () => {
    const topic = await freshTopic(4);
    const log = await opened(topic);
    const group = freshGroup();
    const first = member(await opened(topic), group);
    const second = member(await opened(topic), group);
    const append = (texts: readonly string[]) =>
      Promise.all(texts.map((each) => log.append({ key: randomBytes(16), value: Buffer.from(each) })));
    const partitionsOf = ({ entries }: Collected) => new Set(entries.map(({ partition }) => partition));
    // Until both are given something: they joined.
    await until(async () => {
      await append(named('joining', 20));
      return first.entries.length > 0 && second.entries.length > 0;
    }, 30_000);
    first.entries.length = 0;
    second.entries.length = 0;
    const shared = named('shared', 200);
    await append(shared);
    await until(async () => shared.every((each) => first.has([each]) || second.has([each])), 30_000);
    const own = partitionsOf(first);
    expect([...partitionsOf(second)].filter((partition) => own.has(partition))).toEqual([]);
    await first.stop();
    const rest = named('rest', 50);
    await append(rest);
    await until(async () => second.has(rest), 30_000);
    await second.stop();
  }, 90_000);

  it('a handler that takes longer than the session keeps its partitions', async () => {
    const topic = await freshTopic(1);
    const log = await opened(topic);
    const [slow = '', next = ''] = named('slow', 2);
    const key = randomBytes(16);
    await log.append({ key, value: Buffer.from(slow) });
    const seen: string[] = [];
    const consumer = new Collected().run(({ signal }) =>
      log.consume({
        group: freshGroup(),
        signal,
        onEntries: async (entries) => {
          // What is shown is that time passes here without harm.
          if (entries.map(text).includes(slow)) await new Promise((resolve) => setTimeout(resolve, 7_500));
          seen.push(...entries.map(text));
        },
      }),
    );
    await until(async () => seen.includes(slow), 30_000);
    await log.append({ key, value: Buffer.from(next) });
    await until(async () => seen.includes(next), 30_000);
    await consumer.stop();
    expect(seen).toEqual([slow, next]);
  }, 90_000);

  it('a member that has not joined yet tells no lag: it is not behind by nothing', async () => {
    const topic = await freshTopic(1);
    const log = await opened(topic);
    const group = freshGroup();
    const [held = ''] = named('held', 1);
    await log.append({ key: randomBytes(16), value: Buffer.from(held) });
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const lags: Record<'first' | 'second', (bigint | undefined)[]> = { first: [], second: [] };
    // Whoever is at work makes a rebalance wait, and so the other's joining.
    const consumer = (which: 'first' | 'second', onEntries: () => Promise<void>) =>
      new Collected().run(({ signal }) =>
        log.consume({ group, signal, onEntries, onLag: (lag) => void lags[which].push(lag) }),
      );
    let isWorking = false;
    const first = consumer('first', () => {
      isWorking = true;
      return released;
    });
    await until(async () => isWorking, 30_000);
    const second = consumer('second', async () => {});
    // The first tells its own at the same intervals: the second has had its chances by then.
    const told = lags.first.length;
    await until(async () => lags.first.length >= told + 3, 30_000);
    expect(lags.second).toEqual([]);
    release();
    await until(async () => lags.second.length > 0, 60_000);
    await first.stop();
    await second.stop();
  }, 120_000);

  it('many records come in pages, in order', async () => {
    const log = await opened(await freshTopic(1));
    const key = randomBytes(16);
    const texts = named('paged', LOG_PAGE_RECORDS_MAX * 2 + 5);
    await Promise.all(texts.map((each) => log.append({ key, value: Buffer.from(each) })));
    const pages: string[][] = [];
    await log.read({
      from: [],
      until: await log.ends(),
      onEntries: async (entries) => void pages.push(entries.map(text)),
      signal: new AbortController().signal,
    });
    expect(pages.flat()).toEqual(texts);
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(LOG_PAGE_RECORDS_MAX);
  });

  it('a position that the log does not have is read from the beginning', async () => {
    const log = await opened(await freshTopic(1));
    await log.append({ key: randomBytes(16), value: Buffer.from('only') });
    const collected = new Collected().run(({ onEntries, signal }) =>
      log.read({ from: [{ partition: 0, offset: 1_000n }], onEntries, signal }),
    );
    await until(async () => collected.has(['only']));
    await collected.stop();
  });
});
