/**
 * Runs once per test run, in vitest's main process: opens the broker of real servers and closes it at the end.
 * MAILJOIN_TEST_CQL=host:port (with MAILJOIN_TEST_CQL_DC, else datacenter1) names a Cassandra to use instead of one
 * of our own, MAILJOIN_TEST_KAFKA=host:port a Kafka. Those are never stopped.
 */
import type { TestProject } from 'vitest/node';
import { startCassandra } from '../../src/provision/cassandra.js';
import { startKafka } from '../../src/provision/kafka.js';
import { type RunningService, ServiceBroker, type ServiceStarters } from './service-broker.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of the broker. */
    serviceBroker: string;
  }
}

const onProgress = (text: string) => process.stderr.write(`[services] ${text}\n`);

const STARTERS: ServiceStarters = {
  cassandra: async () =>
    existing(process.env.MAILJOIN_TEST_CQL, process.env.MAILJOIN_TEST_CQL_DC ?? 'datacenter1') ??
    startCassandra({ onProgress }),
  kafka: async () =>
    existing(process.env.MAILJOIN_TEST_KAFKA, '') ?? {
      ...(await startKafka({ onProgress })),
      localDataCenter: '',
    },
};

function existing(contactPoint: string | undefined, localDataCenter: string): RunningService | undefined {
  if (contactPoint === undefined || contactPoint === '') return undefined;
  return { contactPoint, localDataCenter, stop: async () => {} };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const broker = await ServiceBroker.open(STARTERS);
  project.provide('serviceBroker', broker.url);
  return () => broker.close();
}
