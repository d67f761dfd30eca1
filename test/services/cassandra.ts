/**
 * The real Cassandra of this run. Importing this file is what starts it (once for all files) and waits for it, so
 * import it only where it is needed. Files run side by side on the same server: use a keyspace of your own.
 */
import { inject } from 'vitest';
import { describeWithService, type ServerUnderTest } from './describe-with-service.js';
import { askBroker } from './service-broker.js';

const cassandra = await askBroker(inject('serviceBroker'), 'cassandra');

/** describe() for tests on the real Cassandra; see describeWithService for what happens without one. */
export function describeWithCassandra(name: string, tests: (server: ServerUnderTest) => void): void {
  describeWithService('Cassandra', cassandra, name, tests);
}
