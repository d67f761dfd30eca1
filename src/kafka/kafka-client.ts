/**
 * How the brokers are reached, as a caller says it, and the kafkajs client made of that. kafkajs retries nothing by
 * itself here and logs nothing: its failures become our errors, and our loops decide what is tried again.
 */
import kafkajs, { type Cluster, type Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import { nodeTlsOptions, type TlsOptions } from '../tls/tls-options.js';

/** How long a connection may take to open. */
const CONNECT_TIMEOUT_MS = 3_000;
/** How old the topic's layout (partitions, their leaders) may be. */
const LAYOUT_AGE_MS_MAX = 30_000;

/** RFC 4616 (plain) and RFC 5802 (SCRAM). */
export type SaslCredentials = {
  readonly [Mechanism in 'plain' | 'scram-sha-256' | 'scram-sha-512']: {
    readonly mechanism: Mechanism;
    readonly username: string;
    readonly password: string;
  };
}['plain' | 'scram-sha-256' | 'scram-sha-512'];

export interface KafkaConnectOptions {
  /** "host:port", some brokers of the cluster: bootstrap.servers. */
  readonly brokers: readonly string[];
  readonly clientId?: string | undefined;
  /** undefined: plain text. */
  readonly tls?: TlsOptions | undefined;
  readonly sasl?: SaslCredentials | undefined;
  /** How long an append, or a read that has an end, waits for brokers; default LOG_TIMEOUT_MS_DEFAULT. */
  readonly timeoutMs?: number | undefined;
}

const BROKER = /^[^\s:]+:\d{1,5}$/;

/** CONFIG_INVALID for what cannot work; nothing is contacted. */
export function kafkaClient(options: KafkaConnectOptions): Kafka {
  const { brokers, clientId, tls, sasl, timeoutMs } = options;
  if (brokers.length === 0 || !brokers.every((broker) => BROKER.test(broker))) {
    throw new MailjoinError('CONFIG_INVALID', 'brokers is not a list of host:port');
  }
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs > 0)) {
    throw new MailjoinError('CONFIG_INVALID', 'timeoutMs is not a whole number above 0');
  }
  // A CommonJS package, whose values Node finds on its default export alone.
  return new kafkajs.Kafka({
    brokers: [...brokers],
    clientId: clientId ?? 'mailjoin',
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: timeoutMs ?? LOG_TIMEOUT_MS_DEFAULT,
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 0 },
    ...(tls === undefined ? {} : { ssl: nodeTlsOptions(tls) }),
    // kafkajs keeps what it makes of it in the object.
    ...(sasl === undefined ? {} : { sasl: { ...sasl } }),
  });
}

/**
 * kafkajs' own view of a cluster, one level below its producer and consumer: explicit sequence numbers when producing,
 * and fetching without a group, need it. The one documented place that hands it out is a consumer's assigner, so a
 * consumer is made for it that never connects.
 */
export function newCluster(kafka: Kafka): Cluster {
  const made: Cluster[] = [];
  kafka.consumer({
    groupId: 'none',
    metadataMaxAge: LAYOUT_AGE_MS_MAX,
    allowAutoTopicCreation: false,
    // Where the log ends, whatever transactions are open on it (fetch-round.ts).
    readUncommitted: true,
    retry: { retries: 0 },
    partitionAssigners: [
      ({ cluster }) => {
        made.push(cluster);
        return { name: 'none', version: 0, assign: async () => [], protocol: () => NO_PROTOCOL };
      },
    ],
  });
  const [cluster] = made;
  if (cluster === undefined) throw new MailjoinError('INTERNAL', 'kafkajs handed out no cluster');
  return cluster;
}

const NO_PROTOCOL = { name: 'none', metadata: Buffer.alloc(0) };
