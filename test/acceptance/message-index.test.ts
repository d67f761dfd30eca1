/**
 * R2.2 on a real Cassandra, by the server's own counters: a full load through a whole sidecar never reads message_index,
 * and joins and pages never read message_reaction (R4.5). One look-up then shows that the counter lives.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HistoryRequest, JoinEntry, JoinRequest } from '../../src/client/index.js';
import { createKekFile } from '../../src/crypto/kek-file.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  startSidecarUnderTest,
} from '../client/sidecar-under-test.js';
import { type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { activity, inParallel, message, summary, tenant, user } from '../stores/fixtures.js';
import { readsServed } from './server-reads.js';

const TENANT = tenant();
const REACTOR = user();
const DEADLINE_MS = 20_000;

/** Whole, across a bucket boundary, scattered, and small ones. */
const SEQS: readonly (readonly bigint[])[] = [
  span(100n, 300),
  span(4_096n - 20n, 40),
  Array.from({ length: 120 }, (_, index) => BigInt(index * 31 + (index % 3))),
  ...Array.from({ length: 10 }, (_, index) => span(BigInt(index * 1_000), 5)),
];

function span(first: bigint, count: number): bigint[] {
  return Array.from({ length: count }, (_, index) => first + BigInt(index));
}

describeWithCassandra('R2.2 message_index', (server) => {
  let keyspace: KeyspaceUnderTest;
  let under: SidecarUnderTest;
  let folder: string;
  let conversations: readonly StoredConversation[];

  beforeAll(async () => {
    keyspace = await makeKeyspace(server);
    folder = mkdtempSync(path.join(tmpdir(), 'mailjoin-kek-'));
    const kekFile = path.join(folder, 'kek');
    await createKekFile(kekFile);
    under = await startSidecarUnderTest({
      store: 'cql',
      contactPoints: [server.contactPoint],
      localDc: server.localDataCenter,
      keyspace: keyspace.keyspace,
      storeTimeoutMs: DEADLINE_MS,
      kekFile,
      lookup: true,
    });
    conversations = await Promise.all(SEQS.map((seqs) => under.write(TENANT, seqs)));
    await inParallel(conversations, 4, addTheRest);
  }, 120_000);

  afterAll(async () => {
    await under.stop();
    await keyspace.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What lies beside a conversation's messages: index rows, a head, summaries and reactions. */
  async function addTheRest({ conversationId, messages }: StoredConversation): Promise<void> {
    const { writes, messages: store } = under.sidecar.stores;
    const last = messages.at(-1)?.record;
    if (last === undefined) throw new Error('was written');
    await inParallel(messages, 16, async ({ record: { seq, messageId } }) => {
      const where = { tenantId: TENANT, conversationId, seq };
      const life = { ttlSeconds: undefined, timestampMicros: 1n };
      await writes.putIndex(TENANT, messageId, { conversationId, seq }, life);
      if (seq % 5n !== 0n) return;
      await store.putSummary(where, summary(seq, 1n, [['+1', 2]]));
      for (const userId of [REACTOR, user()]) {
        await writes.putReaction(where, { userId, reactionKey: '+1', createdAtMs: 1n });
      }
    });
    await writes.writeHead(TENANT, conversationId, {
      latestSeq: last.seq,
      lastMessageId: last.messageId,
      lastActivityId: last.lastActivityId ?? activity(),
      lastSenderId: undefined,
      preview: undefined,
      updatedAtMs: 1n,
      fencingEpoch: 1n,
      headVersion: 1n,
    });
  }

  const entriesOf = (stored: readonly StoredConversation[]): JoinEntry[] =>
    stored.flatMap(({ conversationId, messages }) =>
      messages.map(({ record: { seq, messageId } }) => ({ conversationId, seq, messageId })),
    );

  async function join(
    kind: JoinRequest['kind'],
    entries: readonly JoinEntry[],
  ): Promise<Readonly<Record<string, number>>> {
    const request = { kind, tenantId: TENANT, entries, deadlineMs: DEADLINE_MS };
    const results: Record<string, number> = {};
    for (const { result } of (await under.client.join(request)).entries) {
      results[result] = (results[result] ?? 0) + 1;
    }
    return results;
  }

  async function wholeConversation(
    { conversationId }: StoredConversation,
    direction: 'older' | 'newer',
  ): Promise<number> {
    const ask: HistoryRequest = {
      tenantId: TENANT,
      conversationId,
      direction,
      limit: 60,
      deadlineMs: DEADLINE_MS,
    };
    let page = await under.client.history(ask);
    let count = page.entries.length;
    while (page.hasMore) {
      page = await under.client.history({ ...ask, anchor: page.nextAnchor });
      count += page.entries.length;
    }
    return count;
  }

  it('R2.2 R4.5 is read by no join, page or detail: 0 on the server’s counters, and 1 after one look-up', async () => {
    const entries = entriesOf(conversations);
    const count = entries.length;
    // Cold, warm, and what a batch may ask amiss.
    expect(await join('MAILBOX_BATCH', entries)).toEqual({ OK: count });
    expect(await join('PUSH_EVENTS', entries)).toEqual({ OK: count });
    const floor = { lastActivityId: Buffer.alloc(16, 0xff) };
    const amiss = entries.slice(0, 20);
    expect(
      await join(
        'PUSH_EVENTS',
        amiss.map((entry) => ({ ...entry, floor })),
      ),
    ).toEqual({ NOT_YET: 20 });
    expect(
      await join(
        'MAILBOX_BATCH',
        amiss.map((entry) => ({ ...entry, messageId: message() })),
      ),
    ).toEqual({
      MISMATCH: 20,
    });
    expect(
      await join(
        'MAILBOX_BATCH',
        amiss.map((entry) => ({ ...entry, seq: 2n ** 40n })),
      ),
    ).toEqual({
      NOT_FOUND: 20,
    });
    for (const stored of conversations) {
      for (const direction of ['older', 'newer'] as const) {
        expect(await wholeConversation(stored, direction)).toBe(stored.messages.length);
      }
    }
    const before = await readsServed(keyspace);
    expect(before.get('message_record')).toBeGreaterThan(conversations.length);
    expect(before.get('message_reaction_summary')).toBeGreaterThan(conversations.length);
    expect(before.get('conversation_head')).toBeGreaterThan(0);
    expect(before.get('message_reaction') ?? 0).toBe(0);

    let reactors = 0;
    for (const entry of entries.slice(0, 25)) {
      const ask = { ...entry, tenantId: TENANT, userId: REACTOR, reactors: { limit: 1 } };
      const detail = await under.client.message(ask);
      reactors += detail.reactors.length;
      if (detail.nextReactorsAfter === undefined) continue;
      const next = { limit: 1, after: detail.nextReactorsAfter };
      reactors += (await under.client.message({ ...ask, reactors: next })).reactors.length;
    }
    expect(reactors).toBe(10);
    const after = await readsServed(keyspace);
    // Each message with what the asking user reacted with and who reacted; five of them had a second page.
    expect(after.get('message_reaction')).toBe(2 * (25 + 5));

    for (const view of ['coordinator_read_latency', 'local_read_latency'] as const) {
      expect((await readsServed(keyspace, view)).get('message_index') ?? 0).toBe(0);
    }
    const [wanted] = entries;
    const messageId = wanted?.messageId as Uint8Array;
    const place = await under.client.lookup({ tenantId: TENANT, messageId, deadlineMs: DEADLINE_MS });
    expect(place).toMatchObject({ at: { seq: wanted?.seq }, result: 'OK' });
    for (const view of ['coordinator_read_latency', 'local_read_latency'] as const) {
      expect((await readsServed(keyspace, view)).get('message_index')).toBe(1);
    }
  }, 120_000);
});
