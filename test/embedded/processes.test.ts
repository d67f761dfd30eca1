/** Several processes on one directory, and one that is killed. Needs the built files (npm run build). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { conversation, readRange, readSummary, summary, tenant } from '../stores/fixtures.js';
import { openFor, SetClock, temporaryDirectory } from './embedded-fixtures.js';

const SCRIPT = fileURLToPath(new URL('./writer-process.mjs', import.meta.url));
const where = {
  tenantId: tenant(new Uint8Array(16)),
  conversationId: conversation(new Uint8Array(16)),
  seq: 1n,
};

function start(directory: string, role: string, name: string): ChildProcess {
  const child = spawn(process.execPath, [SCRIPT, directory, role, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function linesOf(
  child: ChildProcess,
  enough: (lines: readonly string[]) => boolean,
): Promise<string[]> {
  if (child.stdout === null) throw new Error('the child has no output');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (enough(lines)) child.kill('SIGKILL');
  }
  return lines;
}

const WINDOWS_TOLD = 150;

describe('several processes', { timeout: 120_000 }, () => {
  it('merge into one row without losing a write, and insert a key once', async () => {
    const directory = temporaryDirectory();
    const { store, keys } = await openFor(directory, new SetClock());
    const names = ['p1', 'p2', 'p3'];
    const won = await Promise.all(names.map((name) => linesOf(start(directory, 'merge', name), () => false)));
    const counts = (await readSummary(store, where))?.counts ?? [];
    expect(new Map(counts)).toEqual(
      new Map(
        names.flatMap((name) => Array.from({ length: 50 }, (_, i) => [`${name}-${i}`, i + 1] as const)),
      ),
    );
    const winners = won.flatMap(([line]) => (line ? line.split(' ').map(Number) : []));
    expect(winners.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    for (const [which, [line]] of won.entries()) {
      for (const id of line ? line.split(' ') : []) {
        const [stored] = await keys.fetch([{ scope: 'race', id, version: 1 }]);
        expect(Buffer.from(stored?.wrapped ?? []).toString()).toBe(names[which]);
      }
    }
  });

  it('B10 are never given a sequence number twice, though all of them are killed', async () => {
    const directory = temporaryDirectory();
    const { writes } = await openFor(directory, new SetClock());
    // Killed one after another in the midst of their reservations, once they have told enough together.
    const children = ['p1', 'p2', 'p3'].map((name) => start(directory, 'windows', name));
    let lines = 0;
    const kill = (): boolean => {
      if (++lines >= WINDOWS_TOLD) for (const child of children) child.kill('SIGKILL');
      return false;
    };
    const told = await Promise.all(children.map((child) => linesOf(child, kill)));
    console.log(`windows told by each process: ${told.map(({ length }) => length).join(', ')}`);
    const last = await writes.reserveWindow(where.tenantId, where.conversationId, 5, 1n);
    const seqs = [...told.flat(), `${last.first} ${last.count}`].flatMap((line) => {
      const [first = '', count = ''] = line.split(' ');
      return Array.from({ length: Number(count) }, (_, at) => BigInt(first) + BigInt(at));
    });
    expect(seqs.length).toBeGreaterThanOrEqual(WINDOWS_TOLD * 5);
    expect(new Set(seqs).size).toBe(seqs.length);
    expect(seqs.slice(0, -last.count).every((seq) => seq < last.first)).toBe(true);
  });

  it('a killed writer loses nothing that it was told is written, and leaves the store usable', async () => {
    const directory = temporaryDirectory();
    const child = start(directory, 'endless', 'p');
    const exited = once(child, 'exit');
    const told = await linesOf(child, (lines) => lines.length >= 100);
    await exited;
    expect(child.signalCode).toBe('SIGKILL');
    const { store } = await openFor(directory, new SetClock());
    const { summaries } = await readRange(store, { ...where, seq: 0n }, 4095n);
    const written = new Set(summaries.map((row) => row.seq));
    expect(told.length).toBeGreaterThanOrEqual(100);
    for (const seq of told) expect(written.has(BigInt(seq))).toBe(true);
    await store.putSummary(where, summary(1n, 9n, [['b', 2]]));
    expect((await readSummary(store, where))?.version).toBe(9n);
  });

  it('a store that is open sees what another process writes', async () => {
    const directory = temporaryDirectory();
    const { store } = await openFor(directory, new SetClock());
    expect(await readSummary(store, where)).toBeUndefined();
    await linesOf(start(directory, 'endless', 'p'), (lines) => lines.length >= 2);
    expect((await readSummary(store, where))?.counts).toEqual([['a', 1]]);
  });
});
