/** `mailjoin lookup` on the embedded store, after the writing commands, and on a real Cassandra. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/cli/system-clock.js';
import { formatHex, formatUuid } from '../../src/domain/ids.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { conversation, fullRecord, life, message, somewhere, summary, tenant } from '../stores/fixtures.js';
import {
  messageJson,
  operandsOf,
  type ProgramUnderTest,
  programUnderTest,
  type Row,
  run,
  TENANT,
} from './write-program.js';

const UNKNOWN_ID = `${'00'.repeat(15)}07`;
const OF_TENANT = ['--tenant', TENANT];

async function committed(program: ProgramUnderTest, over: Record<string, unknown> = {}): Promise<Row> {
  const { rows, errors } = await program.run(['commit', '--json'], messageJson(over));
  const [row] = rows;
  if (row === undefined) throw new Error(errors);
  return row;
}

/** An index row for a message of TENANT, whatever lies there. */
async function putIndex({ dataDir }: ProgramUnderTest, conversationId: string, seq: bigint): Promise<string> {
  const opened = await openEmbedded(dataDir, systemClock);
  const messageId = message();
  const bytes = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex');
  const entry = { conversationId: conversation(bytes(conversationId)), seq };
  await opened.writes.putIndex(tenant(bytes(TENANT)), messageId, entry, life());
  await opened.close();
  return formatHex(messageId);
}

describe('lookup', () => {
  it('needs a tenant and an id, and makes no store', async () => {
    const program = programUnderTest();
    expect(await program.run(['lookup', UNKNOWN_ID])).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining('--tenant'),
    });
    expect(await program.run(['lookup', 'x', ...OF_TENANT])).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining('MESSAGE_ID must be 32 hexadecimal digits'),
    });
    expect(await program.run(['lookup', UNKNOWN_ID, ...OF_TENANT])).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('STORE_MISSING'),
    });
    expect(existsSync(program.dataDir)).toBe(false);
  });

  it('R2.2 says that the index has no such id, of this tenant, and fails', async () => {
    const program = programUnderTest();
    const row = await committed(program);
    for (const words of [
      [UNKNOWN_ID, ...OF_TENANT],
      [row.message_id, '--tenant', randomUUID()],
    ]) {
      expect(await program.run(['lookup', ...words])).toMatchObject({
        exitCode: 1,
        out: '',
        errors: expect.stringMatching(/MESSAGE_NOT_FOUND.* has no such message_id/),
      });
      const asJson = await program.run(['lookup', ...words, '--json']);
      expect(asJson).toMatchObject({ exitCode: 1, rows: [{ found: false, result: 'NOT_FOUND' }] });
    }
  });

  it('tells an index row whose message is gone from one that names another message', async () => {
    const program = programUnderTest();
    const row = await committed(program);
    const gone = await putIndex(program, row.conversation_id, 4_096n);
    const other = await putIndex(program, row.conversation_id, BigInt(row.conversation_seq));
    const asked = await program.run(['lookup', gone, ...OF_TENANT]);
    expect(asked).toMatchObject({ exitCode: 1, errors: expect.stringContaining('no row is there') });
    expect(asked.out).toMatch(/^conversation_seq +4096$/m);
    expect(await program.run(['lookup', gone, ...OF_TENANT, '--json'])).toMatchObject({
      exitCode: 1,
      rows: [{ found: true, result: 'NOT_FOUND', conversation_seq: '4096', seq_bucket: '1' }],
    });
    const mismatch = await program.run(['lookup', other, ...OF_TENANT, '--json']);
    expect(mismatch).toMatchObject({
      exitCode: 1,
      rows: [{ found: true, result: 'MISMATCH', conversation_id: row.conversation_id }],
      errors: expect.stringContaining('MESSAGE_MISMATCH'),
    });
    // What the other message is stays with it.
    expect(mismatch.rows[0]).not.toHaveProperty('sender_id');
  });

  it('says where a message lies and what its row says, with nothing of its content', async () => {
    const program = programUnderTest();
    const sender = randomUUID();
    const row = await committed(program, {
      sender_id: sender,
      custom_type: 'app.poll',
      retention_class: 'ephemeral_24h',
      payload_text: 'a secret',
    });
    const reactor = ['--user', randomUUID(), '--key', '+1'];
    expect(await program.run(['react', ...operandsOf(row), ...reactor])).toMatchObject({ exitCode: 0 });
    const { exitCode, rows, out } = await program.run(['lookup', row.message_id, ...OF_TENANT, '--json']);
    expect(exitCode).toBe(0);
    expect(rows).toMatchObject([
      {
        found: true,
        result: 'OK',
        tenant_id: TENANT,
        message_id: row.message_id,
        conversation_id: row.conversation_id,
        conversation_seq: '1',
        seq_bucket: '0',
        state: 'NORMAL',
        sender_id: sender,
        client_message_id: row.client_message_id,
        custom_type: 'app.poll',
        created_at: row.created_at,
        retention_class: 'ephemeral_24h',
        reactions: { '+1': 1 },
      },
    ]);
    const [found] = rows as unknown as [{ ttl_seconds: number; dek_id: { version: number } }];
    expect(found.ttl_seconds).toBeGreaterThan(86_000);
    expect(found.ttl_seconds).toBeLessThanOrEqual(86_400);
    expect(found.dek_id.version).toBe(1);
    expect(out).not.toContain('secret');
    const table = await program.run(['lookup', row.message_id, ...OF_TENANT]);
    expect(table.out).toMatch(/^ttl_seconds +86\d{3} \(20\d\d-/m);
    expect(table.out).toMatch(/^reactions +\+1 1$/m);
    expect(table.out).not.toContain('secret');
  });

  it('shows content with --content alone: opened, its controls as code points, and what became of it', async () => {
    const program = programUnderTest();
    const row = await committed(program, {
      payload_text: 'two\nlines\u202e',
      media_metadata: { object_id: 'o', mime: 'image/png' },
    });
    const words = ['lookup', row.message_id, ...OF_TENANT, '--content'];
    expect((await program.run([...words, '--json'])).rows).toMatchObject([
      {
        result: 'OK',
        content: 'OK',
        payload_text: 'two\nlines\u202e',
        media_metadata: { object_id: 'o', mime: 'image/png' },
      },
    ]);
    const { exitCode, out } = await program.run(words);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^payload_text +two\\u\{a\}lines\\u\{202e\}$/m);
    // Bytes that are no text.
    const binary = await committed(program, { payload_text: undefined, payload_base64: 'AP8=' });
    const asked = await program.run(['lookup', binary.message_id, ...OF_TENANT, '--content', '--json']);
    expect(asked.rows).toMatchObject([{ payload_base64: 'AP8=' }]);
    await program.run(['recall', ...operandsOf(row)]);
    const recalled = await program.run([...words, '--json']);
    expect(recalled).toMatchObject({ exitCode: 0, rows: [{ state: 'RECALLED', content: 'RECALLED' }] });
    expect(recalled.rows[0]).not.toHaveProperty('payload_text');
  });

  it('D12 says that content is gone with its key, and still where the message lies', async () => {
    const program = programUnderTest();
    const row = await committed(program);
    const words = ['lookup', row.message_id, ...OF_TENANT, '--json'];
    const [found] = (await program.run(words)).rows as unknown as [{ dek_id: { scope: string; id: string } }];
    const { scope, id } = found.dek_id;
    expect(await program.run(['keys', 'destroy', scope, id, '1', '--yes'])).toMatchObject({ exitCode: 0 });
    expect(await program.run(words)).toMatchObject({ exitCode: 0, rows: [{ result: 'OK' }] });
    expect(await program.run([...words, '--content'])).toMatchObject({
      exitCode: 1,
      rows: [{ result: 'OK', content: 'ERASED', conversation_seq: '1' }],
    });
  });

  it('R5.4 shows a recall with its event, and controls that a text holds as their code points', async () => {
    const program = programUnderTest();
    const row = await committed(program, { custom_type: 'a\u202eb\u001b[2J' });
    expect(await program.run(['recall', ...operandsOf(row)])).toMatchObject({ exitCode: 0 });
    const { out } = await program.run(['lookup', row.message_id, ...OF_TENANT]);
    expect(out).toMatch(/^state +RECALLED$/m);
    expect(out).toMatch(/^recall_event_conversation_seq +2$/m);
    expect(out).toContain('a\\u{202e}b\\u{1b}[2J');
    for (const control of ['\u001b', '\u202e']) expect(out).not.toContain(control);
  });
});

