/** What a program prints arrives whole, however slowly it is read, and a reader that leaves ends it quietly. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatUuid } from '../../src/domain/ids.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { newPlace, putHead, putMessages, span } from '../history/history-fixtures.js';
import { temporaryDirectory } from '../server/server-fixture.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const MESSAGES = 900;
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

let directory: string;
let words: string[];
beforeAll(async () => {
  directory = temporaryDirectory();
  const dataDir = path.join(directory, 'data');
  fs.mkdirSync(dataDir);
  const kekFile = path.join(directory, 'kek');
  fs.writeFileSync(kekFile, '11'.repeat(32), { mode: 0o600 });
  const opened = await openEmbedded(dataDir, clock);
  const place = newPlace();
  try {
    const stores = { messages: opened.store, writes: opened.writes, buckets: opened.buckets };
    await putMessages(stores, place, span(1n, BigInt(MESSAGES)));
    await putHead(stores, place, BigInt(MESSAGES));
  } finally {
    await opened.close();
  }
  words = ['history', formatUuid(place.conversationId), '--tenant', formatUuid(place.tenantId)];
  words.push('--data-dir', dataDir, '--kek-file', kekFile, '--allow-unsealed', '--all', '--json');
});
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

function start() {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: directory,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, closed: once(child, 'close'), errors: text(child.stderr) };
}

describe('output into a pipe', { timeout: 60_000 }, () => {
  it('is whole when its reader begins long after it was written', async () => {
    const { child, closed, errors } = start();
    // More than a pipe holds waits in the program by then: it has to stay until that is taken.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const output = await text(child.stdout);
    expect([await closed, await errors]).toEqual([[0, null], '']);
    expect(output.length).toBeGreaterThan(100_000);
    const lines = output.trimEnd().split('\n');
    expect(lines).toHaveLength(MESSAGES + 1);
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ has_more: false, stop: 'END' });
  });

  it('ends quietly when its reader has seen enough', async () => {
    const { child, closed, errors } = start();
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect([await closed, await errors]).toEqual([[0, null], '']);
  });
});

describe('output that cannot be written', () => {
  it.skipIf(!fs.existsSync('/dev/full'))('is told in one line', async () => {
    const full = fs.openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', full, 'pipe'] });
    fs.closeSync(full);
    const errors = text(child.stderr as NonNullable<typeof child.stderr>);
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(await errors).toMatch(/^mailjoin: the output cannot be written: ENOSPC.*\n$/);
  });
});
