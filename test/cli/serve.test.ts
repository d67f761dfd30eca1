/** The built program itself, as a user starts it. `npm run build` must have been run. */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  httpRequest,
  joinRequest,
  protobufRequest,
  RawClient,
  temporaryDirectory,
} from '../server/server-fixture.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

let directory: string;
let socketPath: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  directory = temporaryDirectory();
  socketPath = path.join(directory, 'mailjoin.sock');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  fs.rmSync(directory, { recursive: true, force: true });
});

interface Program {
  readonly child: ChildProcess;
  readonly output: { out: string; errors: string };
  /** Resolves when stdout names the socket; rejects when the program ends before. */
  readonly listening: Promise<void>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

function serve(...words: string[]): Program {
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--cache-bytes', '1MiB', '--workers', '1', ...words],
    {
      cwd: directory,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  children.push(child);
  const output = { out: '', errors: '' };
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const listening = new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      output.out += chunk;
      if (output.out.includes('listens on')) resolve();
    });
    child.once('close', () => reject(new Error(`ended: ${output.errors}`)));
  });
  child.stderr?.on('data', (chunk) => {
    output.errors += chunk;
  });
  // A program that is expected to fail has nobody waiting for it to listen.
  listening.catch(() => undefined);
  return { child, output, listening, ended };
}

describe('mailjoin serve', () => {
  it('B29: serves, and ends with 0 on SIGTERM, its socket gone, with idle and half-sent connections open', async () => {
    const program = serve();
    await program.listening;
    expect(program.output.out).toContain(
      'mailjoin listens on mailjoin.sock (embedded store in mailjoin-data)',
    );
    const idle = await RawClient.open(socketPath);
    const response = await idle.request(joinRequest(protobufRequest({ entries: 2 })));
    expect(response.status).toBe(200);
    expect((await idle.request(httpRequest('GET', '/readyz'))).status).toBe(200);
    expect((await idle.request(httpRequest('GET', '/metrics'))).body.toString()).toContain(
      'mailjoin_entries_total{kind="MAILBOX_BATCH",result="NOT_FOUND"} 2',
    );
    const sending = await RawClient.open(socketPath);
    await sending.send(joinRequest(protobufRequest()).subarray(0, 120));
    program.child.kill('SIGTERM');
    expect(await program.ended).toEqual({ code: 0, signal: null });
    await idle.ended();
    await sending.ended();
    expect(fs.existsSync(socketPath)).toBe(false);
    const events = program.output.errors
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    // When the log's follower stands is a matter of its own time.
    const ofServing = events.filter((event) => event !== 'log_current');
    expect(ofServing).toEqual(['started', 'stopping', 'stopped']);
  });

  it('takes the place of one that was killed, and none of one that lives', async () => {
    const first = serve();
    await first.listening;
    const second = serve();
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.output.errors).toContain('SOCKET_IN_USE');
    const client = await RawClient.open(socketPath);
    expect((await client.request(httpRequest('GET', '/healthz'))).status).toBe(200);
    first.child.kill('SIGKILL');
    await first.ended;
    expect(fs.existsSync(socketPath)).toBe(true);
    const third = serve();
    await third.listening;
    const next = await RawClient.open(socketPath);
    expect((await next.request(httpRequest('GET', '/healthz'))).status).toBe(200);
    next.destroy();
    third.child.kill('SIGINT');
    expect(await third.ended).toEqual({ code: 0, signal: null });
  });

  it('refuses a socket path that holds a file, and leaves the file', async () => {
    fs.writeFileSync(socketPath, 'precious');
    const program = serve();
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output.errors).toContain('SOCKET_PATH');
    expect(fs.readFileSync(socketPath, 'utf8')).toBe('precious');
  });

  it('tells all that is wrong with its settings and ends with 2', async () => {
    const program = serve('--in-cap', '0', '--storee', 'cql');
    expect(await program.ended).toEqual({ code: 2, signal: null });
    expect(program.output.errors).toContain('inCap (--in-cap)');
    expect(program.output.errors).toContain('did you mean --store?');
    expect(fs.existsSync(path.join(directory, 'mailjoin-data'))).toBe(false);
  });
});
