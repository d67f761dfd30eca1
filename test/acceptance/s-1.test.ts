/**
 * S-1 through the whole sidecar on a real Cassandra, with a cold cache, counted twice: by what the driver was asked to
 * send, and by the server's own counters.
 */
import { mkdtempSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKekFile } from '../../src/crypto/kek-file.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  startSidecarUnderTest,
} from '../client/sidecar-under-test.js';
import { type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { tenant } from '../stores/fixtures.js';
import { readsServed } from './server-reads.js';

const TENANT = tenant();

/** Statements sent so far, by table, first pages only; a table's point look-ups stand under their own shape. */
async function statementsSent({ socketPath }: SidecarUnderTest): Promise<Map<string, number>> {
  const page = await metricsPage(socketPath);
  const counts = new Map<string, number>();
  for (const [, table, shape, value] of page.matchAll(
    /^mailjoin_store_statements_total\{table="(\w+)",shape="(\w+)",page="first"\} (\d+)$/gm,
  )) {
    counts.set(`${table} ${shape}`, Number(value));
  }
  return counts;
}

function metricsPage(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get({ socketPath, path: '/metrics' }, (response) => {
      text(response).then(resolve, reject);
    });
    request.on('error', reject);
  });
}

function difference(after: Map<string, number>, before: Map<string, number>): Record<string, number> {
  const changed: Record<string, number> = {};
  for (const [name, count] of after) {
    const more = count - (before.get(name) ?? 0);
    if (more !== 0) changed[name] = more;
  }
  return changed;
}

describeWithCassandra('S-1 with a cold cache', (server) => {
  let keyspace: KeyspaceUnderTest;
  let under: SidecarUnderTest;

  beforeAll(async () => {
    keyspace = await makeKeyspace(server);
    const kekFile = path.join(mkdtempSync(path.join(tmpdir(), 'mailjoin-kek-')), 'kek');
    await createKekFile(kekFile);
    under = await startSidecarUnderTest({
      store: 'cql',
      contactPoints: [server.contactPoint],
      localDc: server.localDataCenter,
      keyspace: keyspace.keyspace,
      storeTimeoutMs: 20_000,
      kekFile,
    });
  });

  afterAll(async () => {
    await under.stop();
    await keyspace.drop();
  });

  /** Joins the conversations as one cold batch; what it cost by driver and by server. */
  async function joinCold(conversations: readonly StoredConversation[]) {
    const entries = conversations.flatMap(({ conversationId, messages }) =>
      messages.map(({ record }) => ({ conversationId, seq: record.seq, messageId: record.messageId })),
    );
    const sentBefore = await statementsSent(under);
    const servedBefore = await readsServed(keyspace);
    const result = await under.client.join({
      kind: 'MAILBOX_BATCH',
      tenantId: TENANT,
      entries,
      deadlineMs: 20_000,
    });
    expect(new Set(result.entries.map((entry) => entry.result))).toEqual(new Set(['OK']));
    return {
      sent: difference(await statementsSent(under), sentBefore),
      served: difference(await readsServed(keyspace), servedBefore),
    };
  }

  it('S-1 (a) 500 consecutive messages of one group cost at most 2 reads, across a bucket boundary too', async () => {
    for (const first of [10_000n, 3 * 4096 - 250]) {
      const seqs = Array.from({ length: 500 }, (_, index) => BigInt(first) + BigInt(index));
      const { sent, served } = await joinCold([await under.write(TENANT, seqs)]);
      const reads = first === 10_000n ? 1 : 2;
      expect(sent).toMatchObject({ 'message_record range': reads, 'message_reaction_summary range': reads });
      expect(served).toMatchObject({ message_record: reads, message_reaction_summary: reads });
      expect(Object.keys(served)).not.toContain('message_index');
      expect(Object.keys(sent).filter((name) => name.startsWith('message_record'))).toHaveLength(1);
    }
  });

  it('S-1 (b) 5 messages in each of 20 conversations cost at most 21 reads', async () => {
    const seqs = [100n, 101n, 102n, 103n, 104n];
    const scattered = [100n, 900n, 901n, 2_000n, 4_000n];
    const conversations = await Promise.all(
      Array.from({ length: 20 }, (_, index) => under.write(TENANT, index % 2 === 0 ? seqs : scattered)),
    );
    const { sent, served } = await joinCold(conversations);
    const reads = Object.entries(sent).filter(([name]) => name.startsWith('message_record'));
    expect(reads.reduce((sum, [, count]) => sum + count, 0)).toBe(20);
    expect(served).toMatchObject({ message_record: 20, message_reaction_summary: 20 });
    expect(Object.keys(served)).not.toContain('message_index');
  });
});
