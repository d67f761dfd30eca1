/** Archiver, advancer and sampler on a real Cassandra. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measure } from '../../src/archive/capacity.js';
import { messageStatements } from '../../src/cql/message-statements.js';
import type { CqlStores } from '../../src/cql/open.js';
import { CQL_ROW_BYTES_MAX } from '../../src/domain/limits.js';
import { MessageState, RetentionClass } from '../../src/domain/message.js';
import { HoldKeeper } from '../../src/write/holds.js';
import { Retention } from '../../src/write/retention.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { ReadTracer } from '../cql/read-tracer.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { readOne, until } from '../stores/fixtures.js';
import { advancerContract } from './advancer-contract.js';
import {
  archiverOn,
  chat,
  editOf,
  KeptParking,
  messageAt,
  pagedLog,
  recallOf,
  type StorePorts,
  unstopped,
} from './archive-fixtures.js';
import { holdsInAnyOrder } from './archive-order.js';

const DAY_MS = 86_400_000n;

describeWithCassandra('archiving on Cassandra', (server) => {
  let live: KeyspaceUnderTest;
  let stores: CqlStores;
  let tracer: ReadTracer;
  beforeAll(async () => {
    live = await makeKeyspace(server);
    stores = await live.open();
    tracer = await ReadTracer.open(server);
  });
  afterAll(async () => {
    await tracer?.close();
    await live?.drop();
  });
  const ports = (): StorePorts => ({ messages: stores.messages, writes: stores.writes, clock });
  const nowMs = (): bigint => BigInt(Date.now());

  it('B50: the largest row that is not parked is one that the server takes', {
    timeout: 60_000,
  }, async () => {
    const where = chat();
    const fits = messageAt(where, 1n, nowMs(), { payload: randomBytes(CQL_ROW_BYTES_MAX - 500) });
    const parking = new KeptParking();
    const archiver = archiverOn(
      ports(),
      pagedLog([[fits, messageAt(where, 2n, nowMs(), { payload: randomBytes(CQL_ROW_BYTES_MAX) })]]),
      {
        parking,
        rowBytesMax: CQL_ROW_BYTES_MAX,
        onRetry: (code) => {
          throw new Error(`refused: ${code}`);
        },
      },
    );
    await archiver.run(unstopped());
    expect(archiver.totals()).toMatchObject({ messages: 1, parked: 1 });
    expect(parking.parked.map(({ code }) => code)).toEqual(['MESSAGE_TOO_LARGE']);
    expect((await stores.writes.readRecord({ ...where, seq: 1n }))?.payload).toHaveLength(
      CQL_ROW_BYTES_MAX - 500,
    );
  });

  it('D14 R3.3: any interleaving and repetition gives the rows of the log’s order', {
    timeout: 120_000,
  }, async () => {
    await holdsInAnyOrder(
      { messages: stores.messages, writes: stores.writes, clock },
      { runs: 25, ttlStepS: 1_200 },
    );
    expect.hasAssertions();
  });

  it('S-6: after archive runs and replays a read scans 0 tombstones', async () => {
    const where = chat();
    const sent = Array.from({ length: 6 }, (_, at) =>
      messageAt(where, BigInt(at + 1), nowMs() - 2n * DAY_MS, {
        retentionClass: at % 2 === 0 ? RetentionClass.DEFAULT : RetentionClass.COMPLIANCE_HOLD,
        mediaMetadata: undefined,
        replyToSeq: undefined,
        dekId: at === 0 ? undefined : { scope: 's', id: 'k', version: 1 },
      }),
    );
    const events = sent
      .slice(0, 4)
      .map((message, at) => (at % 2 ? recallOf : editOf)(message, nowMs() + BigInt(at)));
    const gone = messageAt(where, 9n, nowMs() - 40n * DAY_MS);
    const log = [...sent, gone, ...events];
    for (const pages of [[log], [events, sent], [log]])
      await archiverOn(ports(), pagedLog(pages)).run(unstopped());
    const { range } = messageStatements(live.keyspace).records;
    const partition = [Buffer.from(where.tenantId), Buffer.from(where.conversationId), 0n];
    expect(await tracer.scanned(range.cql, [...partition, 1n, 100n])).toEqual([6, 0]);
    const index = `SELECT conversation_seq FROM ${live.keyspace}.message_index WHERE tenant_id = ? AND message_id = ?`;
    const [first] = sent;
    const found = [Buffer.from(where.tenantId), Buffer.from(first?.record.messageId ?? [])];
    expect(await tracer.scanned(index, found)).toEqual([1, 0]);
  });

  it('S-5 B14: a replay ends no hold, a message that expires goes with its index, an expired one never comes', {
    timeout: 60_000,
  }, async () => {
    const where = chat();
    const policies = { defaultSeconds: 4, tenants: new Map() };
    const [held, short, gone] = [1n, 2n, 3n].map((seq) =>
      messageAt(where, seq, nowMs() - (seq === 3n ? 5_000n : 0n)),
    );
    if (held === undefined || short === undefined || gone === undefined) throw new Error('there are three');
    await archiverOn(ports(), pagedLog([[held, short, gone]]), { policies }).run(unstopped());
    expect(await readOne(stores.messages, { ...where, seq: 3n })).toBeUndefined();
    const retention = new Retention(NO_POLICIES, () => undefined);
    const holds = new HoldKeeper({ messages: stores.messages, writes: stores.writes, retention, clock });
    await holds.placeHold({ ...where, seq: 1n, messageId: held.record.messageId });
    const edit = editOf(held, nowMs() + 20n);
    for (let round = 0; round < 2; round++) {
      await archiverOn(ports(), pagedLog([[held, short, edit]]), { policies }).run(unstopped());
    }
    // The store rounds its second down, so a row may go a second before its policy's end; a replay before that writes it.
    const endMs = Number(short.record.createdAtMs) + 4_000;
    await until(
      async () => Date.now() > endMs && (await readOne(stores.messages, { ...where, seq: 2n })) === undefined,
      20_000,
    );
    await archiverOn(ports(), pagedLog([[held, short, edit, editOf(short, nowMs() + 30n)]]), {
      policies,
    }).run(unstopped());
    expect(await readOne(stores.messages, { ...where, seq: 2n })).toBeUndefined();
    const row = await readOne(stores.messages, { ...where, seq: 1n });
    expect(row).toMatchObject({ state: MessageState.EDITED, ttlSeconds: undefined });
    expect(row?.payload?.length).toBe(edit.payload.length);
    expect(await stores.writes.lookup(where.tenantId, held.record.messageId)).toMatchObject({ seq: 1n });
    await until(
      async () => (await stores.writes.lookup(where.tenantId, short.record.messageId)) === undefined,
    );
  });

  describe('R3.5', () => {
    advancerContract(() => ({ messages: stores.messages, writes: stores.writes, nowMs }));
  });

  it('R7.2: samples rows of all partitions, each once, and says what it knows of the disk', {
    timeout: 60_000,
  }, async () => {
    const fresh = await makeKeyspace(server);
    try {
      const { messages, writes, sampler } = await fresh.open();
      expect(await sampler.sampleRows(100, Math.random)).toEqual({ rows: [], disk: undefined });
      const places = Array.from({ length: 30 }, chat);
      const log = places.flatMap((place) =>
        [1n, 2n, 5_000n].map((seq) => messageAt(place, seq, nowMs() - DAY_MS)),
      );
      await archiverOn({ messages, writes, clock }, pagedLog([log])).run(unstopped());
      const all = await sampler.sampleRows(1_000, Math.random);
      const ids = new Set(all.rows.map(({ record }) => Buffer.from(record.messageId).toString('hex')));
      expect([ids.size, all.rows.length]).toEqual([90, 90]);
      // Wherever chance leads: here to one place only.
      expect((await sampler.sampleRows(1_000, () => 0.5)).rows).toHaveLength(90);
      const measured = measure(all, new Retention(NO_POLICIES, () => undefined), Date.now());
      expect(measured).toMatchObject({ lasting: 0, longerThanPolicy: 0, changedInLaterWindow: 0 });
      expect((await sampler.sampleRows(10, Math.random)).rows).toHaveLength(10);
    } finally {
      await fresh.drop();
    }
  });
});
