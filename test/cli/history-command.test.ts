/** `mailjoin history` as a person runs it: on the embedded store, through a sidecar's socket, on a real Cassandra. */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSidecar } from '../../src/cli/compose.js';
import { JsonLog } from '../../src/cli/log.js';
import { settingsWith } from '../../src/cli/settings.js';
import { systemClock } from '../../src/cli/system-clock.js';
import { conversationIdOf, formatUuid, parseUuid, tenantIdOf } from '../../src/domain/ids.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { bareRecord, life, somewhere } from '../stores/fixtures.js';
import { committed, letters, nextWords, OF_TENANT, rowsAt, seqsIn } from './history-program.js';
import { operandsOf, programUnderTest, run, TENANT } from './write-program.js';

describe('what is refused', () => {
  const id = randomUUID();
  it.each([
    [[id], 2, '--tenant'],
    [['x', ...OF_TENANT], 2, 'CONVERSATION must be a uuid'],
    [[id, '--tenant', 'x'], 2, '--tenant must be a uuid'],
    [[id, ...OF_TENANT, '--limit', '201'], 2, '--limit must be a whole number from 1 to 200'],
    [[id, ...OF_TENANT, '--anchor', '9223372036854775808'], 2, '--anchor'],
    [[id, ...OF_TENANT, '--all', '--pages', '2'], 2, 'cannot be given together'],
    [[id, ...OF_TENANT, '--via-socket', '--socket', 'none.sock'], 1, 'CLIENT_CONNECT'],
    [[id, ...OF_TENANT], 1, 'STORE_MISSING'],
  ])('%j', async (words, exitCode, text) => {
    const program = programUnderTest();
    const result = await program.run(['history', ...words]);
    expect([result.exitCode, result.errors]).toEqual([exitCode, expect.stringContaining(text)]);
    expect(existsSync(program.dataDir)).toBe(false);
  });

  it('a conversation without messages fails as `heads` does; nothing beyond an anchor is an answer', async () => {
    const program = programUnderTest();
    await committed(program, randomUUID(), ['elsewhere']);
    const words = ['history', randomUUID(), ...OF_TENANT];
    expect(await program.run(words)).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('MESSAGE_NOT_FOUND'),
    });
    const asJson = await program.run([...words, '--json']);
    expect(asJson).toMatchObject({ exitCode: 1, rows: [{ has_more: false, stop: 'END' }] });
    const beyond = await program.run([...words, '--anchor', '5']);
    expect(beyond).toMatchObject({ exitCode: 0, out: 'No older messages.' });
  });
});

