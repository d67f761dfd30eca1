/** Applying, opening and verifying the schema on a real Cassandra (R2, D11, S-5). */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openCqlStores } from '../../src/cql/open.js';
import { applySchema } from '../../src/cql/schema-apply.js';
import { verifySchema } from '../../src/cql/schema-verify.js';
import { connectCql } from '../../src/cql/session.js';
import { describeWithCassandra } from '../services/cassandra.js';
import {
  clock,
  connectOptions,
  type KeyspaceUnderTest,
  keyspaceName,
  makeKeyspace,
} from './cassandra-under-test.js';

const SIMPLE = { strategy: 'simple', factor: 1 } as const;
const DIFFERENCE = { severity: 'difference' } as const;

describeWithCassandra('schema', (server) => {
  let live: KeyspaceUnderTest;
  /** What puts the shared keyspace back after the test that changed it; making one for each test takes seconds. */
  let undo: (() => Promise<void>) | undefined;
  const apply = () => applySchema(live.session, { keyspace: live.keyspace, replication: SIMPLE });
  const recordWidth = (width: string) =>
    live.run('UPDATE ks.mailjoin_meta SET value = ? WHERE name = ?', [width, 'bucket_width']);

  beforeAll(async () => {
    live = await makeKeyspace(server);
  });
  afterEach(async () => {
    await undo?.();
    undo = undefined;
  });
  afterAll(async () => {
    await live?.drop();
  });

  it('a keyspace that does not exist is SCHEMA_MISSING', async () => {
    const keyspace = keyspaceName();
    await expect(openCqlStores({ ...connectOptions(server), keyspace, clock })).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
    });
  });

  it('D11 a keyspace of another W is refused when opened, when applied, and by ping', async () => {
    const { messages } = await live.open();
    undo = () => recordWidth('4096');
    await recordWidth('8192');
    const refused = { code: 'BUCKET_WIDTH' };
    await expect(live.open()).rejects.toMatchObject(refused);
    await expect(apply()).rejects.toMatchObject(refused);
    await expect(messages.ping()).rejects.toMatchObject(refused);
    expect(await verifySchema(live.session, live.keyspace)).toEqual([
      { ...DIFFERENCE, table: 'mailjoin_meta', item: 'bucket_width', expected: '4096', found: '8192' },
    ]);
  });

  it('a missing table is SCHEMA_MISSING, and named; of another W nothing is made (D11)', async () => {
    undo = async () => {
      await recordWidth('4096');
      await apply();
    };
    await live.run('DROP TABLE ks.message_index');
    await expect(live.open()).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringContaining('message_index'),
    });
    await recordWidth('8192');
    await expect(apply()).rejects.toMatchObject({ code: 'BUCKET_WIDTH' });
    expect(await verifySchema(live.session, live.keyspace)).toContainEqual({
      ...DIFFERENCE,
      table: 'message_index',
      item: 'table',
      expected: 'present',
      found: 'absent',
    });
  });

  it('D11 a keyspace without a recorded W is SCHEMA_MISSING until the schema is applied again', async () => {
    await live.run('TRUNCATE ks.mailjoin_meta');
    await expect(live.open()).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
    await apply();
    await expect(live.open()).resolves.toBeDefined();
  });

  it('what was applied verifies without a finding, and can be applied again', async () => {
    expect(await verifySchema(live.session, live.keyspace)).toEqual([]);
    await apply();
    expect(await verifySchema(live.session, live.keyspace)).toEqual([]);
  });

  it('S-5 a table TTL on message_record is a difference', async () => {
    undo = () => live.run('ALTER TABLE ks.message_record WITH default_time_to_live = 0');
    await live.run('ALTER TABLE ks.message_record WITH default_time_to_live = 2592000');
    expect(await verifySchema(live.session, live.keyspace)).toEqual([
      {
        ...DIFFERENCE,
        table: 'message_record',
        item: 'default_time_to_live',
        expected: '0',
        found: '2592000',
      },
    ]);
  });

  // What is written to stay must stay: holds (R2.1), what leads to them, and the keys that open them.
  it.each(['message_record', 'message_index', 'mailjoin_dek'])(
    'S-5 a table TTL on %s is refused when the stores are opened',
    async (table) => {
      undo = () => live.run(`ALTER TABLE ks.${table} WITH default_time_to_live = 0`);
      await live.run(`ALTER TABLE ks.${table} WITH default_time_to_live = 2592000`);
      const error: unknown = await live.open().catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'SCHEMA_MISMATCH',
        retryable: false,
        message: expect.stringContaining(`${table}: default_time_to_live is 2592000, not 0`),
      });
      await undo();
      await expect(live.open()).resolves.toBeDefined();
    },
  );

  it('one of client_dedup that was made longer is none of that', async () => {
    undo = () => live.run('ALTER TABLE ks.client_dedup WITH default_time_to_live = 7200');
    await live.run('ALTER TABLE ks.client_dedup WITH default_time_to_live = 86400');
    await expect(live.open()).resolves.toBeDefined();
  });

  it('R2 tells another key, order, type and compaction of a table made by hand', async () => {
    undo = async () => {
      await live.run('DROP TABLE ks.message_reaction_summary');
      await apply();
    };
    const table = 'message_reaction_summary';
    await live.run(`DROP TABLE ks.${table}`);
    await live.run(
      `CREATE TABLE ks.${table} (tenant_id uuid, conversation_id uuid, seq_bucket int, conversation_seq bigint,
         counts frozen<map<text,int>>, summary_version bigint, PRIMARY KEY ((conversation_id, tenant_id, seq_bucket), conversation_seq))`,
    );
    const expected = (item: string, wanted: string, found: string) => ({
      ...DIFFERENCE,
      table,
      item,
      expected: wanted,
      found,
    });
    const findings = await verifySchema(live.session, live.keyspace);
    expect(findings).toHaveLength(7);
    expect(findings).toEqual(
      expect.arrayContaining([
        expected('tenant_id', 'partition_key 0', 'partition_key 1'),
        expected('conversation_id', 'partition_key 1', 'partition_key 0'),
        expected('seq_bucket', 'bigint', 'int'),
        expected('conversation_seq', 'clustering 0 desc', 'clustering 0 asc'),
        expected('counts', 'map<text,int>', 'frozen<map<text, int>>'),
        expected('updated_at', 'regular, bigint', 'absent'),
        expected('compaction.class', 'LeveledCompactionStrategy', 'SizeTieredCompactionStrategy'),
      ]),
    );
  });

  it('B38 a column that somebody added is a note, not a difference', async () => {
    undo = () => live.run('ALTER TABLE ks.message_record DROP moderation_flags');
    await live.run('ALTER TABLE ks.message_record ADD moderation_flags int');
    expect(await verifySchema(live.session, live.keyspace)).toEqual([
      {
        severity: 'note',
        table: 'message_record',
        item: 'moderation_flags',
        expected: 'absent',
        found: 'regular, int',
      },
    ]);
  });
});

describeWithCassandra('connecting', (server) => {
  it('a data centre that does not exist is CONFIG_INVALID', async () => {
    const options = { ...connectOptions(server), localDataCenter: 'elsewhere' };
    await expect(connectCql(options)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('localDataCenter'),
    });
  });
});
