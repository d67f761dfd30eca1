/** The stores and logs that the write bench runs on: the embedded pair, or a Cassandra and a Kafka of its own. */
import { join } from 'node:path';
import { systemClock } from '../dist/cli/system-clock.js';

/** @returns {{name, messages, writes, keys, log}}; what must be undone in the end is added to `stops` */
export async function openEmbeddedPlace(folder, stops) {
  const { openEmbedded } = await import('../dist/embedded/open-embedded.js');
  const { store, writes, keys, log, close } = await openEmbedded(join(folder, 'data'), systemClock);
  stops.push(close);
  return { name: 'embedded', messages: store, writes, keys, log };
}

export async function openLivePlace(stops) {
  const [{ startCassandra }, { startKafka }, cql, schema, { openCqlStores }, topics, { KafkaLog }] =
    await Promise.all([
      import('../dist/provision/cassandra.js'),
      import('../dist/provision/kafka.js'),
      import('../dist/cql/session.js'),
      import('../dist/cql/schema-apply.js'),
      import('../dist/cql/open.js'),
      import('../dist/kafka/ensure-topic.js'),
      import('../dist/kafka/kafka-log.js'),
    ]);
  const onProgress = (text) => console.log(text);
  const started = await Promise.allSettled([startCassandra({ onProgress }), startKafka({ onProgress })]);
  for (const { value } of started) if (value !== undefined) stops.push(() => value.stop());
  for (const { reason } of started) if (reason !== undefined) throw reason;
  const [{ contactPoint, localDataCenter }, kafka] = started.map(({ value }) => value);

  const connect = { contactPoints: [contactPoint], localDataCenter };
  const keyspace = 'mailjoin_bench_write';
  const session = await cql.connectCql(connect);
  await schema.applySchema(session, { keyspace, replication: { strategy: 'simple', factor: 1 } });
  await session.close();
  const { messages, writes, keys } = await openCqlStores({ ...connect, keyspace, clock: systemClock });
  stops.push(() => messages.close());

  const broker = { brokers: [kafka.contactPoint], topic: 'bench-write' };
  await topics.ensureTopic({ ...broker, partitions: 3, replicationFactor: 1 });
  const log = await KafkaLog.open({ ...broker, clock: systemClock });
  stops.push(() => log.close());
  return { name: 'Cassandra + Kafka', messages, writes, keys, log };
}