describe('history', () => {
  it('shows one page, newest at the bottom and without content, and the command that goes on', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, letters(5));
    const { exitCode, out } = await program.run(['history', conversation, ...OF_TENANT, '--limit', '2']);
    expect(exitCode).toBe(0);
    expect(seqsIn(out)).toEqual([4, 5]);
    expect(out).not.toContain('text-');
    expect(out).toMatch(/^4 {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}[\da-f-]{36} {2}6 B$/m);
    const words = nextWords(out) ?? [];
    expect(words).toEqual(expect.arrayContaining(['--anchor', '4', '--limit', '2']));
    expect(seqsIn((await program.run(words)).out)).toEqual([2, 3]);
  });

  it('--newer goes the other way, --pages and --all show more', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, letters(5));
    const words = ['history', conversation, ...OF_TENANT, '--limit', '2'];
    expect(seqsIn((await program.run([...words, '--newer', '--anchor', '1'])).out)).toEqual([2, 3]);
    expect(seqsIn((await program.run([...words, '--pages', '2'])).out)).toEqual([4, 5, 2, 3]);
    const all = (await program.run([...words, '--all'])).out;
    expect(seqsIn(all)).toEqual([4, 5, 2, 3, 1]);
    expect(nextWords(all)).toBeUndefined();
  });

  it('shows states, reactions and, with --content, texts with their controls made visible', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    const rows = await committed(program, conversation, ['a\u001b[2J\u202eb', 'to go', 'last']);
    const [, second, third] = rows.map(operandsOf);
    await program.run(['recall', ...(second ?? [])]);
    const react = ['react', ...(third ?? []), '--user', randomUUID(), '--key', '+1'];
    expect(await program.run(react)).toMatchObject({ exitCode: 0 });
    const { out } = await program.run(['history', conversation, ...OF_TENANT, '--content']);
    expect(out).toMatch(/^1 .*a\\u\{1b\}\[2J\\u\{202e\}b$/m);
    expect(out).toMatch(/^2 .*RECALLED {2}\(recalled\)$/m);
    expect(out).toMatch(/^3 .*4 B {2}\+1×1 {2}last$/m);
    expect(out).not.toContain('to go');
    const { rows: json } = await program.run(['history', conversation, ...OF_TENANT, '--content', '--json']);
    expect(json.map((row) => row.conversation_seq ?? row.stop)).toEqual(['3', '2', '1', 'END']);
    expect(json[0]).toMatchObject({ state: 'NORMAL', reactions: { '+1': 1 }, payload_text: 'last' });
    expect(json[1]).toMatchObject({ result: 'RECALLED', state: 'RECALLED' });
    expect(json[1]).not.toHaveProperty('payload_text');
  });

  it('a result that is not OK is shown by its name (D22: an unsealed row)', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, ['sealed']);
    const tenantId = tenantIdOf(parseUuid(TENANT) as Uint8Array);
    const conversationId = conversationIdOf(parseUuid(conversation) as Uint8Array);
    if (tenantId === undefined || conversationId === undefined) throw new Error('no ids');
    const opened = await openEmbedded(program.dataDir, systemClock);
    const unsealed = bareRecord(2n, { payload: Buffer.from('plain') });
    await opened.store.insertRecord({ tenantId, conversationId, seq: 2n }, unsealed, life());
    await opened.close();
    const { out } = await program.run(['history', conversation, ...OF_TENANT, '--content']);
    expect(out).toMatch(/^2 {2}TAMPERED$/m);
    expect(out).not.toContain('plain');
  });

  it('S-3 tells a hole and the command behind it; --over-holes goes on by itself', async () => {
    const program = programUnderTest();
    const conversation = await rowsAt(program, [1n, 2n, 100_000n]);
    const words = ['history', conversation, ...OF_TENANT];
    const { exitCode, out } = await program.run(words);
    expect([exitCode, seqsIn(out)]).toEqual([0, [100_000]]);
    expect(out).toContain('A hole: no messages from seq 99999 on (older)');
    const { rows } = await program.run([...words, '--json']);
    expect(rows.at(-1)).toMatchObject({ has_more: false, stop: 'HOLE', hole: { began_at: '99999' } });
    for (const more of [[], ['--all'], ['--limit', '3']]) {
      const over = await program.run([...words, '--over-holes', ...more]);
      expect(seqsIn(over.out)).toEqual([100_000, 1, 2]);
    }
  });

  it('following the printed commands shows each message once, whatever the holes, limit and direction', async () => {
    const program = programUnderTest();
    const gaps = fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4_000, max: 60_000 })), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 1, max: 4 }), fc.boolean(), async (steps, limit, newer) => {
        let seq = 0n;
        const seqs = steps.map((step) => (seq += BigInt(step)));
        const conversation = await rowsAt(program, seqs);
        const start = newer ? ['--newer', '--anchor', '0'] : ['--anchor', String(seq + 1n)];
        let words: string[] | undefined = [
          'history',
          conversation,
          ...OF_TENANT,
          '--limit',
          `${limit}`,
          ...start,
        ];
        const seen: number[] = [];
        for (let turns = 0; words !== undefined && turns < 60; turns++) {
          const { exitCode, out } = await program.run(words);
          expect(exitCode).toBe(0);
          const page = seqsIn(out);
          seen.push(...(newer ? page : page.toReversed()));
          words = seen.length === seqs.length ? undefined : nextWords(out);
        }
        const rising = seqs.map(Number);
        expect(seen).toEqual(newer ? rising : rising.toReversed());
      }),
      { numRuns: 12 },
    );
  }, 60_000);
});

it('--via-socket shows what a sidecar serves', async () => {
  const program = programUnderTest();
  const conversation = randomUUID();
  await committed(program, conversation, letters(3));
  const socket = path.join(program.directory, 's');
  const settings = settingsWith({ dataDir: program.dataDir, socket, workers: 1, cacheBytes: 1_048_576 });
  const sidecar = await startSidecar(settings, new JsonLog('error'));
  onTestFinished(() => sidecar.stop(0).then(() => undefined));
  const words = ['history', conversation, ...OF_TENANT, '--limit', '2', '--content'];
  const direct = await program.run(words);
  const served = await program.run([...words, '--via-socket', '--socket', socket]);
  expect(served.exitCode).toBe(0);
  expect(served.out.split('\n').slice(0, 2)).toEqual(direct.out.split('\n').slice(0, 2));
  const next = nextWords(served.out);
  expect(next).toContain('--via-socket');
  expect(seqsIn((await program.run(next ?? [])).out)).toEqual([1]);
});

describeWithCassandra('history on Cassandra', (server) => {
  it('R4.1 pages over a bucket boundary', async () => {
    const keyspace = await makeKeyspace(server);
    const { messages } = await keyspace.open();
    const where = somewhere(4_094n);
    for (const seq of [4_094n, 4_095n, 4_096n, 4_097n]) {
      await messages.insertRecord({ ...where, seq }, bareRecord(seq), life());
    }
    const program = programUnderTest();
    const kekFile = path.join(program.directory, 'kek');
    writeFileSync(kekFile, randomBytes(32).toString('hex'), { mode: 0o600 });
    const { exitCode, out, errors } = await run(
      [
        ...['history', formatUuid(where.conversationId), '--tenant', formatUuid(where.tenantId)],
        ...['--store', 'cql', '--contact-points', server.contactPoint, '--local-dc', server.localDataCenter],
        ...['--keyspace', keyspace.keyspace, '--kek-file', kekFile, '--limit', '3', '--anchor', '5000'],
      ],
      undefined,
      { MAILJOIN_STORE_TIMEOUT_MS: '20000' },
    );
    expect([exitCode, errors]).toEqual([0, '']);
    expect(seqsIn(out)).toEqual([4_095, 4_096, 4_097]);
    expect(nextWords(out)).toEqual(expect.arrayContaining(['--anchor', '4095', '--store=cql']));
    await keyspace.drop();
  }, 60_000);
});
