/** What a traced read says it scanned: our writes leave no tombstone (D18, D19, R3.2). */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type MessageStatements, messageStatements } from '../../src/cql/message-statements.js';
import { CqlStore } from '../../src/cql/message-store.js';
import type { Coordinates } from '../../src/domain/message.js';
import { describeWithCassandra } from '../services/cassandra.js';
import {
  activity,
  at,
  bareRecord,
  fullRecord,
  INSERT_MICROS,
  life,
  somewhere,
  summary,
} from '../stores/fixtures.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from './cassandra-under-test.js';
import { ReadTracer } from './read-tracer.js';

describeWithCassandra('tombstones', (server) => {
  let live: KeyspaceUnderTest;
  let store: CqlStore;
  let statements: MessageStatements;
  let tracer: ReadTracer;
  beforeAll(async () => {
    live = await makeKeyspace(server);
    store = new CqlStore(live.session, live.keyspace, clock);
    statements = messageStatements(live.keyspace);
    tracer = await ReadTracer.open(server);
  });
  afterAll(async () => {
    await tracer?.close();
    await live?.drop();
  });

  /** Live rows and tombstone cells that the server says it read for seqs 1..9 of a bucket 0. */
  const scanned = (table: 'records' | 'summaries', where: Coordinates): Promise<[number, number]> =>
    tracer.scanned(statements[table].range.cql, [
      Buffer.from(where.tenantId),
      Buffer.from(where.conversationId),
      0n,
      1n,
      9n,
    ]);

  it('are seen by this test where a null was bound', async () => {
    const where = somewhere(1n);
    await live.run(
      'INSERT INTO ks.message_record (tenant_id, conversation_id, seq_bucket, conversation_seq, message_id, custom_type) VALUES (?, ?, 0, 1, ?, null)',
      [Buffer.from(where.tenantId), Buffer.from(where.conversationId), Buffer.alloc(16)],
    );
    expect(await scanned('records', where)).toEqual([1, 1]);
  });

  it('D18 S-6 are 0 after inserts with absent columns, edits and recalls', async () => {
    const where = somewhere(1n);
    await store.insertRecord(where, bareRecord(1n), life());
    await store.insertRecord(at(where, 2n), fullRecord(2n), life(INSERT_MICROS, 1000));
    await store.insertRecord(at(where, 3n), fullRecord(3n), life());
    const edit = { payload: Buffer.alloc(20), editedAtActivityId: activity(), lastActivityId: activity() };
    await store.editRecord(at(where, 2n), { ...edit, dekId: undefined }, life(INSERT_MICROS + 1n, 999));
    const recall = { recallEventSeq: 9n, lastActivityId: activity() };
    await store.recallRecord(at(where, 3n), recall, life(INSERT_MICROS + 1n));
    expect(await scanned('records', where)).toEqual([3, 0]);
  });

  it('D19 S-6 are 0 after summaries were overwritten, emptied and written late', async () => {
    const where = somewhere(1n);
    await store.putSummary(
      where,
      summary(1n, 2n, [
        ['a', 1],
        ['b', 2],
      ]),
    );
    await store.putSummary(where, summary(1n, 3n, [['a', 0]]));
    await store.putSummary(where, summary(1n, 1n, [['b', 7]]));
    await store.putSummary(at(where, 2n), { seq: 2n, version: 1n, counts: [], updatedAtMs: undefined });
    expect(await scanned('summaries', where)).toEqual([2, 0]);
  });
});
