// A real broker that is killed, frozen and started again on its data (B50).
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { LogPosition } from '../../src/domain/write-ports.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { describeWithKafka } from '../services/kafka.js';
import { until } from '../stores/fixtures.js';
import { between, codeOf, follow, freshGroup, member, named, text } from '../stores/log-contract.js';
import { OwnBroker } from './own-broker.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

// Only where a Kafka can be had at all; this file's tests use one of their own.
describeWithKafka('a broker that fails', () => {
  let broker: OwnBroker;
  const opened = async (topic: string, timeoutMs: number): Promise<KafkaLog> => {
    const log = await KafkaLog.open({ brokers: [broker.contactPoint], topic, clock, timeoutMs });
    onTestFinished(() => log.close());
    return log;
  };
  const freshTopic = async (partitions: number): Promise<string> => {
    const topic = `faults-${randomBytes(4).toString('hex')}`;
    await ensureTopic({ brokers: [broker.contactPoint], topic, partitions, replicationFactor: 1 });
    return topic;
  };

  beforeAll(async () => {
    broker = await OwnBroker.prepare();
    await broker.start();
  }, 120_000);
  afterAll(() => broker.remove(), 60_000);

  it('B50 20 concurrent appends are 20 records at their offsets, as Kafka itself reads its log', async () => {
    const topic = await freshTopic(1);
    const log = await opened(topic, 10_000);
    const texts = named('dumped', 20);
    const places = await Promise.all(
      // Keys that are text, since the tool prints them.
      texts.map((each) => log.append({ key: Buffer.from(`key of ${each}`), value: Buffer.from(each) })),
    );
    expect(new Set(places.map(({ offset }) => offset)).size).toBe(20);
    const dumped = await broker.dump(topic, 0);
    expect(dumped).toEqual(new Map(places.map(({ offset }, index) => [offset, texts[index]])));
  }, 60_000);

  it('B50 a broker killed under load loses nothing and doubles nothing; order, followers and groups hold', async () => {
    const topic = await freshTopic(3);
    const log = await opened(topic, 60_000);
    const follower = follow(await opened(topic, 10_000), []);
    const consumer = member(await opened(topic, 10_000), freshGroup());
    const lanes = Array.from({ length: 8 }, (_, lane) => ({ lane, key: randomBytes(16) }));
    const places = new Map<string, LogPosition>();
    let stopped = false;
    const appending = lanes.map(async ({ lane, key }) => {
      for (let index = 0; !stopped; index++) {
        // Two at a time, so that a key has several records in a request.
        await Promise.all(
          ['a', 'b'].map(async (half) => {
            const each = `${lane} ${index}${half}`;
            places.set(each, await log.append({ key, value: Buffer.from(each) }));
          }),
        );
      }
    });
    // An append that fails is told here, not when the test has ended.
    const allAppended = Promise.all(appending);
    allAppended.catch(() => {});
    onTestFinished(() => {
      stopped = true;
    });
    const appendedMore = (): Promise<void> => {
      const before = places.size;
      return until(async () => places.size > before + 200, 60_000);
    };
    await appendedMore();
    await broker.kill();
    await broker.start();
    await appendedMore();
    stopped = true;
    await allAppended;

    const entries = await between(log, [], await log.ends());
    expect(entries.length).toBe(places.size);
    for (const entry of entries) {
      expect(places.get(text(entry))).toEqual({ partition: entry.partition, offset: entry.offset });
    }
    for (const { lane } of lanes) {
      const own = entries.map(text).filter((each) => each.startsWith(`${lane} `));
      const expected = own.map((_, at) => `${lane} ${Math.floor(at / 2)}${at % 2 === 0 ? 'a' : 'b'}`);
      expect(own).toEqual(expected);
    }
    const all = [...places.keys()];
    await until(async () => follower.has(all) && consumer.has(all), 60_000);
    await follower.stop();
    await consumer.stop();
    expect(follower.entries.length).toBe(all.length);
  }, 240_000);

  it('a frozen broker is LOG_UNAVAILABLE in bounded time; nothing that is acknowledged later is lost', async () => {
    const topic = await freshTopic(1);
    const log = await opened(topic, 2_000);
    const key = randomBytes(16);
    await log.append({ key, value: Buffer.from('before') });
    await broker.freeze();
    onTestFinished(() => broker.thaw());
    const startedAtMs = performance.now();
    expect(await codeOf(log.append({ key, value: Buffer.from('frozen') }))).toBe('LOG_UNAVAILABLE');
    expect(performance.now() - startedAtMs).toBeLessThan(6_000);
    broker.thaw();
    const patient = await opened(topic, 30_000);
    const places = new Map<string, LogPosition>();
    for (const each of named('after', 5)) {
      // The log that failed is the one that goes on: a sequence number must not be used twice.
      let place: LogPosition | undefined;
      await until(async () => {
        place = await log.append({ key, value: Buffer.from(each) }).catch(() => undefined);
        return place !== undefined;
      }, 30_000);
      places.set(each, place as LogPosition);
    }
    const entries = await between(patient, [], await patient.ends());
    for (const [each, place] of places) {
      expect(entries.find(({ offset }) => offset === place.offset)?.value.toString()).toBe(each);
    }
    expect(entries.filter((entry) => text(entry) === 'before')).toHaveLength(1);
  }, 120_000);

  it('a follower that starts before its broker does gets all of it once the broker is there', async () => {
    const topic = await freshTopic(1);
    const writer = await opened(topic, 10_000);
    await writer.append({ key: Buffer.from('k'), value: Buffer.from('early') });
    await broker.kill();
    const log = new KafkaLog({ brokers: [broker.contactPoint], topic, clock, timeoutMs: 1_000 });
    onTestFinished(() => log.close());
    expect(await codeOf(log.ends())).toBe('LOG_UNAVAILABLE');
    const follower = follow(log, []);
    await broker.start();
    await until(async () => follower.has(['early']), 30_000);
    await follower.stop();
    expect(follower.texts()).toEqual(['early']);
  }, 120_000);
});
