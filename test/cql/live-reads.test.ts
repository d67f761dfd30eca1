/** Reads of rows that other writers left, and of a schema that changes, on a real Cassandra. */
import { randomBytes } from 'node:crypto';
import { Client, tracker } from 'cassandra-driver';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { messageStatements } from '../../src/cql/message-statements.js';
import { CqlStore } from '../../src/cql/message-store.js';
import type { StatementEvent } from '../../src/cql/statement.js';
import { parseUuid, tenantIdOf } from '../../src/domain/ids.js';
import { GROUP_READ_BYTES_MAX, REPEATED_PAGE_ROWS } from '../../src/domain/limits.js';
import type { Coordinates } from '../../src/domain/message.js';
import { bucketOf } from '../../src/domain/seq.js';
import { describeWithCassandra } from '../services/cassandra.js';
import {
  at,
  fullRecord,
  groupRead,
  INSERT_MICROS,
  insertMany,
  life,
  plain,
  readOne,
  readRange,
  readSummary,
  seqsOf,
  somewhere,
  until,
} from '../stores/fixtures.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from './cassandra-under-test.js';

const partition = (where: Coordinates) => [
  Buffer.from(where.tenantId),
  Buffer.from(where.conversationId),
  bucketOf(where.seq),
];
const KEY = 'tenant_id, conversation_id, seq_bucket, conversation_seq';

/** Collects the routing key of every statement that was executed. */
class RoutingTracker extends tracker.RequestLogger {
  readonly #routed: (Buffer | Buffer[])[];

  constructor(routed: (Buffer | Buffer[])[]) {
    super({});
    this.#routed = routed;
  }

  override onSuccess(...[, , , options]: Parameters<tracker.RequestLogger['onSuccess']>): void {
    this.#routed.push(options.getRoutingKey());
  }
}

