/** `mailjoin calibrate` on the real Cassandra, few rounds: what it leaves there, and that a sidecar plans with its file. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseReadCosts } from '../../src/calibrate/read-cost-file.js';
import { startSidecar } from '../../src/cli/compose.js';
import { runProgram } from '../../src/cli/program.js';
import { settingsWith } from '../../src/cli/settings.js';
import { createKekFile } from '../../src/crypto/kek-file.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { orderedByLength } from '../calibrate/calibrate-fixtures.js';
import { type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { exchange, httpRequest, joinRequest, temporaryDirectory } from '../server/server-fixture.js';
import { describeWithCassandra } from '../services/cassandra.js';

describeWithCassandra('calibrate on a real Cassandra', (server) => {
  const { contactPoint, localDataCenter } = server;
  const directory = temporaryDirectory();
  const output = path.join(directory, 'costs.json');
  let under: KeyspaceUnderTest;

  beforeAll(async () => {
    under = await makeKeyspace(server);
  });
  afterAll(async () => {
    await under.drop();
    fs.rmSync(directory, { recursive: true, force: true });
  });

  async function run(...words: string[]) {
    const out: string[] = [];
    const errors: string[] = [];
    const exitCode = await runProgram(['calibrate', '--store', 'cql', '--output', output, ...words], {
      environment: {
        MAILJOIN_CONTACT_POINTS: contactPoint,
        MAILJOIN_LOCAL_DC: localDataCenter,
        MAILJOIN_KEYSPACE: under.keyspace,
        MAILJOIN_STORE_TIMEOUT_MS: '20000',
      },
      print: (line) => out.push(line),
      printError: (line) => errors.push(line),
    });
    return { exitCode, out: out.join('\n'), errors: errors.join('\n') };
  }

  async function select(cql: string) {
    const statement = {
      cql: cql.replaceAll('ks.', `${under.keyspace}.`),
      table: 'test',
      shape: 'select',
    } as const;
    const rows: Readonly<Record<string, unknown>>[] = [];
    let pageState: string | undefined;
    do {
      const page = await under.session.execute({ ...statement, access: 'read' }, [], pageState);
      rows.push(...page.rows);
      pageState = page.pageState;
    } while (pageState !== undefined);
    return rows;
  }

  it('measures every shape and writes constants that a plan can use', { timeout: 60_000 }, async () => {
    const { exitCode, out, errors } = await run('--rounds', '3', '--row-bytes', '600');
    expect([exitCode, errors]).toEqual([0, expect.stringContaining('round 3 of 3, done')]);
    expect(out).toMatch(/ chosen$/m);
    const file = JSON.parse(fs.readFileSync(output, 'utf8'));
    expect(file).toMatchObject({
      version: 1,
      store: 'cql',
      refused: [],
      how: { roundsDone: 3 },
    });
    expect(parseReadCosts(file)).toEqual({ costs: { store: 'cql', constants: file.constants } });
    expect([10, 25, 50, 100, 150, 200]).toContain(file.constants.inCap);
    expect(orderedByLength(file)).toBe(true);
    const shapes = new Set(file.sizes[0].points.map(({ shape }: { shape: string }) => shape));
    expect(shapes).toEqual(new Set(['range', 'covering', 'in']));
  });

  it('R3.2: what it leaves are rows of one bucket of a tenant of their own, all with a TTL of an hour at most', async () => {
    const rows = await select(
      'SELECT tenant_id, conversation_id, seq_bucket, TTL(payload_or_ciphertext) AS payload, TTL(dek_id) AS dek, TTL(created_at) AS created FROM ks.message_record',
    );
    expect(rows).toHaveLength(4_096);
    expect(new Set(rows.map((row) => `${row.tenant_id} ${row.conversation_id} ${row.seq_bucket}`)).size).toBe(
      1,
    );
    for (const row of rows) {
      for (const ttl of [row.payload, row.dek, row.created]) {
        expect(Number(ttl) > 0 && Number(ttl) <= 3_600).toBe(true);
      }
    }
    for (const table of [
      'message_index',
      'message_reaction_summary',
      'message_reaction',
      'conversation_head',
      'client_dedup',
    ]) {
      expect(await select(`SELECT * FROM ks.${table} LIMIT 1`), table).toEqual([]);
    }
  });

  it('a sidecar plans with the file’s constants: its statements are lists where elements are free, covering ranges where rows are', async () => {
    const kekFile = path.join(directory, 'kek');
    await createKekFile(kekFile);
    const measured = JSON.parse(fs.readFileSync(output, 'utf8'));
    for (const [shape, free] of [
      ['in', { inElementMicros: 0, rangeRowMicros: 10 }],
      ['covering', { inElementMicros: 10, rangeRowMicros: 0 }],
    ] as const) {
      const readCosts = path.join(directory, `${shape}.json`);
      // The cap by hand: a measured one below 20 would make it two lists.
      const constants = { ...measured.constants, inCap: 100, ...free };
      fs.writeFileSync(readCosts, JSON.stringify({ ...measured, constants }));
      const socket = path.join(directory, `${shape}.sock`);
      const sidecar = await startSidecar(
        settingsWith({
          store: 'cql',
          contactPoints: [contactPoint],
          localDc: localDataCenter,
          keyspace: under.keyspace,
          kekFile,
          socket,
          readCosts,
          cacheBytes: 1024 * 1024,
          workers: 1,
          storeTimeoutMs: 20_000,
        }),
        SILENT_LOG,
      );
      try {
        expect(sidecar.costs.model).toMatchObject(constants);
        const response = await exchange(socket, scatteredRequest());
        expect(JSON.parse(response.body.toString()).results).toHaveLength(20);
        const page = (await exchange(socket, httpRequest('GET', '/metrics'))).body.toString();
        const counted = [...page.matchAll(/^mailjoin_store_statements_total\{(.*)\} (\d+)$/gm)]
          .filter(([, labels = '']) => labels.includes('table="message_record"'))
          .map(([, labels = '', count]) => [/shape="(\w+)"/.exec(labels)?.[1], Number(count)]);
        expect(counted).toEqual([[shape, 1]]);
      } finally {
        await sidecar.stop(2_000);
      }
    }
  });
});

/** A JSON join of 20 messages, every third seq of one conversation; that nothing lies there does not matter. */
function scatteredRequest(): Buffer {
  const uuid = () => crypto.randomUUID();
  const conversationId = uuid();
  const body = JSON.stringify({
    kind: 'MAILBOX_BATCH',
    tenant_id: uuid(),
    entries: Array.from({ length: 20 }, (_, at) => ({
      conversation_id: conversationId,
      conversation_seq: String(1 + at * 3),
      message_id: randomBytes(16).toString('hex'),
    })),
  });
  return joinRequest(Buffer.from(body), 'application/json', 'Accept: application/json');
}
