/**
 * Makes the log's topic where it does not exist. An existing topic is left as it is: its number of partitions must never
 * change (a key's order holds within one), and its settings are its operator's.
 *
 * Set on a new topic: max.message.bytes for the largest record; the time of a record is when the broker took it; with
 * three replicas or more, two must have a record before it is acknowledged, so that acks = all survives one broker.
 */
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_RECORD_BYTES_MAX, LOG_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import { type KafkaConnectOptions, kafkaClient } from './kafka-client.js';
import { asLogError } from './kafka-errors.js';
import { protocolName, refusalAtStart } from './refusal.js';

/** What a batch of one record takes beside key and value, at most. */
const BATCH_OVERHEAD_BYTES = 256;
/** How often a new topic's leaders are asked for, at most until the timeout. */
const LEADERS_MS = 50;
/** What a broker says of a topic that it has not, or not wholly, heard of. */
const NOT_YET = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE']);

export interface EnsureTopicOptions extends KafkaConnectOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

/** True when the topic was made, false when it existed. CONFIG_INVALID, LOG_UNAVAILABLE, LOG_REFUSED or TLS_FAILED. */
export async function ensureTopic(options: EnsureTopicOptions): Promise<boolean> {
  const { topic, partitions, replicationFactor, timeoutMs } = options;
  for (const [name, value] of Object.entries({ partitions, replicationFactor })) {
    if (!(Number.isInteger(value) && value > 0)) {
      throw new MailjoinError('CONFIG_INVALID', `${name} is not a whole number above 0`);
    }
  }
  const configEntries = [
    { name: 'max.message.bytes', value: String(LOG_RECORD_BYTES_MAX + BATCH_OVERHEAD_BYTES) },
    { name: 'message.timestamp.type', value: 'LogAppendTime' },
    ...(replicationFactor >= 3 ? [{ name: 'min.insync.replicas', value: '2' }] : []),
  ];
  const timeout = timeoutMs ?? LOG_TIMEOUT_MS_DEFAULT;
  return withAdmin(options, async (admin) => {
    const isMade = await admin.createTopics({
      timeout,
      // kafkajs' own wait gives up where a broker has not yet heard of the topic at all.
      waitForLeaders: false,
      topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
    });
    if (isMade) await leadersOf(admin, topic, partitions, timeout);
    return isMade;
  });
}

/** Resolves when the broker knows a leader of every partition; fails with what it said last. */
async function leadersOf(admin: Admin, topic: string, partitions: number, timeoutMs: number): Promise<void> {
  const attempts = Math.ceil(timeoutMs / LEADERS_MS);
  for (let attempt = 1; ; attempt++) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const led = topics[0]?.partitions.filter(({ leader }) => leader >= 0) ?? [];
      if (led.length === partitions) return;
      if (attempt >= attempts) throw new MailjoinError('LOG_UNAVAILABLE', 'a new topic has no leaders yet');
    } catch (error) {
      if (attempt >= attempts || !NOT_YET.has(protocolName(error) ?? '')) throw error;
    }
    await delay(LEADERS_MS);
  }
}

/** Deletes a topic and all that is in it: what was made for a while. LOG_UNAVAILABLE or LOG_REFUSED. */
export async function deleteTopic({
  topic,
  ...connect
}: KafkaConnectOptions & { topic: string }): Promise<void> {
  await withAdmin(connect, (admin) => admin.deleteTopics({ topics: [topic] }));
}

/** Bytes of key and value that the topic takes in one record, never above LOG_RECORD_BYTES_MAX. Fails as above. */
export async function recordBytesMaxOf({
  topic,
  ...connect
}: KafkaConnectOptions & { topic: string }): Promise<number> {
  const name = 'max.message.bytes';
  const { resources } = await withAdmin(connect, (admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [name] }],
    }),
  );
  const value = resources[0]?.configEntries.find((entry) => entry.configName === name)?.configValue;
  const bytes = Number(value);
  if (!(bytes > BATCH_OVERHEAD_BYTES)) {
    throw new MailjoinError('LOG_UNAVAILABLE', 'the topic tells no max.message.bytes');
  }
  return Math.min(LOG_RECORD_BYTES_MAX, bytes - BATCH_OVERHEAD_BYTES);
}

async function withAdmin<T>(connect: KafkaConnectOptions, task: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafkaClient(connect).admin({ retry: { retries: 3, initialRetryTime: 100 } });
  try {
    await admin.connect();
    return await task(admin);
  } catch (error) {
    throw (await refusalAtStart(error, connect)) ?? asLogError(error, 'the brokers did not answer');
  } finally {
    await admin.disconnect().catch(() => {});
  }
}