describeWithCassandra('reads on a real Cassandra', (server) => {
  let live: KeyspaceUnderTest;
  let store: CqlStore;
  const events: StatementEvent[] = [];
  beforeAll(async () => {
    live = await makeKeyspace(server);
    ({ messages: store } = await live.open({ onStatement: (event) => events.push(event) }));
  });
  afterAll(async () => {
    await live?.drop();
  });

  it('D24 a consistency that the cluster cannot give is STORE_UNAVAILABLE, for reads and writes apart', async () => {
    const unavailable = { code: 'STORE_UNAVAILABLE' };
    await expect(live.open({ readConsistency: 'THREE' })).rejects.toMatchObject(unavailable);
    const { messages } = await live.open({ writeConsistency: 'THREE' });
    const where = somewhere(1n);
    await expect(messages.insertRecord(where, fullRecord(1n), life())).rejects.toMatchObject(unavailable);
    expect(await readOne(messages, where)).toBeUndefined();
  });

  it('a statement that the server refuses is STORE_REFUSED', async () => {
    const elsewhere = new CqlStore(live.session, 'no_such_keyspace', clock);
    await expect(readOne(elsewhere, somewhere(1n))).rejects.toMatchObject({ code: 'STORE_REFUSED' });
  });

  it('S-2 R1.1 the store orders seqs at 2^62 and 2^63 - 1 as numbers', async () => {
    const where = somewhere();
    const seqs = [2n ** 62n - 1n, 2n ** 62n, 2n ** 62n + 1n, 2n ** 63n - 1n];
    await insertMany(store, where, seqs);
    for (const seq of seqs) expect((await readOne(store, at(where, seq)))?.seq).toBe(seq);
    // One partition that a wrong writer could have made: the clustering order itself, not ours.
    const wide = somewhere(0n);
    for (const seq of [seqs[2], seqs[0], seqs[3], seqs[1]]) {
      await live.run(`INSERT INTO ks.message_record (${KEY}) VALUES (?, ?, ?, ?)`, [
        ...partition(wide),
        seq as bigint,
      ]);
    }
    const page = await live.session.execute(
      {
        cql: `SELECT conversation_seq FROM ${live.keyspace}.message_record WHERE tenant_id = ? AND conversation_id = ? AND seq_bucket = ? ORDER BY conversation_seq ASC`,
        table: 'message_record',
        shape: 'select',
        access: 'read',
      },
      partition(wide),
    );
    expect(page.rows.map((row) => row.conversation_seq)).toEqual(seqs);
  });

  it('S-4 R4.2 a row that lies in a foreign bucket is STORE_CORRUPT, not served', async () => {
    const where = somewhere(1n);
    await insertMany(store, where, [1n, 2n]);
    await live.run(
      `INSERT INTO ks.message_record (${KEY}, message_id, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
      [...partition(where), 5000n, randomBytes(16), 1n],
    );
    await expect(readRange(store, where, 6000n)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(seqsOf((await readRange(store, where, 4095n)).records)).toEqual([1n, 2n]);
  });

  it('B12 a row with every regular column null is absent, and so is its summary', async () => {
    const where = somewhere(1n);
    await live.run(`INSERT INTO ks.message_record (${KEY}) VALUES (?, ?, ?, ?)`, [...partition(where), 1n]);
    await live.run(`INSERT INTO ks.message_reaction_summary (${KEY}) VALUES (?, ?, ?, ?)`, [
      ...partition(where),
      1n,
    ]);
    const rows = await readRange(store, where);
    expect(rows.records).toEqual([]);
    expect(rows.summaries).toEqual([]);
    expect(rows.cost).toMatchObject({ rows: 0, bytes: 0 });
  });

  it('B12 a row polled every 50 ms through its expiry is whole, then absent, and never comes back', async () => {
    const where = somewhere(1n);
    const record = fullRecord(1n);
    await store.insertRecord(where, record, life(INSERT_MICROS, 5));
    const seen: (number | undefined)[] = [];
    await until(async () => {
      const got = await readOne(store, where);
      if (got !== undefined) expect(plain(got)).toEqual(plain(record));
      seen.push(got?.ttlSeconds);
      return seen.slice(-5).every((ttl) => ttl === undefined) && seen.length > 5;
    }, 15_000);
    const gone = seen.indexOf(undefined);
    expect(gone).toBeGreaterThan(10);
    expect(seen.slice(gone).every((ttl) => ttl === undefined)).toBe(true);
    for (let i = 1; i < gone; i++) expect(seen[i]).toBeLessThanOrEqual(seen[i - 1] as number);
  });

  it('B38 a column added in the middle of the alphabet, under load, shifts nothing', async () => {
    const where = somewhere(1n);
    const rows = await insertMany(store, where, [1n, 2n, 3n]);
    let over = false;
    let reads = 0;
    const load = Array.from({ length: 4 }, async () => {
      while (!over) {
        const { records } = await readRange(store, where, 3n);
        expect(records.length).toBe(3);
        for (const record of records) expect(plain(record)).toEqual(plain(rows.get(record.seq)));
        reads++;
      }
    });
    try {
      await until(async () => reads > 20);
      await live.run('ALTER TABLE ks.message_record ADD (edited_by uuid, mentions_extra blob, aaa int)');
      const after = reads;
      await until(async () => reads > after + 20);
    } finally {
      over = true;
      await Promise.all(load);
    }
    // Also for a session that prepares its statements only now, and for writes.
    const { messages: later } = await live.open();
    const record = fullRecord(4n);
    await later.insertRecord(at(where, 4n), record, life());
    expect(plain(await readOne(later, at(where, 4n)))).toEqual(plain(record));
  });

  it('B41 a tenant uuid and its byte-swapped twin are two tenants, as the store itself prints them', async () => {
    const text = '00112233-4455-6677-8899-aabbccddeeff';
    const bytes = Buffer.from(parseUuid(text) ?? []);
    const twin = Buffer.from('33221100554477668899aabbccddeeff', 'hex');
    const [id, twinId] = [tenantIdOf(bytes), tenantIdOf(twin)];
    if (id === undefined || twinId === undefined) throw new Error('16 bytes are a tenant id');
    const where = { ...somewhere(1n), tenantId: id };
    await insertMany(store, where, [1n], () => ({ customType: 'original' }));
    expect(await readOne(store, { ...where, tenantId: twinId })).toBeUndefined();
    await insertMany(store, { ...where, tenantId: twinId }, [1n], () => ({ customType: 'twin' }));
    expect((await readOne(store, where))?.customType).toBe('original');
    const stored = await live.session.execute(
      {
        cql: `SELECT custom_type FROM ${live.keyspace}.message_record WHERE tenant_id = ${text} AND conversation_id = ? AND seq_bucket = 0 AND conversation_seq = 1`,
        table: 'message_record',
        shape: 'select',
        access: 'read',
      },
      [Buffer.from(where.conversationId)],
    );
    expect(stored.rows.map((row) => row.custom_type)).toEqual(['original']);
  });

  it('B47 D19 counts of foreign writers: a null map, 0 and below, and keys of all kinds', async () => {
    const where = somewhere(1n);
    await live.run(
      `INSERT INTO ks.message_reaction_summary (${KEY}, counts, summary_version) VALUES (?, ?, ?, ?, {'': 3, '__proto__': 2147483647, 'toString': 1, 'gone': 0, 'odd': -1}, 4)`,
      [...partition(where), 1n],
    );
    await live.run(
      `INSERT INTO ks.message_reaction_summary (${KEY}, summary_version) VALUES (?, ?, ?, ?, 5)`,
      [...partition(where), 2n],
    );
    expect((await readSummary(store, where))?.counts).toEqual([
      ['__proto__', 2_147_483_647],
      ['toString', 1],
    ]);
    expect(await readSummary(store, at(where, 2n))).toMatchObject({ counts: [], version: 5n });
  });

  it('S-1 tells its observer of each statement, and of further pages apart', async () => {
    const where = somewhere(0n);
    const seqs = Array.from({ length: 600 }, (_, seq) => BigInt(seq));
    await insertMany(store, where, seqs, () => ({ payload: undefined, mediaMetadata: undefined }));
    events.length = 0;
    const { cost } = await store.readGroup(
      groupRead(where, [
        { shape: 'range', from: 0n, to: 599n },
        { shape: 'in', seqs: [700n, 702n] },
      ]),
    );
    const count = (table: string, shape: string, furtherPage: boolean) =>
      events.filter((e) => e.table === table && e.shape === shape && e.furtherPage === furtherPage).length;
    expect(count('message_record', 'range', false)).toBe(1);
    expect(count('message_record', 'range', true)).toBe(1);
    expect(count('message_record', 'in', false)).toBe(1);
    expect(count('message_reaction_summary', 'range', false)).toBe(1);
    expect(count('message_reaction_summary', 'in', false)).toBe(1);
    expect(events.length).toBe(5);
    expect(cost).toMatchObject({ recordStatements: 2, summaryStatements: 2, furtherPages: 1, rows: 600 });
  });

  it('B31, B07: a hundred rows of 1,000 KiB come in bounded reads, in small pages', {
    timeout: 60_000,
  }, async () => {
    const where = somewhere(1n);
    const payload = randomBytes(1000 * 1024);
    for (let seq = 1n; seq <= 100n; seq += 4n) {
      const seqs = [seq, seq + 1n, seq + 2n, seq + 3n];
      await insertMany(store, where, seqs, () => ({ payload, mediaMetadata: undefined }));
    }
    const whole = groupRead(where, [{ shape: 'range', from: 1n, to: 100n }]);
    const first = await store.readGroup({ ...whole, bytesMax: GROUP_READ_BYTES_MAX, isRepeated: true });
    const pageBytes = REPEATED_PAGE_ROWS * payload.length;
    expect(first.cost.bytes).toBeGreaterThanOrEqual(GROUP_READ_BYTES_MAX);
    expect(first.cost.bytes).toBeLessThan(GROUP_READ_BYTES_MAX + pageBytes);
    expect(first.cost.furtherPages).toBe(first.records.length / REPEATED_PAGE_ROWS - 1);
    const rest = groupRead(where, first.unread ?? []);
    const second = await store.readGroup({ ...rest, bytesMax: GROUP_READ_BYTES_MAX });
    expect(second.unread).toBeUndefined();
    expect(second.cost.furtherPages).toBeGreaterThan(0);
    const seqs = seqsOf([...second.records, ...first.records]);
    expect(seqs).toEqual(Array.from({ length: 100 }, (_, index) => BigInt(index + 1)));
  });

  it('binds the whole partition key of both tables, so that the driver finds equal replicas (R2.5, R4.4)', async () => {
    const routed: (Buffer | Buffer[])[] = [];
    const client = new Client({
      contactPoints: [server.contactPoint],
      localDataCenter: server.localDataCenter,
      encoding: { useBigIntAsLong: true },
      requestTracker: new RoutingTracker(routed),
    });
    try {
      const { records, summaries } = messageStatements(live.keyspace);
      const values = partition(somewhere(1n));
      for (const { cql } of [records.range, summaries.range]) {
        await client.execute(cql, [...values, 1n, 9n], { prepare: true });
      }
      for (const { cql } of [records.in, summaries.in]) {
        await client.execute(cql, [...values, [1n, 9n]], { prepare: true });
      }
    } finally {
      await client.shutdown();
    }
    expect(routed.length).toBe(4);
    // Each part of a composite routing key is its length, its bytes and a 0: 19 + 19 + 11 bytes.
    expect(routed.map((key) => key.length)).toEqual([49, 49, 49, 49]);
    expect(new Set(routed.map((key) => key.toString())).size).toBe(1);
  });
});
