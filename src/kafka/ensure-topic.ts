/**
 * Makes the log's topic where it does not exist. An existing topic is left as it is: its number of partitions must never
 * change (a key's order holds within one), and its settings are its operator's.
 *
 * Set on a new topic: max.message.bytes for the largest record; the time of a record is when the broker took it; with
 * three replicas or more, two must have a record before it is acknowledged, so that acks = all survives one broker.
 */
import kafkajs, { type Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_RECORD_BYTES_MAX, LOG_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import { type KafkaConnectOptions, kafkaClient } from './kafka-client.js';
import { asLogError } from './kafka-errors.js';

/** What a batch of one record takes beside key and value, at most. */
const BATCH_OVERHEAD_BYTES = 256;

export interface EnsureTopicOptions extends KafkaConnectOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

/** True when the topic was made, false when it existed. CONFIG_INVALID or LOG_UNAVAILABLE. */
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
  return withAdmin(kafkaClient(options), (admin) =>
    admin.createTopics({
      timeout: timeoutMs ?? LOG_TIMEOUT_MS_DEFAULT,
      waitForLeaders: true,
      topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
    }),
  );
}

/** Bytes of key and value that the topic takes in one record, never above LOG_RECORD_BYTES_MAX. LOG_UNAVAILABLE. */
export async function recordBytesMaxOf(kafka: Kafka, topic: string): Promise<number> {
  const name = 'max.message.bytes';
  const { resources } = await withAdmin(kafka, (admin) =>
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

async function withAdmin<T>(
  kafka: Kafka,
  task: (admin: ReturnType<Kafka['admin']>) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin({ retry: { retries: 3, initialRetryTime: 100 } });
  try {
    await admin.connect();
    return await task(admin);
  } catch (error) {
    throw asLogError(error, 'the brokers did not answer');
  } finally {
    await admin.disconnect().catch(() => {});
  }
}
