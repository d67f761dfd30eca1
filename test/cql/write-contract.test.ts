/** The write side's contract on a real Cassandra. */
import { describeWithCassandra } from '../services/cassandra.js';
import { writeStoreContract } from '../stores/write-contract.js';
import { makeKeyspace } from './cassandra-under-test.js';

describeWithCassandra('the CQL write store', (server) => {
  writeStoreContract('cql', async () => {
    const keyspace = await makeKeyspace(server);
    const { messages, writes } = await keyspace.open();
    const { writes: second } = await keyspace.open();
    return { messages, writes, second, close: () => keyspace.drop() };
  });
});
