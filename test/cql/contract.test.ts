/** The store contract on a real Cassandra. */
import { describe } from 'vitest';
import { storeContract } from '../stores/contract.js';
import { contactPoint, makeKeyspace } from './cassandra-under-test.js';

describe.skipIf(contactPoint === undefined)('a real Cassandra', () => {
  storeContract('cql', async () => {
    const keyspace = await makeKeyspace();
    const { messages, keys } = await keyspace.open();
    return { store: messages, keys, close: () => keyspace.drop() };
  });
});
