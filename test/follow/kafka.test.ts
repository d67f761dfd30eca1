// Two sidecars that follow a real Kafka, and a broker that falls silent under them (B16, B50, design: lease, floors).
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { type SidecarUnderTest, startSidecarUnderTest } from '../client/sidecar-under-test.js';
import { OwnBroker } from '../kafka/own-broker.js';
import { describeWithKafka } from '../services/kafka.js';
import { activity, tenant, until } from '../stores/fixtures.js';
import { append, keyDestroyed, recallOf } from './log-fixtures.js';
import { applied, firstOf, isReady, joinAll, metric, resultOf } from './sidecars.js';

const TENANT = tenant();
const LATER = activity(Buffer.alloc(16, 0xff));
const PARTITIONS = 3;
const START_MS = 90_000;
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

async function startBoth(contactPoint: string, followLagMaxMs: number) {
  const topic = `follow-${randomBytes(6).toString('hex')}`;
  const brokers = [contactPoint];
  await ensureTopic({ brokers, topic, partitions: PARTITIONS, replicationFactor: 1 });
  const settings = { log: 'kafka', brokers, topic, followLagMaxMs, keyPollMs: 3_600_000 } as const;
  const one = await startSidecarUnderTest(settings);
  const dataDir = path.join(path.dirname(one.socketPath), 'data');
  const two = await startSidecarUnderTest({ ...settings, dataDir });
  const outbox = await KafkaLog.open({ brokers, topic, clock });
  const stop = async () => {
    await outbox.close();
    await two.stop();
    await one.stop();
  };
  for (const each of [one, two]) await until(() => isReady(each));
  return { one, two, outbox, stop };
}

describeWithKafka('sidecars that follow a Kafka', ({ contactPoint }) => {
  let under: Awaited<ReturnType<typeof startBoth>>;
  beforeAll(async () => {
    under = await startBoth(contactPoint, 5_000);
  }, START_MS);
  afterAll(() => under.stop());

  it('B16: cached in both, recalled in the log while the row says NORMAL: neither serves it once it has read the event', async () => {
    const targets = await Promise.all(
      Array.from({ length: 8 }, async () => firstOf(await under.one.write(TENANT, [1n]))),
    );
    const both: readonly SidecarUnderTest[] = [under.one, under.two];
    for (const { client } of both) await joinAll(client, targets);
    // Conversations of their own, so that every partition carries some.
    for (const target of targets) await append(under.outbox, recallOf(target, LATER));
    for (const each of both) {
      await applied(each, 'recall', targets.length);
      const { entries } = await joinAll(each.client, targets);
      expect(new Set(entries.map(({ result }) => result))).toEqual(new Set(['NOT_YET']));
      await until(async () => (await metric(each, 'mailjoin_log_behind_records')) === 0);
    }
  });

  it('a destroyed key: both answer ERASED from the log alone', async () => {
    const conversation = await under.one.write(TENANT, [1n]);
    const target = firstOf(conversation);
    for (const { client } of [under.one, under.two]) expect((await resultOf(client, target))[0]).toBe('OK');
    await under.one.sidecar.stores.keys.destroy(conversation.dekId, Date.now());
    await append(under.outbox, keyDestroyed(conversation.dekId));
    for (const each of [under.one, under.two]) {
      await applied(each, 'key_destroyed');
      expect((await resultOf(each.client, target))[0]).toBe('ERASED');
    }
  });
});

describeWithKafka('a sidecar whose Kafka falls silent', () => {
  const LAG_MS = 1_000;
  let broker: OwnBroker;
  let under: Awaited<ReturnType<typeof startBoth>>;
  beforeAll(async () => {
    broker = await OwnBroker.prepare();
    await broker.start();
    under = await startBoth(broker.contactPoint, LAG_MS);
  }, START_MS);
  afterAll(async () => {
    broker.thaw();
    await under.stop();
    await broker.remove();
  });

  it('is not ready, has dropped its cache, keeps bodies for the bound alone, and is as before once it hears again', async () => {
    const { one } = under;
    const target = firstOf(await one.write(TENANT, [1n]));
    expect((await resultOf(one.client, target))[0]).toBe('OK');
    await broker.freeze();
    await until(async () => !(await isReady(one)));
    expect(await metric(one, 'mailjoin_log_current')).toBe(0);
    expect(await metric(one, 'mailjoin_log_behind_seconds')).toBeGreaterThan(LAG_MS / 1_000);
    const readAtMs = performance.now();
    // Of the store, not of the cache; then cached, until the bound is over.
    expect((await joinAll(one.client, [target])).receipt).toMatchObject({ cacheHits: 0, groups: 1 });
    await until(async () => (await joinAll(one.client, [target])).receipt?.groups === 1);
    expect(performance.now() - readAtMs).toBeGreaterThanOrEqual(LAG_MS * 0.9);
    broker.thaw();
    await until(() => isReady(one), 30_000);
    await append(under.outbox, recallOf(target, LATER));
    await applied(one, 'recall');
    expect((await resultOf(one.client, target))[0]).toBe('NOT_YET');
  }, 60_000);
});
