/** The store contract on a real Cassandra. */
import { describeWithCassandra } from '../services/cassandra.js';
import { storeContract } from '../stores/contract.js';
import { makeKeyspace } from './cassandra-under-test.js';

describeWithCassandra('the CQL store', (server) => {
  storeContract('cql', async () => {
    const keyspace = await makeKeyspace(server);
    const { messages, keys } = await keyspace.open();
    return { store: messages, keys, close: () => keyspace.drop() };
  });
});
