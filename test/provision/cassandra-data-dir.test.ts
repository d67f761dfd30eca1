// A Cassandra of our own with a data folder that is kept.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'cassandra-driver';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Cassandra, startCassandra } from '../../src/provision/cassandra.js';
import { describeWithCassandra } from '../services/cassandra.js';

describeWithCassandra('a Cassandra with a data folder', () => {
  let folder: string;
  let running: Cassandra | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mailjoin-kept-'));
  });

  afterEach(async () => {
    await running?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function withClient(run: (client: Client) => Promise<void>): Promise<void> {
    running = await startCassandra({ dataDir: folder, heapMb: 512 });
    const client = new Client({
      contactPoints: [running.contactPoint],
      localDataCenter: running.localDataCenter,
    });
    try {
      await run(client);
    } finally {
      await client.shutdown();
      await running.stop();
    }
  }

  it('has its rows again after a stop and a start on other ports', { timeout: 240_000 }, async () => {
    await withClient(async (client) => {
      await client.execute(
        "CREATE KEYSPACE kept WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
      );
      await client.execute('CREATE TABLE kept.rows (id int PRIMARY KEY, text text)');
      await client.execute("INSERT INTO kept.rows (id, text) VALUES (1, 'still here')");
    });
    await withClient(async (client) => {
      const answer = await client.execute('SELECT text FROM kept.rows WHERE id = 1');
      expect(answer.first().get('text')).toBe('still here');
    });
  });
});
