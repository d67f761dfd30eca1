// A real Kafka whose listeners for clients are TLS alone: with SASL (PLAIN, SCRAM), or with client certificates.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { inspect } from 'node:util';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { deleteTopic, describeTopic, ensureTopic } from '../../src/kafka/ensure-topic.js';
import { type KafkaConnectOptions, kafkaClient, type SaslCredentials } from '../../src/kafka/kafka-client.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import type { TlsOptions } from '../../src/tls/tls-options.js';
import { describeWithKafka } from '../services/kafka.js';
import { PASSWORD, startTlsKafka, TlsFiles, type TlsKafka } from '../services/tls-services.js';
import { until } from '../stores/fixtures.js';
import { appendAll, codeOf, follow, freshGroup, member, named } from '../stores/log-contract.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
/** A refusal is told at once; this leaves room for a busy machine. */
const REFUSED_MS_MAX = 10_000;

describeWithKafka('a Kafka behind TLS', (plain) => {
  let files: TlsFiles;
  let kafka: TlsKafka;
  beforeAll(async () => {
    files = new TlsFiles();
    kafka = await startTlsKafka(files);
  }, 120_000);
  afterAll(async () => {
    await kafka?.stop();
    files.remove();
  }, 60_000);

  const read = (file: string) => fs.readFileSync(file, 'utf8');
  const tls = (over?: Partial<TlsOptions>): TlsOptions => files.options(over);
  const pair = ({ cert, key }: TlsFiles['client']) => ({ cert: read(cert), key: read(key) });
  const sasl = (
    mechanism: SaslCredentials['mechanism'],
    username = 'alice',
    password = PASSWORD,
  ): SaslCredentials => ({ mechanism, username, password });
  const as = (username: string): KafkaConnectOptions => ({
    brokers: [kafka.contactPoint],
    tls: tls(),
    sasl: sasl('scram-sha-256', username),
  });

  async function freshTopic(connect: KafkaConnectOptions): Promise<string> {
    const topic = `tls-${randomBytes(4).toString('hex')}`;
    await ensureTopic({ ...connect, topic, partitions: 2, replicationFactor: 1 });
    return topic;
  }

  describe('takes', () => {
    it.each<[string, () => KafkaConnectOptions]>([
      ['PLAIN', () => ({ ...as('alice'), sasl: sasl('plain') })],
      ['SCRAM-SHA-256', () => as('alice')],
      ['SCRAM-SHA-512', () => ({ ...as('alice'), sasl: sasl('scram-sha-512') })],
      [
        'a client certificate',
        () => ({ brokers: [kafka.certificateContactPoint], tls: tls({ client: pair(files.client) }) }),
      ],
    ])(
      '%s: a topic is made, records are appended, read, followed and given to a group',
      async (_, connect) => {
        const topic = await freshTopic(connect());
        const log = await KafkaLog.open({ ...connect(), topic, clock });
        const reader = await KafkaLog.openReader({ ...connect(), topic, clock });
        onTestFinished(async () => {
          await log.close();
          await reader.close();
        });
        const texts = named('record', 20);
        await appendAll(log, texts);
        const ends = await reader.ends();
        expect(ends.reduce((sum, { offset }) => sum + offset, 0n)).toBe(20n);
        const [follower, grouped] = [follow(reader, []), member(reader, freshGroup())];
        await until(async () => follower.has(texts) && grouped.has(texts), 30_000);
        await Promise.all([follower.stop(), grouped.stop()]);
        expect(follower.texts()).toEqual(texts);
        await deleteTopic({ ...connect(), topic });
      },
      60_000,
    );
  });

  describe('refuses for good, at the start, without a word of the password', () => {
    it.each<[string, () => KafkaConnectOptions, string, string]>([
      [
        'plain text',
        () => ({ brokers: [kafka.contactPoint], sasl: sasl('scram-sha-256') }),
        'TLS_FAILED',
        'turn brokersTls on',
      ],
      [
        'who trusts another authority',
        () => ({ ...as('alice'), tls: tls({ ca: read(files.strangerCa) }) }),
        'TLS_FAILED',
        'brokersCaFile',
      ],
      [
        'who knows it by another name',
        () => ({ ...as('alice'), brokers: [kafka.contactPoint.replace('127.0.0.1', 'localhost')] }),
        'TLS_FAILED',
        'does not name this host',
      ],
      [
        'who shows no certificate where one is asked for',
        () => ({ brokers: [kafka.certificateContactPoint], tls: tls() }),
        'TLS_FAILED',
        'brokersCertFile and brokersKeyFile',
      ],
      [
        'who shows the certificate of a stranger',
        () => ({ brokers: [kafka.certificateContactPoint], tls: tls({ client: pair(files.stranger) }) }),
        'TLS_FAILED',
        'brokersCertFile and brokersKeyFile',
      ],
      [
        'a wrong password (PLAIN)',
        () => ({ ...as('alice'), sasl: sasl('plain', 'alice', `not-${PASSWORD}`) }),
        'LOG_REFUSED',
        'user or password is wrong',
      ],
      [
        'a wrong password (SCRAM)',
        () => ({ ...as('alice'), sasl: sasl('scram-sha-512', 'alice', `not-${PASSWORD}`) }),
        'LOG_REFUSED',
        'user or password is wrong',
      ],
      ['an unknown user', () => as('nobody'), 'LOG_REFUSED', 'user or password is wrong'],
      [
        'who does not say who they are',
        () => ({ brokers: [kafka.contactPoint], tls: tls() }),
        'LOG_REFUSED',
        'brokersSasl',
      ],
      [
        'SASL where certificates are asked for',
        () => ({
          brokers: [kafka.certificateContactPoint],
          tls: tls({ client: pair(files.client) }),
          sasl: sasl('plain'),
        }),
        'LOG_REFUSED',
        'leave brokersSasl out',
      ],
      ['who has no rights', () => as('bob'), 'LOG_REFUSED', 'this user may not'],
    ])('%s', async (_, connect, code, advice) => {
      const topic = await freshTopic(as('alice'));
      const options = { ...connect(), topic, clock };
      const startedAtMs = performance.now();
      for (const open of [KafkaLog.open, KafkaLog.openReader]) {
        const error: unknown = await open(options).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code, retryable: false, message: expect.stringContaining(advice) });
        expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(PASSWORD);
      }
      expect(performance.now() - startedAtMs).toBeLessThan(REFUSED_MS_MAX);
      await deleteTopic({ ...as('alice'), topic });
    });
  });

  it('and one that speaks no TLS is not spoken to in it', async () => {
    const options = { brokers: [plain.contactPoint], tls: tls(), topic: 't', clock };
    for (const open of [KafkaLog.open, KafkaLog.openReader]) {
      await expect(open(options)).rejects.toMatchObject({
        code: 'TLS_FAILED',
        message: expect.stringContaining('turn brokersTls off'),
      });
    }
  });

  describe('gives bob what he is allowed, and no more', () => {
    const { AclOperationTypes: May, AclResourceTypes: On } = kafkajs;
    const allow = async (resourceType: number, resourceName: string, ...operations: number[]) => {
      const admin = kafkaClient(as('alice')).admin();
      await admin.connect();
      await admin.createAcls({
        acl: operations.map((operation) => ({
          principal: 'User:bob',
          host: '*',
          operation,
          permissionType: kafkajs.AclPermissionTypes.ALLOW,
          resourceType,
          resourceName,
          resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
        })),
      });
      await admin.disconnect();
    };
    /** Brokers apply rights a moment after they took them. */
    const applied = async (open: () => Promise<KafkaLog>): Promise<KafkaLog> => {
      let log: KafkaLog | undefined;
      await until(async () => {
        log = await open().catch(() => undefined);
        return log !== undefined;
      });
      const opened = log as KafkaLog; // until() saw it
      onTestFinished(() => opened.close());
      return opened;
    };
    const filled = async (topic: string, texts: readonly string[]): Promise<void> => {
      const log = await KafkaLog.open({ ...as('alice'), topic, clock });
      await appendAll(log, texts);
      await log.close();
    };

    it('to write: Write and DescribeConfigs on the topic', async () => {
      const topic = await freshTopic(as('alice'));
      await allow(On.TOPIC, topic, May.WRITE);
      const options = { ...as('bob'), topic, clock };
      expect(await codeOf(KafkaLog.open(options))).toBe('LOG_REFUSED');
      await allow(On.TOPIC, topic, May.DESCRIBE_CONFIGS);
      const log = await applied(() => KafkaLog.open(options));
      await appendAll(log, named('written', 3));
      const ends = await log.ends();
      expect(ends.reduce((sum, { offset }) => sum + offset, 0n)).toBe(3n);
    });

    it('and who may write and not read is no reader, which is told at the start', async () => {
      const topic = await freshTopic(as('alice'));
      await filled(topic, named('not for bob', 3));
      await allow(On.TOPIC, topic, May.WRITE, May.DESCRIBE_CONFIGS);
      const options = { ...as('bob'), topic, clock };
      // He is told where it ends, since Write implies Describe.
      const writer = await applied(() => KafkaLog.open(options));
      expect((await writer.ends()).reduce((sum, { offset }) => sum + offset, 0n)).toBe(3n);
      await expect(KafkaLog.openReader(options)).rejects.toMatchObject({
        code: 'LOG_REFUSED',
        retryable: false,
        message: expect.stringContaining('TOPIC_AUTHORIZATION_FAILED'),
      });
    }, 60_000);

    it('to make a topic: Create, Describe and DescribeConfigs on it', async () => {
      const topic = `tls-${randomBytes(4).toString('hex')}`;
      const make = () => ensureTopic({ ...as('bob'), topic, partitions: 1, replicationFactor: 1 });
      await expect(make()).rejects.toMatchObject({
        code: 'LOG_REFUSED',
        message: expect.stringContaining('TOPIC_AUTHORIZATION_FAILED'),
      });
      await allow(On.TOPIC, topic, May.CREATE, May.DESCRIBE, May.DESCRIBE_CONFIGS);
      await until(() => make().catch(() => false));
      expect(await make()).toBe(false);
      expect(await describeTopic({ ...as('bob'), topic })).toMatchObject({ partitions: 1 });
    }, 60_000);

    it('to follow: Read on the topic; which is no right to write', async () => {
      const topic = await freshTopic(as('alice'));
      const texts = named('followed', 3);
      await filled(topic, texts);
      await allow(On.TOPIC, topic, May.READ);
      const options = { ...as('bob'), topic, clock, timeoutMs: 2_000 };
      const log = await applied(() => KafkaLog.openReader(options));
      const follower = follow(log, []);
      await until(async () => follower.has(texts));
      await follower.stop();
      const refusal = log.append({ key: Buffer.from('k'), value: Buffer.from('v') });
      await expect(refusal).rejects.toMatchObject({ code: 'LOG_REFUSED' });
    }, 60_000);

    it('to archive: Read on the group as well, without which its member ends', async () => {
      const topic = await freshTopic(as('alice'));
      const texts = named('archived', 3);
      await filled(topic, texts);
      await allow(On.TOPIC, topic, May.READ);
      const group = freshGroup();
      const log = await applied(() => KafkaLog.openReader({ ...as('bob'), topic, clock }));
      const { signal } = new AbortController();
      await expect(log.consume({ group, onEntries: async () => {}, signal })).rejects.toMatchObject({
        code: 'LOG_REFUSED',
        message: expect.stringContaining('GROUP_AUTHORIZATION_FAILED'),
      });
      await allow(On.GROUP, group, May.READ);
      const grouped = member(log, group);
      await until(async () => grouped.has(texts), 30_000);
      await grouped.stop();
    }, 60_000);
  });
});
