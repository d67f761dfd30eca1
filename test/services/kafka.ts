/**
 * The real Kafka of this run. Importing this file is what starts it (once for all files) and waits for it, so import
 * it only where it is needed. Files run side by side on the same broker: use topics of your own.
 */
import { inject } from 'vitest';
import { describeWithService, type ServerUnderTest } from './describe-with-service.js';
import { askBroker } from './service-broker.js';

const kafka = await askBroker(inject('serviceBroker'), 'kafka');

/** describe() for tests on the real Kafka; see describeWithService for what happens without one. */
export function describeWithKafka(name: string, tests: (server: ServerUnderTest) => void): void {
  describeWithService('Kafka', kafka, name, tests);
}
