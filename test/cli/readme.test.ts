/**
 * The README's commands, taken out of it and run as they stand: only addresses, names and paths are put in their place.
 * `npm run build` must have been run.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'cassandra-driver';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.js';
import { COMMANDS } from '../../src/cli/program.js';
import { exchange, httpRequest, temporaryDirectory } from '../server/server-fixture.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { describeWithKafka } from '../services/kafka.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const README = fs.readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const RUNNING = README.slice(README.indexOf('## Running it'), README.indexOf('## How a batch goes'));

/** What stands after "npx mailjoin" on the lines of code blocks. */
function commandsIn(text: string): readonly string[] {
  return [...text.matchAll(/^(?: {4}|\t)npx mailjoin (.+)$/gm)].map(([, words = '']) => words.trim());
}

/** The body of the README's curl call. */
function joinBody(): string {
  return /\/v1\/join -d '(\{[\s\S]*?\n {4}\})'/.exec(RUNNING)?.[1] ?? '';
}

let directory: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await gone;
  }
  fs.rmSync(directory, { recursive: true, force: true });
});

function environment(variables: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', MAILJOIN_WORKERS: '1', MAILJOIN_CACHE_BYTES: '1MiB', ...variables };
}

function run(words: readonly string[], variables: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: directory, env: environment(variables) };
    execFile(process.execPath, [MAIN, ...words], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`mailjoin ${words.join(' ')}: ${stderr}`));
    });
  });
}

/** Resolves when the sidecar listens. */
function serve(words: readonly string[], variables: Record<string, string>): Promise<void> {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: directory,
    env: environment(variables),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('listens on')) resolve();
    });
    child.once('close', () => reject(new Error(`mailjoin ${words.join(' ')}: ${errors}`)));
  });
}

/** The README's join, answered: nothing was stored. */
async function expectJoin(socketPath: string): Promise<void> {
  const body = Buffer.from(joinBody());
  const head = [
    'POST /v1/join HTTP/1.1',
    'Host: mailjoin',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
  const response = await exchange(socketPath, request);
  expect(response.status).toBe(200);
  expect(JSON.parse(response.body.toString()).results).toEqual([{ result: 'NOT_FOUND' }]);
}

describe('the README', () => {
  it('shows how it is run: some commands, and a join', () => {
    expect(commandsIn(RUNNING).map((command) => command.split(' -')[0])).toEqual(
      expect.arrayContaining(['schema apply', 'topic apply', 'keys init', 'serve']),
    );
    expect(JSON.parse(joinBody())).toMatchObject({ kind: 'MAILBOX_BATCH' });
  });

  it('names no command, and no flag of one, that there is not', () => {
    for (const text of commandsIn(README)) {
      const words = text.split(/ [<|>#] ?/)[0]?.split(' ') ?? [];
      const command = COMMANDS.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `));
      expect(command, text).toBeDefined();
      if (command === undefined) continue;
      const rest = words.slice(command.name.split(' ').length);
      expect(parseCommandLine(rest, command.settings, command.options).problems, text).toEqual([]);
    }
  });

  it('`npx mailjoin serve` without settings serves the embedded store', async () => {
    expect(RUNNING).toContain('`npx mailjoin serve` without\nsettings uses the embedded store');
    await serve(['serve'], {});
    const socketPath = path.join(directory, 'mailjoin.sock');
    await expectJoin(socketPath);
    expect((await exchange(socketPath, httpRequest('GET', '/readyz'))).status).toBe(200);
  });

  it('its commands for a key file do for the embedded store as well', async () => {
    const kekFile = path.join(directory, 'kek');
    for (const text of commandsIn(RUNNING).filter((command) => command.startsWith('keys init'))) {
      await run(
        text.split(' ').map((word) => (word.startsWith('/') ? kekFile : word)),
        {},
      );
    }
    await serve(['serve', '--kek-file', kekFile], {});
    await expectJoin(path.join(directory, 'mailjoin.sock'));
  });
});

const BROKER = '10.0.0.7:9092';

describeWithCassandra('the README on a real Cassandra', ({ contactPoint, localDataCenter }) => {
  describeWithKafka('and a real Kafka', (kafka) => {
    const keyspace = `readme_${randomBytes(6).toString('hex')}`;

    afterAll(async () => {
      const client = new Client({ contactPoints: [contactPoint], localDataCenter });
      await client.execute(`DROP KEYSPACE IF EXISTS ${keyspace}`, [], { readTimeout: 30_000 });
      await client.shutdown();
    });

    /** This machine's places for the README's. */
    function placed(word: string): string {
      if (word.startsWith('/')) return path.join(directory, path.basename(word));
      if (word === '10.0.0.5') return contactPoint;
      if (word === BROKER) return kafka.contactPoint;
      // There is one broker and one node here.
      if (word === '3') return '1';
      if (word === 'dc1') return localDataCenter;
      if (word === 'dc1:3') return `${localDataCenter}:1`;
      return word === 'chat' ? keyspace : word;
    }

    it('the commands under "Running it" work one after the other, and the join is answered', async () => {
      const variables = { MAILJOIN_STORE_TIMEOUT_MS: '20000' };
      let socketPath: string | undefined;
      for (const text of commandsIn(RUNNING)) {
        const words = text.split(' ').map(placed);
        if (words[0] !== 'serve') {
          await run(words, variables);
          continue;
        }
        await serve(words, variables);
        socketPath = words[words.indexOf('--socket') + 1];
      }
      if (socketPath === undefined) throw new Error('the README serves nothing');
      await expectJoin(socketPath);
    });
  });
});
