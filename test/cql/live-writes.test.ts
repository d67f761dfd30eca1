/** What the write side leaves in a real Cassandra: timestamps, lives, tombstones, and what is counted. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CqlRow } from '../../src/cql/session.js';
import type { StatementEvent } from '../../src/cql/statement.js';
import type { CqlWriteStore } from '../../src/cql/write-store.js';
import { SEQ_MAX } from '../../src/domain/seq.js';
import { describeWithCassandra } from '../services/cassandra.js';
import {
  CREATED_AT_MS,
  conversation,
  INSERT_MICROS,
  life,
  message,
  somewhere,
  tenant,
  until,
  user,
} from '../stores/fixtures.js';
import { headWrite, place, reservation } from '../stores/write-contract.js';
import { type KeyspaceUnderTest, makeKeyspace } from './cassandra-under-test.js';
import { ReadTracer } from './read-tracer.js';

describeWithCassandra('the write side as the server keeps it', (server) => {
  let live: KeyspaceUnderTest;
  let writes: CqlWriteStore;
  let tracer: ReadTracer;
  beforeAll(async () => {
    live = await makeKeyspace(server);
    writes = (await live.open()).writes;
    tracer = await ReadTracer.open(server);
  });
  afterAll(async () => {
    await tracer?.close();
    await live?.drop();
  });

  async function one(cql: string, key: readonly (Uint8Array | string | bigint)[]): Promise<CqlRow> {
    const statement = {
      cql: cql.replaceAll('ks.', `${live.keyspace}.`),
      table: 'test',
      shape: 'select',
    } as const;
    const values = key.map((each) => (each instanceof Uint8Array ? Buffer.from(each) : each));
    const { rows } = await live.session.execute({ ...statement, access: 'read' }, values);
    return rows[0] as CqlRow;
  }

  it('D7 every column of a completed row ends at once, counted from the completion', {
    timeout: 20_000,
  }, async () => {
    const entry = reservation();
    const key = [entry.tenantId, entry.senderId, entry.clientMessageId];
    const lives = async () =>
      Object.values(
        await one(
          'SELECT TTL(message_id) AS a, TTL(conversation_seq) AS b, TTL(state) AS c, TTL(created_at) AS d FROM ks.client_dedup WHERE tenant_id = ? AND sender_id = ? AND client_message_id = ?',
          key,
        ),
      ).map(Number);
    await writes.reserve(entry);
    // Time passes for real: the completion must be told from the reservation by what remains.
    await until(async () => Math.max(...(await lives())) <= 7_198);
    expect(await writes.complete(entry)).toBe(true);
    const after = await lives();
    expect(after.length).toBe(4);
    expect(Math.max(...after) - Math.min(...after)).toBe(0);
    expect(after[0]).toBeGreaterThan(7_198);
    expect(after[0]).toBeLessThanOrEqual(7_200);
  });

  it('D2 a head carries fencing_epoch · 2^40 + head_version as its timestamp, E its own value', async () => {
    const where = place();
    const write = headWrite({ fencingEpoch: 5n, headVersion: 77n, latestSeq: 400n });
    await writes.writeHead(where.tenantId, where.conversationId, write);
    await writes.advanceEarliest(where.tenantId, where.conversationId, 123n);
    const row = await one(
      'SELECT WRITETIME(latest_conversation_seq) AS h, WRITETIME(preview_or_placeholder) AS p, WRITETIME(head_version) AS v, WRITETIME(earliest_available_conversation_seq) AS e FROM ks.conversation_head WHERE tenant_id = ? AND conversation_id = ?',
      [where.tenantId, where.conversationId],
    );
    const fence = 5n * 2n ** 40n + 77n;
    expect(row).toMatchObject({ h: fence, p: fence, v: fence, e: 123n });
  });

  it('D19 a reaction carries createdAtMs · 1000 as its timestamp, and no TTL (D21)', async () => {
    const where = somewhere(3n);
    const userId = user();
    await writes.putReaction(where, { userId, reactionKey: 'a', createdAtMs: CREATED_AT_MS });
    const row = await one(
      'SELECT WRITETIME(reaction_key) AS w, TTL(reaction_key) AS t FROM ks.message_reaction WHERE tenant_id = ? AND conversation_id = ? AND conversation_seq = 3',
      [where.tenantId, where.conversationId],
    );
    expect(row).toMatchObject({ w: CREATED_AT_MS * 1000n, t: null });
  });

  it("D21 an index row has its bucket and its message's TTL and timestamp, or none", async () => {
    const [tenantId, kept, expiring] = [tenant(), message(), message()];
    const entry = { conversationId: conversation(), seq: 3n * 4096n + 5n };
    await writes.putIndex(tenantId, kept, entry, life());
    await writes.putIndex(tenantId, expiring, entry, life(INSERT_MICROS, 1_000));
    const read = (id: Uint8Array) =>
      one(
        'SELECT seq_bucket, TTL(conversation_seq) AS t, WRITETIME(conversation_id) AS w FROM ks.message_index WHERE tenant_id = ? AND message_id = ?',
        [tenantId, id],
      );
    expect(await read(kept)).toMatchObject({ seq_bucket: 3n, t: null, w: INSERT_MICROS });
    const { t } = await read(expiring);
    expect(t).toBeGreaterThan(980);
    expect(t).toBeLessThanOrEqual(1_000);
  });

  it('R2.2 every look-up in message_index is told to the observer, as a read of that table', async () => {
    const events: StatementEvent[] = [];
    const { writes: observed } = await live.open({ onStatement: (event) => events.push(event) });
    const tenantId = tenant();
    const id = message();
    await observed.putIndex(tenantId, id, { conversationId: conversation(), seq: 1n }, life());
    for (let i = 0; i < 3; i++) await observed.lookup(tenantId, i === 0 ? id : message());
    const ofIndex = events.filter(({ table }) => table === 'message_index');
    expect(ofIndex.map(({ shape }) => shape)).toEqual(['insert', 'select', 'select', 'select']);
  });

  it('D18 S-6 no tombstone is left by heads without sender or preview, reactions taken back, index or dedup', async () => {
    const where = somewhere(1n);
    const { tenantId, conversationId } = where;
    const key = [Buffer.from(tenantId), Buffer.from(conversationId)];
    for (const headVersion of [1n, 2n, 3n]) {
      const bare = { lastSenderId: undefined, preview: undefined, headVersion };
      await writes.writeHead(
        tenantId,
        conversationId,
        headWrite(headVersion === 2n ? { headVersion } : bare),
      );
    }
    await writes.claimHead(tenantId, conversationId, 2n);
    await writes.advanceEarliest(tenantId, conversationId, 1n);
    const head = `SELECT * FROM ${live.keyspace}.conversation_head WHERE tenant_id = ? AND conversation_id = ?`;
    expect(await tracer.scanned(head, key)).toEqual([1, 0]);

    const userId = user();
    for (const [reactionKey, createdAtMs] of [
      ['a', CREATED_AT_MS] as const,
      ['', CREATED_AT_MS + 1n] as const,
    ]) {
      await writes.putReaction(where, { userId, reactionKey, createdAtMs });
    }
    const reactions = `SELECT * FROM ${live.keyspace}.message_reaction WHERE tenant_id = ? AND conversation_id = ? AND conversation_seq = 1`;
    expect(await tracer.scanned(reactions, key)).toEqual([1, 0]);

    const id = message();
    await writes.putIndex(tenantId, id, { conversationId, seq: 1n }, life(INSERT_MICROS, 1_000));
    await writes.putIndex(tenantId, id, { conversationId, seq: 1n }, life(INSERT_MICROS + 1n));
    const index = `SELECT * FROM ${live.keyspace}.message_index WHERE tenant_id = ? AND message_id = ?`;
    expect(await tracer.scanned(index, [Buffer.from(tenantId), Buffer.from(id)])).toEqual([1, 0]);

    const entry = reservation();
    await writes.reserve(entry);
    await writes.complete(entry);
    const dedup = `SELECT * FROM ${live.keyspace}.client_dedup WHERE tenant_id = ? AND sender_id = ? AND client_message_id = ?`;
    const dedupKey = [Buffer.from(entry.tenantId), Buffer.from(entry.senderId), entry.clientMessageId];
    expect(await tracer.scanned(dedup, dedupKey)).toEqual([1, 0]);
  });

  it('S-2 R1.1 a window that would reach 2^63 is SEQ_RANGE and takes nothing; what fits is given', async () => {
    const { tenantId, conversationId } = place();
    await live.run(
      'INSERT INTO ks.mailjoin_sequence (tenant_id, conversation_id, next_seq, reserved_at) VALUES (?, ?, ?, ?)',
      [Buffer.from(tenantId), Buffer.from(conversationId), SEQ_MAX - 10n, 1n],
    );
    const reserve = (count: number) => writes.reserveWindow(tenantId, conversationId, count, 2n);
    await expect(reserve(11)).rejects.toMatchObject({ code: 'SEQ_RANGE' });
    expect(await reserve(10)).toEqual({ first: SEQ_MAX - 10n, count: 10, idFloorMs: 2n });
    await expect(reserve(1)).rejects.toMatchObject({ code: 'SEQ_RANGE' });
  });
});
