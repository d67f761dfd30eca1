/** History on a real Cassandra, its statements counted as they are sent. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeKeyspace } from '../cql/cassandra-under-test.js';
import { requestFor } from '../join/harness.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { historyContract } from './history-contract.js';
import { historyWorld, newPlace, putHead, putMessages, span } from './history-fixtures.js';
import { checkConversation, conversations } from './history-model.js';

const RUNS = 6;

describeWithCassandra('history on Cassandra', (server) => {
  historyContract('cql', async () => {
    const keyspace = await makeKeyspace(server);
    const { messages, writes, buckets } = await keyspace.open();
    return { stores: { messages, writes, buckets }, close: () => keyspace.drop() };
  });

  it('every visible message exactly once and in order, on the real store too', async () => {
    const keyspace = await makeKeyspace(server);
    const { messages, writes, buckets } = await keyspace.open();
    const stores = { messages, writes, buckets };
    const world = historyWorld(stores);
    const property = fc.asyncProperty(conversations, (shape) => checkConversation(world, stores, shape));
    await fc.assert(property, { numRuns: RUNS });
    await keyspace.drop();
  }, 180_000);

  it('R2.2 a newest page is one read of the bucket, two looks above it, one head, and none of message_index', async () => {
    const keyspace = await makeKeyspace(server);
    const sent = new Map<string, number>();
    const { messages, writes, buckets } = await keyspace.open({
      onStatement: ({ table, furtherPage }) => {
        const name = furtherPage ? `${table} further` : table;
        sent.set(name, (sent.get(name) ?? 0) + 1);
      },
    });
    const stores = { messages, writes, buckets };
    const place = newPlace();
    const ids = await putMessages(stores, place, span(1n, 100n));
    await putHead(stores, place, 100n);
    sent.clear();
    const world = historyWorld(stores);
    const page = await world.page(place, { limit: 50 });
    expect(page.seqs).toEqual(span(51n, 100n).reverse());
    expect(Object.fromEntries(sent)).toEqual({
      conversation_head: 1,
      message_record: 3,
      message_reaction_summary: 1,
    });
    // A load of pages and joins, cached or not, never looks there either.
    for (let anchor = 101n; anchor > 1n; anchor -= 20n) await world.page(place, { anchor, limit: 20 });
    const references = [...ids].map(([seq, messageId]) => ({ ...place, seq, messageId }));
    const { tenantId } = place;
    await world.joiner.join(requestFor(references, { tenantId }));
    await historyWorld(stores).joiner.join(requestFor(references, { tenantId }));
    expect([...sent.keys()].filter((name) => name.startsWith('message_index'))).toEqual([]);
    expect(sent.get('message_record')).toBeGreaterThan(3);
    await keyspace.drop();
  }, 120_000);
});
