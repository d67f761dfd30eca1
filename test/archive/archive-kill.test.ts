/**
 * Crash points of the archiver: the built program is killed with SIGKILL again and again while it archives a log, then
 * runs to the end. The result is that of a run that nobody disturbed. Needs the built files (npm run build).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { copyToFile } from '../../src/archive/record-copy.js';
import type { LogMessage, LogRecord } from '../../src/codec/log-record.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { plainValue } from '../stores/write-contract.js';
import {
  appendAll,
  archiverOn,
  type Chat,
  chat,
  editOf,
  messageAt,
  recallOf,
  unstopped,
} from './archive-fixtures.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
const KILLS = 20;
const CONVERSATIONS = 40;
const MESSAGES = 150;
/** Poison, once in the log. */
const GARBAGE = Buffer.from('0effff', 'hex');

function start(directory: string, ...words: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, 'archive', '--log-level', 'error', ...words], {
    cwd: directory,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Small repeatable random numbers, so that a printed seed tells when each kill came. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function recordsOf(where: Chat, nowMs: bigint): LogRecord[] {
  const messages: LogMessage[] = Array.from({ length: MESSAGES }, (_, at) =>
    messageAt(where, BigInt(at + 1), nowMs - 60_000n + BigInt(at), { payload: new Uint8Array(600).fill(at) }),
  );
  const events = messages.flatMap((message, at): LogRecord[] => {
    if (at % 7 === 0) return [recallOf(message, nowMs, BigInt(2000 + at))];
    return at % 7 === 1 ? [editOf(message, nowMs, BigInt(2000 + at))] : [];
  });
  return [...messages, ...events];
}

it('S-7 R3.3: killed at any point and run again, it leaves the rows of an undisturbed run', {
  timeout: 180_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`archive kill: seed ${seed}`);
  const random = randomOf(seed);
  const directory = temporaryDirectory();
  const dataDir = join(directory, 'mailjoin-data');
  const opened = await openEmbedded(dataDir, clock);
  onTestFinished(() => opened.close());
  const places = Array.from({ length: CONVERSATIONS }, chat);
  const nowMs = BigInt(Date.now());
  const records = places.map((where) => recordsOf(where, nowMs));
  await appendAll(opened.log, records.flat());
  await opened.log.append({ key: new Uint8Array(16), value: GARBAGE });

  // A file has no lease to wait for after a kill, so every start goes on at once.
  const file = join(directory, 'records');
  await copyToFile({ log: async () => opened.log, path: file, signal: unstopped() });
  const messages = records.flat().filter((record) => record.kind === 'message');
  let interrupted = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    // Killed in the moment in which some message's row is seen: each time another, further on.
    const target = messages[Math.floor(((kill + random()) / KILLS) * messages.length)];
    if (target === undefined) throw new Error('every kill has its message');
    const child = start(directory, '--from-file', file);
    const exited = once(child, 'exit');
    const where = { ...target, seq: target.record.seq };
    while (child.exitCode === null && (await opened.writes.readRecord(where)) === undefined) await delay(1);
    await delay(random() * 5);
    child.kill('SIGKILL');
    await exited;
    if (child.signalCode === 'SIGKILL') interrupted++;
  }
  // What is killed near the end may have been done with the little that was left.
  expect(interrupted).toBeGreaterThan(KILLS / 2);
  expect((await once(start(directory, '--from-file', file), 'close'))[0]).toBe(0);
  const last = start(directory, '--until-end', '--json');
  let output = '';
  last.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(last, 'close');
  expect(code).toBe(0);
  const { lag, perSecond } = JSON.parse(output);
  expect(lag ?? '0').toBe('0');
  console.log(`archive kill: the last run archived ${perSecond} records a second`);

  const undisturbed = await openEmbedded(join(directory, 'undisturbed'), clock);
  onTestFinished(() => undisturbed.close());
  await appendAll(undisturbed.log, records.flat());
  await archiverOn({ messages: undisturbed.store, writes: undisturbed.writes, clock }, undisturbed.log).run(
    unstopped(),
    await undisturbed.log.ends(),
  );
  for (const [at, { tenantId, conversationId }] of places.entries()) {
    const [got, wanted] = await Promise.all(
      [opened.writes, undisturbed.writes].map((writes) => writes.readBucket(tenantId, conversationId, 0n)),
    );
    expect(got).toHaveLength(MESSAGES);
    const still = (rows: typeof got) => plainValue(rows?.map((row) => ({ ...row, ttlSeconds: undefined })));
    expect(still(got)).toEqual(still(wanted));
    for (const record of records[at] ?? []) {
      if (record.kind !== 'message') continue;
      expect((await opened.writes.lookup(tenantId, record.record.messageId))?.seq).toBe(record.record.seq);
    }
  }
  const parking = join(directory, 'mailjoin-parked.jsonl');
  expect(existsSync(parking)).toBe(true);
  const parked = readFileSync(parking, 'utf8').trim().split('\n');
  // At least once, and repetitions have the same place: here one in the file and one in the log.
  expect(new Set(parked.map((line) => JSON.parse(line).offset)).size).toBe(2);
});
