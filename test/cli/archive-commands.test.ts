/** archive, advance and capacity as a user runs them, on the embedded store: what is refused, what they do and print. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { appendAll, chat, messageAt } from '../archive/archive-fixtures.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { activity, message, until, user } from '../stores/fixtures.js';
import { runQuietly } from './run-quietly.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

let directory: string;
let dataDir: string;
beforeEach(() => {
  directory = temporaryDirectory();
  dataDir = path.join(directory, 'data');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

const run = (...words: string[]) => runQuietly(dataDir, words);

async function withStore<T>(
  use: (opened: Awaited<ReturnType<typeof openEmbedded>>) => Promise<T>,
): Promise<T> {
  const opened = await openEmbedded(dataDir, clock);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

const place = () => ['--parking-file', path.join(directory, 'parked.jsonl')];

async function logged(count: number): Promise<ReturnType<typeof chat>> {
  const where = chat();
  const nowMs = BigInt(Date.now()) - 86_400_000n;
  const records = Array.from({ length: count }, (_, at) =>
    messageAt(where, BigInt(at + 3), nowMs + BigInt(at)),
  );
  await withStore(({ log }) => appendAll(log, records));
  return where;
}

describe('what is refused', () => {
  it.each([
    [['archive', '--from-file', 'a', '--to-file', 'b'], 2, 'cannot be given together'],
    [['archive', '--log', 'none'], 1, 'CONFIG_INVALID'],
    [['archive', '--until-end'], 1, 'STORE_MISSING'],
    [['archive', '--to-file', 'copy'], 1, 'STORE_MISSING'],
    [['advance', '--conversations', '0'], 2, '--conversations must be a whole number from 1'],
    [['advance', '--settle-seconds', '1.5'], 2, '--settle-seconds must be a whole number'],
    [['capacity', '--space-amplification', '0.5'], 2, '--space-amplification must be a number from 1'],
    [['capacity', '--rows', '1e9'], 2, '--rows'],
    [['capacity', '--retention-file', 'missing'], 2, 'retentionFile (missing): cannot be read'],
  ])('%j', async (words, exitCode, text) => {
    const result = await run(...words);
    expect([result.exitCode, result.errors]).toEqual([exitCode, expect.stringContaining(text)]);
    if (text === 'STORE_MISSING') expect(fs.existsSync(dataDir)).toBe(false);
  });

  it('R3.4: a retention that is not valid names its tenants, before anything is archived', async () => {
    const file = path.join(directory, 'retention.json');
    fs.writeFileSync(
      file,
      JSON.stringify({ tenants: { nobody: {}, [crypto.randomUUID()]: { default_seconds: 630_720_001 } } }),
    );
    await logged(1);
    const { exitCode, errors } = await run('archive', '--until-end', '--retention-file', file);
    expect(exitCode).toBe(2);
    expect(errors).toContain('tenant nobody: not a uuid');
    expect(errors).toContain('20 years');
  });
});

describe('mailjoin archive', () => {
  it('archives what the log holds with the tenant’s retention, copies it, and archives the copy', async () => {
    const where = await logged(40);
    const { tenantId, conversationId } = where;
    const tenant = Buffer.from(tenantId)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const file = path.join(directory, 'retention.json');
    fs.writeFileSync(file, JSON.stringify({ tenants: { [tenant]: { default_seconds: 10 * 86_400 } } }));
    const copy = path.join(directory, 'copy');
    expect((await run('archive', '--to-file', copy)).out).toBe(`copied 40 records to ${copy}`);
    const { exitCode, out } = await run(
      'archive',
      '--until-end',
      '--json',
      '--retention-file',
      file,
      ...place(),
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ records: 40, messages: 40, parked: 0 });
    const rows = await withStore(({ writes }) => writes.readBucket(tenantId, conversationId, 0n));
    expect(rows).toHaveLength(40);
    expect(Math.round((rows[0]?.ttlSeconds ?? 0) / 86_400)).toBe(9);
    const again = await run('archive', '--from-file', copy, ...place());
    expect(again.out).toMatch(/^messages\s+40\s/m);
    expect((await run('archive', '--from-file', copy, '--json', ...place())).out).toContain('"records":0');
  });

  it('ends well on SIGTERM, what it wrote is committed, and leaves the group to the next one', {
    timeout: 60_000,
  }, async () => {
    const where = await logged(30);
    const child = spawn(process.execPath, [MAIN, 'archive', '--data-dir', dataDir, '--json', ...place()], {
      cwd: directory,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const closed = once(child, 'close');
    await withStore(({ writes }) =>
      until(
        async () =>
          (await writes.lookup(where.tenantId, message())) === undefined &&
          (await writes.readRecord({ ...where, seq: 32n })) !== undefined,
        20_000,
      ),
    );
    child.kill('SIGTERM');
    expect(await closed).toEqual([0, null]);
    expect(JSON.parse(output)).toMatchObject({ records: 30, messages: 30 });
    const started = performance.now();
    expect((await run('archive', '--until-end', '--json', ...place())).out).toContain('"records":0');
    // A member that was killed would have kept its lease for five seconds.
    expect(performance.now() - started).toBeLessThan(4_000);
  });
});

describe('mailjoin advance and capacity', () => {
  it('advance moves E to the earliest row and tells so; capacity measures the rows', async () => {
    const { tenantId, conversationId } = await logged(40);
    await run('archive', '--until-end', ...place());
    await withStore(({ writes }) =>
      writes.writeHead(tenantId, conversationId, {
        latestSeq: 42n,
        lastMessageId: message(),
        lastActivityId: activity(),
        lastSenderId: user(),
        preview: undefined,
        updatedAtMs: BigInt(Date.now()),
        fencingEpoch: 1n,
        headVersion: 1n,
      }),
    );
    expect((await run('advance')).out).toMatch(/^advanced\s+1$/m);
    expect((await run('advance', '--json')).out).toContain('"unchanged":1');
    expect(
      (await withStore(({ writes }) => writes.readHead(tenantId, conversationId)))?.earliestAvailableSeq,
    ).toBe(3n);

    const { out } = await run(
      'capacity',
      '--messages-per-day',
      '1000',
      '--days',
      '10',
      '--replicas',
      '1',
      '--space-amplification',
      '1',
    );
    expect(out).toMatch(/^rows sampled\s+40/m);
    expect(out).toContain('1000 messages a day × b_row × 1 × 1 copies × 10 days');
    const { bRow, wire, ...rest } = JSON.parse((await run('capacity', '--json')).out);
    expect(rest).toMatchObject({ rows: 40, lasting: 0, partitionBytes: 4_096 * bRow });
    expect(wire.mean).toBeGreaterThan(200);
  });
});
