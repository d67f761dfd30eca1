/** The commands on the real Cassandra: a keyspace of their own, from nothing to a sidecar that is ready. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Client } from 'cassandra-driver';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSidecar } from '../../src/cli/compose.js';
import { runProgram } from '../../src/cli/program.js';
import { settingsWith } from '../../src/cli/settings.js';
import { createKekFile } from '../../src/crypto/kek-file.js';
import { SILENT_LOG } from '../../src/server/log.js';
import {
  exchange,
  httpRequest,
  joinRequest,
  protobufRequest,
  temporaryDirectory,
} from '../server/server-fixture.js';
import { describeWithCassandra } from '../services/cassandra.js';

describeWithCassandra('commands on a real Cassandra', ({ contactPoint, localDataCenter }) => {
  const keyspace = `cli_${randomBytes(6).toString('hex')}`;
  const directory = temporaryDirectory();
  const kekFile = path.join(directory, 'kek');
  let client: Client;

  beforeAll(async () => {
    await createKekFile(kekFile);
    client = new Client({ contactPoints: [contactPoint], localDataCenter });
  });
  afterAll(async () => {
    await client.execute(`DROP KEYSPACE IF EXISTS ${keyspace}`, [], { readTimeout: 30_000 });
    await client.shutdown();
    fs.rmSync(directory, { recursive: true, force: true });
  });

  async function run(...words: string[]) {
    const out: string[] = [];
    const errors: string[] = [];
    const exitCode = await runProgram(words, {
      environment: {
        MAILJOIN_CONTACT_POINTS: contactPoint,
        MAILJOIN_LOCAL_DC: localDataCenter,
        MAILJOIN_KEYSPACE: keyspace,
        MAILJOIN_STORE_TIMEOUT_MS: '20000',
      },
      print: (line) => out.push(line),
      printError: (line) => errors.push(line),
    });
    return { exitCode, out: out.join('\n'), errors: errors.join('\n') };
  }

  const settings = () =>
    settingsWith({
      store: 'cql',
      contactPoints: [contactPoint],
      localDc: localDataCenter,
      keyspace,
      kekFile,
      socket: path.join(directory, 'mailjoin.sock'),
      cacheBytes: 1024 * 1024,
      workers: 1,
    });

  it('a keyspace that is not there is refused: keys and serve end with SCHEMA_MISSING', async () => {
    const { exitCode, errors } = await run('keys', 'list', '--store', 'cql');
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('SCHEMA_MISSING')]);
    await expect(startSidecar(settings(), SILENT_LOG)).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
    expect(fs.existsSync(settings().socket)).toBe(false);
  });

  it('schema apply makes it, and may be repeated; schema verify finds it as required', async () => {
    for (let round = 0; round < 2; round++) expect((await run('schema', 'apply')).exitCode).toBe(0);
    const { exitCode, out } = await run('schema', 'verify', '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ keyspace, differences: 0 });
  });

  it('keys are made, rotated, listed and destroyed in it', async () => {
    const cql = ['--store', 'cql'];
    expect((await run('keys', 'create', 't', 'c', ...cql, '--kek-file', kekFile)).out).toBe('created t/c/1');
    expect((await run('keys', 'rotate', 't', 'c', ...cql, '--kek-file', kekFile)).out).toBe('rotated t/c/2');
    expect((await run('keys', 'destroy', 't', 'c', '1', '--yes', ...cql)).exitCode).toBe(0);
    const listed = (await run('keys', 'list', '--json', ...cql)).out
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(
      listed.map(({ version, destroyedAtEpochMs }) => [version, destroyedAtEpochMs !== undefined]),
    ).toEqual([
      [1, true],
      [2, false],
    ]);
  });

  it('another KEK than the one that its keys were made with is refused, with the check value and without', async () => {
    const other = path.join(directory, 'other-kek');
    await createKekFile(other);
    const create = (id: string, kek: string) =>
      run('keys', 'create', 't', id, '--store', 'cql', '--kek-file', kek);
    const refused = [1, expect.stringMatching(/KEY_FILE.*other-kek/)];
    for (const forget of [false, true]) {
      if (forget) {
        await client.execute(`DELETE FROM ${keyspace}.mailjoin_meta WHERE name = ? IF EXISTS`, [
          'kek_check_value',
        ]);
      }
      const { exitCode, errors } = await create('other', other);
      expect([exitCode, errors]).toEqual(refused);
      const starting = startSidecar({ ...settings(), kekFile: other }, SILENT_LOG);
      await expect(starting).rejects.toMatchObject({ code: 'KEY_FILE' });
      expect((await create(`own-${forget}`, kekFile)).exitCode).toBe(0);
    }
    const { rows } = await client.execute(`SELECT value FROM ${keyspace}.mailjoin_meta WHERE name = ?`, [
      'kek_check_value',
    ]);
    expect(rows).toMatchObject([{ value: expect.stringMatching(/^01[0-9a-f]{144}$/) }]);
  });

  it('a sidecar on it is ready and joins', async () => {
    const sidecar = await startSidecar(settings(), SILENT_LOG);
    try {
      const { socket } = settings();
      expect((await exchange(socket, httpRequest('GET', '/readyz'))).status).toBe(200);
      const response = await exchange(
        socket,
        joinRequest(protobufRequest(), 'application/x-protobuf', 'Accept: application/json'),
      );
      expect(JSON.parse(response.body.toString()).results).toEqual([{ result: 'NOT_FOUND' }]);
    } finally {
      await sidecar.stop(1_000);
    }
  });

  it('S-5: schema verify ends with 1 and names what differs', async () => {
    await client.execute(`ALTER TABLE ${keyspace}.message_record WITH default_time_to_live = 60`, [], {
      readTimeout: 30_000,
    });
    const { exitCode, out } = await run('schema', 'verify');
    expect(exitCode).toBe(1);
    expect(out).toMatch(/difference\s+message_record\s+default_time_to_live\s+0\s+60/);
  });
});
