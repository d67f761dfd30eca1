/** Where the crash tests write: an embedded store with its log, or a keyspace of Cassandra with a topic of Kafka. */
import { randomBytes } from 'node:crypto';
import type { CqlStores } from '../../src/cql/open.js';
import type { KeyStore, MessageStore } from '../../src/domain/ports.js';
import type { LogReader, Outbox, WriteStore } from '../../src/domain/write-ports.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { clock, connectOptions, type KeyspaceUnderTest } from '../cql/cassandra-under-test.js';
import { temporaryDirectory } from '../embedded/embedded-fixtures.js';
import type { ServerUnderTest } from '../services/describe-with-service.js';

export interface Place {
  /** For the processes' tasks. */
  readonly json: object;
  readonly kek: Buffer;
  readonly messages: MessageStore;
  readonly writes: WriteStore;
  readonly keys: KeyStore;
  readonly log: Outbox & LogReader;
  /** How far a process's clock is set ahead so that a dead group member's lease has lapsed (0: it is waited for). */
  readonly leaseMs: number;
  close(): Promise<void>;
}

export async function embeddedPlace(): Promise<Place> {
  const directory = temporaryDirectory();
  const { store, writes, keys, log, close } = await openEmbedded(directory, clock);
  return {
    json: { kind: 'embedded', directory },
    kek: randomBytes(32),
    messages: store,
    writes,
    keys,
    log,
    leaseMs: 6_000,
    close,
  };
}

/** A topic of its own on a shared keyspace; `stores` is the test's session on it. */
export async function livePlace(
  servers: { readonly cassandra: ServerUnderTest; readonly kafka: ServerUnderTest },
  { keyspace }: KeyspaceUnderTest,
  { messages, writes, keys }: CqlStores,
): Promise<Place> {
  const connect = {
    brokers: [servers.kafka.contactPoint],
    topic: `crash-${randomBytes(6).toString('hex')}`,
  };
  await ensureTopic({ ...connect, partitions: 2, replicationFactor: 1 });
  const log = await KafkaLog.open({ ...connect, clock });
  return {
    json: { kind: 'live', cql: { ...connectOptions(servers.cassandra), keyspace }, kafka: connect },
    kek: randomBytes(32),
    messages,
    writes,
    keys,
    log,
    leaseMs: 0,
    close: () => log.close(),
  };
}
