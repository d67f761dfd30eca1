/** The shared Cassandra itself: that a test file gets one, and that it answers. */
import { Client } from 'cassandra-driver';
import { expect, it } from 'vitest';
import { describeWithCassandra } from './cassandra.js';

describeWithCassandra('the shared Cassandra', ({ contactPoint, localDataCenter }) => {
  it('answers a query in its data centre', async () => {
    const client = new Client({ contactPoints: [contactPoint], localDataCenter });
    try {
      const answer = await client.execute('SELECT release_version, data_center FROM system.local');
      expect(answer.first().get('data_center')).toBe(localDataCenter);
    } finally {
      await client.shutdown();
    }
  });
});
