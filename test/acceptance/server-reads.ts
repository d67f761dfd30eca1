/** Reads by table as the Cassandra server counts them itself: what no observer of ours can leave out. */
import type { CqlStatement } from '../../src/cql/statement.js';
import type { KeyspaceUnderTest } from '../cql/cassandra-under-test.js';

/** Requests that the server coordinated, or reads of its own disk and memory. */
export type ReadView = 'coordinator_read_latency' | 'local_read_latency';

/** Reads so far, by table of the keyspace. */
export async function readsServed(
  { session, keyspace }: KeyspaceUnderTest,
  view: ReadView = 'coordinator_read_latency',
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const statement: CqlStatement = {
    cql: `SELECT keyspace_name, table_name, count FROM system_views.${view}`,
    table: view,
    shape: 'select',
    access: 'read',
  };
  const { rows } = await session.execute(statement, []);
  for (const row of rows) {
    if (row.keyspace_name === keyspace) counts.set(String(row.table_name), Number(row.count));
  }
  return counts;
}
