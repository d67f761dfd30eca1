/**
 * The files and names that `mailjoin archive` is given, as a user meets them: what cannot work is told with path and
 * reason before anything is made, and what is stopped early does not look whole. Child processes run the built files.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { appendAll, chat, messageAt } from '../archive/archive-fixtures.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { until } from '../stores/fixtures.js';
import { runQuietly } from './run-quietly.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
/** A port on which nobody listens. */
const NO_BROKER = '127.0.0.1:1';

let directory: string;
let dataDir: string;
beforeEach(() => {
  directory = temporaryDirectory();
  dataDir = path.join(directory, 'data');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

const run = (...words: string[]) => runQuietly(dataDir, words);

const at = (...parts: readonly string[]): string => path.join(directory, ...parts);

/** Makes the store with messages of so many bytes in its log, and what is to come behind them. */
async function logged(count: number, bytes = 100, ...others: readonly Buffer[]): Promise<void> {
  const where = chat();
  const nowMs = BigInt(Date.now()) - 86_400_000n;
  const opened = await openEmbedded(dataDir, clock);
  try {
    const payload = new Uint8Array(bytes);
    await appendAll(
      opened.log,
      Array.from({ length: count }, (_, seq) => messageAt(where, BigInt(seq + 3), nowMs, { payload })),
    );
    for (const value of others) await opened.log.append({ key: new Uint8Array(16), value });
  } finally {
    await opened.close();
  }
}

const POISON = Buffer.from('0effff', 'hex');

interface Started {
  readonly child: ChildProcess;
  readonly closed: Promise<unknown[]>;
  /** Lines of the log of one event. */
  readonly events: (name: string) => Record<string, unknown>[];
  readonly output: () => string;
}

function start(...words: readonly string[]): Started {
  const child = spawn(process.execPath, [MAIN, 'archive', '--data-dir', dataDir, ...words], {
    cwd: directory,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  let errors = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const events = (name: string) =>
    errors
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ event }) => event === name);
  return { child, closed: once(child, 'close'), events, output: () => output + errors };
}

describe('what is refused before anything is made', () => {
  it.each([
    ['--from-file', ['missing'], 'CONFIG_INVALID', /the file \S+missing cannot be read \(ENOENT\)/],
    ['--from-file', [], 'CONFIG_INVALID', /is not a regular file/],
    ['--to-file', [], 'CONFIG_INVALID', /the file \S+ is there already \(EEXIST\)/],
    ['--to-file', ['missing', 'x'], 'CONFIG_INVALID', /the file \S+x cannot be written \(ENOENT\)/],
  ])('%s %j', async (flag, place, code, text) => {
    const { exitCode, out, errors } = await run('archive', flag, at(...place), '--brokers', NO_BROKER);
    expect([exitCode, out]).toEqual([1, '']);
    expect(errors).toContain(code);
    expect(errors).toMatch(text);
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it.each([
    ['', 'empty'],
    ['  ', 'blank'],
    ['g'.repeat(3_000), 'too long'],
    ['a\nb', 'with a control character'],
  ])('a group %#', async (group) => {
    const { exitCode, out, errors } = await run('archive', '--until-end', '--group', group);
    expect([exitCode, out]).toEqual([2, '']);
    expect(errors).toContain('--group must be a name of 1 to 255 bytes');
  });

  it('a parking file that cannot be written, with or without a store to be made', async () => {
    const parking = at('missing', 'parked.jsonl');
    const words = ['archive', '--until-end', '--parking-file', parking];
    const { exitCode, out, errors } = await run(...words, '--brokers', NO_BROKER);
    expect([exitCode, out, fs.readdirSync(directory)]).toEqual([1, '', []]);
    expect(errors).toContain('CONFIG_INVALID');
    expect(errors).toMatch(/missing\/parked\.jsonl cannot be opened as parking file \(ENOENT\)/);
    await logged(1);
    expect(await run(...words)).toEqual({ exitCode, out, errors });
  });

  it('no log, and no store: neither makes any file', async () => {
    const parking = ['--parking-file', at('parked.jsonl')];
    for (const words of [
      ['--log', 'none'],
      ['--log', 'none', '--to-file', at('copy')],
    ]) {
      expect(await run('archive', ...words, ...parking)).toMatchObject({
        exitCode: 1,
        errors: expect.stringContaining('log is none'),
      });
    }
    for (const words of [['--until-end'], ['--to-file', at('copy')]]) {
      expect(await run('archive', ...words, ...parking)).toMatchObject({
        exitCode: 1,
        errors: expect.stringContaining('STORE_MISSING'),
      });
    }
    expect(fs.readdirSync(directory)).toEqual([]);
  });
});

describe('a parking file that fails later', { timeout: 60_000 }, () => {
  it('is told with path and reason, is no retry of the store, and holds the batch until it works', async () => {
    await logged(3);
    const parking = at('parked', 'lines.jsonl');
    fs.mkdirSync(at('parked'));
    const archiver = start('--json', '--parking-file', parking);
    await until(async () => fs.existsSync(parking), 20_000);
    fs.rmSync(at('parked'), { recursive: true });
    const opened = await openEmbedded(dataDir, clock);
    onTestFinished(() => opened.close());
    await opened.log.append({ key: new Uint8Array(16), value: POISON });
    await until(async () => archiver.events('parking_failure').length > 1, 20_000);
    expect(archiver.events('parking_failure')[0]).toMatchObject({ file: parking, errno: 'ENOENT' });
    expect(archiver.events('archive_retry')).toEqual([]);
    fs.mkdirSync(at('parked'));
    await until(async () => archiver.events('archive_parked').length === 1, 20_000);
    archiver.child.kill('SIGTERM');
    expect(await archiver.closed).toEqual([0, null]);
    expect(archiver.output()).toContain('"parked":1,"unkept":0,"retries":0');
    expect(fs.readFileSync(parking, 'utf8')).toContain('LOG_CORRUPT');
  });
});

describe('a run that is stopped before its end', { timeout: 60_000 }, () => {
  it('leaves no copy, and fails', async () => {
    await logged(40, 3 * 1_048_576);
    const copy = at('copy');
    const { child, closed, output } = start('--to-file', copy);
    while (!fs.readdirSync(directory).some((name) => name.endsWith('.partial'))) await delay(1);
    // So that it is stopped in the middle, however quick it is.
    child.kill('SIGSTOP');
    expect(fs.existsSync(copy)).toBe(false);
    child.kill('SIGINT');
    child.kill('SIGCONT');
    expect(await closed).toEqual([1, null]);
    expect(output()).toContain('SHUTTING_DOWN');
    expect(output()).toContain(`the copy was stopped and ${copy} not made`);
    expect(fs.readdirSync(directory)).toEqual(['data']);
  });

  it('of a file of records fails, too, and the next one goes on', async () => {
    await logged(20, 1_048_576, POISON);
    const copy = at('copy');
    expect((await run('archive', '--to-file', copy)).exitCode).toBe(0);
    fs.mkdirSync(at('parked'));
    const parking = ['--parking-file', at('parked', 'lines.jsonl')];
    const stopped = start('--from-file', copy, '--json', ...parking);
    while (!fs.existsSync(at('parked', 'lines.jsonl'))) await delay(1);
    stopped.child.kill('SIGSTOP');
    // The last batch has poison: it cannot be done any more.
    fs.rmSync(at('parked'), { recursive: true });
    stopped.child.kill('SIGCONT');
    await until(async () => stopped.events('parking_failure').length > 0, 20_000);
    stopped.child.kill('SIGTERM');
    expect(await stopped.closed).toEqual([1, null]);
    expect(stopped.output()).toContain('SHUTTING_DOWN');
    expect(stopped.output()).toContain('"records":');
    fs.mkdirSync(at('parked'));
    const { exitCode, out } = await run('archive', '--from-file', copy, '--json', ...parking);
    expect(exitCode).toBe(0);
    const { records, parked } = JSON.parse(out);
    expect(parked).toBe(1);
    expect(records).toBeLessThan(21);
  });
});

describe('what is printed', () => {
  it('of a copy with --json is JSON', async () => {
    await logged(5);
    const { exitCode, out } = await run('archive', '--json', '--to-file', at('copy'));
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toEqual({
      file: at('copy'),
      records: 5,
      bytes: fs.statSync(at('copy')).size,
      elapsedMs: expect.any(Number),
    });
  });

  it.each([
    ['that are not there', false, 'the group could not be read'],
    ['that take connections and say nothing', true, 'no answer for'],
  ])(
    'of brokers %s is said within seconds, and not over and over',
    { timeout: 60_000 },
    async (_, isThere, reason) => {
      const archiver = start('--brokers', isThere ? await silentBroker() : NO_BROKER);
      const startedMs = performance.now();
      await until(async () => archiver.events('log_failure').length > 0, 20_000);
      expect(performance.now() - startedMs).toBeLessThan(12_000);
      expect(archiver.events('log_failure')[0]).toMatchObject({
        code: 'LOG_UNAVAILABLE',
        reason: expect.stringContaining(reason),
        count: 1,
      });
      await until(async () => archiver.events('archive_progress').length > 0, 20_000);
      expect(archiver.events('archive_progress')[0]).toMatchObject({ lag: 'unknown' });
      // Refused connections are tried again twice a second.
      expect(archiver.events('log_failure').length).toBeLessThan(4);
      archiver.child.kill('SIGTERM');
      await archiver.closed;
      expect(archiver.output()).toMatch(/^lag\s+unknown/m);
    },
  );
});

/** Its address: it takes connections and never says anything. */
async function silentBroker(): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as net.AddressInfo;
  return `127.0.0.1:${port}`;
}
