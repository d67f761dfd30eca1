/**
 * Makes the log's topic where it does not exist. An existing topic is left as it is: its number of partitions must never
 * change (a key's order holds within one), and its settings are its operator's.
 * What a new one is set to: topic-settings.ts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_RECORD_BYTES_MAX, LOG_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import { type KafkaConnectOptions, kafkaClient } from './kafka-client.js';
import { asLogError } from './kafka-errors.js';
import { missingTopic, protocolName, refusalAtStart } from './refusal.js';
import { BATCH_OVERHEAD_BYTES, settingsOfNewTopic, TOPIC_SETTING_NAMES } from './topic-settings.js';

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
  const configEntries = settingsOfNewTopic(replicationFactor);
  const timeout = timeoutMs ?? LOG_TIMEOUT_MS_DEFAULT;
  return withAdmin(options, async (admin) => {
    const isMade = await admin
      .createTopics({
        timeout,
        // kafkajs' own wait gives up where a broker has not yet heard of the topic at all.
        waitForLeaders: false,
        topics: [{ topic, numPartitions: partitions, replicationFactor, configEntries }],
      })
      .catch((error: unknown) => {
        throw notThatWay(error, options) ?? error;
      });
    if (isMade) await leadersOf(admin, topic, partitions, timeout);
    return isMade;
  });
}

/** What the brokers refuse to make, and would whenever it is asked for. */
function notThatWay(
  error: unknown,
  { topic, partitions, replicationFactor }: EnsureTopicOptions,
): MailjoinError | undefined {
  const refused = new Map([
    ['INVALID_TOPIC_EXCEPTION', `topic (${topic}): it is no name for one`],
    ['INVALID_PARTITIONS', `${partitions} partitions are not to be had`],
    [
      'INVALID_REPLICATION_FACTOR',
      `${replicationFactor} replicas need as many brokers: --replication-factor names another number`,
    ],
    ['INVALID_CONFIG', 'the brokers do not take the settings that the topic needs'],
    ['POLICY_VIOLATION', 'a policy of the brokers forbids a topic like this'],
  ]);
  const name = protocolName(error) ?? '';
  const detail = refused.get(name);
  return detail === undefined
    ? undefined
    : new MailjoinError('CONFIG_INVALID', `${detail} (${name})`, { cause: error });
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

export interface TopicDescription {
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Those of TOPIC_SETTING_NAMES that the broker tells, by name. */
  readonly settings: ReadonlyMap<string, string>;
}

/** A topic that is there. TOPIC_MISSING, or fails as above. */
export async function describeTopic({
  topic,
  ...connect
}: KafkaConnectOptions & { topic: string }): Promise<TopicDescription> {
  return withAdmin(connect, async (admin) => {
    const settings = await settingsOf(admin, topic, TOPIC_SETTING_NAMES);
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions ?? [];
    // The least of all: a partition's records are as safe as that.
    const replicationFactor = Math.min(...partitions.map(({ replicas }) => replicas.length));
    return { partitions: partitions.length, replicationFactor, settings };
  });
}

/** Bytes of key and value that the topic takes in one record, never above LOG_RECORD_BYTES_MAX. TOPIC_MISSING, or fails as above. */
export async function recordBytesMaxOf({
  topic,
  ...connect
}: KafkaConnectOptions & { topic: string }): Promise<number> {
  const name = 'max.message.bytes';
  const settings = await withAdmin(connect, (admin) => settingsOf(admin, topic, [name]));
  const bytes = Number(settings.get(name));
  if (!(bytes > BATCH_OVERHEAD_BYTES)) {
    throw new MailjoinError('LOG_UNAVAILABLE', 'the topic tells no max.message.bytes');
  }
  return Math.min(LOG_RECORD_BYTES_MAX, bytes - BATCH_OVERHEAD_BYTES);
}

async function settingsOf(
  admin: Admin,
  topic: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [...names] }],
    });
    const entries = resources[0]?.configEntries ?? [];
    return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  } catch (error) {
    throw missingTopic(error, topic) ?? error;
  }
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