describeWithCassandra('lookup on Cassandra', (server) => {
  it('R2.2 finds a message with what the store says of it', async () => {
    const keyspace = await makeKeyspace(server);
    const { messages, writes } = await keyspace.open();
    const where = somewhere(4_100n);
    const record = fullRecord(where.seq);
    await messages.insertRecord(where, record, life(undefined, 5_000));
    await messages.putSummary(where, summary(where.seq, 3n, [['+1', 2]]));
    await writes.putIndex(where.tenantId, record.messageId, where, life());
    const words = [
      ...['lookup', formatHex(record.messageId), '--tenant', formatUuid(where.tenantId), '--json'],
      ...['--store', 'cql', '--contact-points', server.contactPoint],
      ...['--local-dc', server.localDataCenter, '--keyspace', keyspace.keyspace],
    ];
    const environment = { MAILJOIN_STORE_TIMEOUT_MS: '20000' };
    const ask = (...more: string[]) => run([...words, ...more], undefined, environment);
    const found = await ask();
    expect(found).toMatchObject({
      exitCode: 0,
      rows: [
        {
          result: 'OK',
          conversation_id: formatUuid(where.conversationId),
          conversation_seq: '4100',
          seq_bucket: '1',
          reactions: { '+1': 2 },
          summary_version: '3',
        },
      ],
    });
    expect(found.rows[0]?.ttl_seconds).toBeGreaterThan(4_000);
    // Content needs a key, and only content.
    expect(await ask('--content')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('KEY_FILE'),
    });
    await keyspace.drop();
  }, 60_000);
});
