/** `mailjoin calibrate` as a user runs it, on the embedded store: what is refused, what it leaves, how it is stopped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseReadCosts } from '../../src/calibrate/read-cost-file.js';
import { runProgram } from '../../src/cli/program.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { orderedByLength } from '../calibrate/calibrate-fixtures.js';
import { temporaryDirectory } from '../server/server-fixture.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

let directory: string;
let dataDir: string;
beforeEach(() => {
  directory = temporaryDirectory();
  dataDir = path.join(directory, 'data');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

const output = () => path.join(directory, 'costs.json');
const quick = () => ['--rounds', '3', '--row-bytes', '64', '--output', output()];

async function run(...words: string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const exitCode = await runProgram(['calibrate', ...words], {
    environment: { MAILJOIN_DATA_DIR: dataDir },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
  });
  return { exitCode, out: out.join('\n'), errors: errors.join('\n') };
}

async function makeStore(): Promise<void> {
  await (await openEmbedded(dataDir, clock)).close();
}

/** The names in the folder beside the store. */
function files(): string[] {
  return fs.readdirSync(directory).filter((name) => name !== 'data');
}

describe('what is refused', () => {
  it.each([
    [['--row-bytes', '0'], '--row-bytes must be at most 4 different numbers of bytes from 1 to 32768'],
    [['--row-bytes', '1,2,3,4,5'], '--row-bytes'],
    [['--row-bytes', '7,7'], '--row-bytes'],
    [['--row-bytes', '600,'], '--row-bytes'],
    [['--row-bytes', '40000'], '--row-bytes'],
    [['--rounds', '2'], '--rounds must be a whole number from 3'],
    [['--seconds', '0'], '--seconds must be a whole number from 1 to 2400'],
    [['--seed', '-1'], 'seed (--seed): needs a value'],
    [['--existing', '--row-bytes', '600'], '--existing and --row-bytes cannot be given together'],
    [['--output', 'x.svg'], '--output and --svg must be two files'],
    [['--output', 'missing/x.json'], '--output: no file can be made at missing/x.json'],
    [['--output', 'missing/'], '--output: no file can be made at missing/'],
    [['--svg', 'missing/x.svg'], '--svg: no file can be made at missing/x.svg'],
    [['--svg', '/proc/self/x.svg'], '--svg: no file can be made at /proc/self/x.svg'],
    [['--output', '.'], '--output: . is no file'],
    [['--output', ''], '--output: a file needs a name'],
    [['--svg', ''], '--svg: a file needs a name'],
  ])('%j, before anything is opened', async (words, text) => {
    const { exitCode, errors } = await run(...words);
    expect([exitCode, errors]).toEqual([2, expect.stringContaining(text)]);
    expect(fs.existsSync(dataDir)).toBe(false);
  });

  it('one file under two names, through a linked folder', async () => {
    fs.mkdirSync(path.join(directory, 'real'));
    fs.symlinkSync('real', path.join(directory, 'linked'));
    const [output, svg] = ['real', 'linked'].map((folder) => path.join(directory, folder, 'same'));
    const { exitCode, errors } = await run('--output', output ?? '', '--svg', svg ?? '');
    expect([exitCode, errors]).toEqual([2, expect.stringContaining('must be two files')]);
  });

  it('a store that is not there is not made', async () => {
    const { exitCode, errors } = await run(...quick());
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('STORE_MISSING')]);
    expect(files()).toEqual([]);
  });

  it('--existing on a store with nothing in it tells what it needs', async () => {
    await makeStore();
    const { exitCode, errors } = await run('--existing', '--output', output());
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('ROWS_TOO_FEW')]);
    expect(errors).toContain('400 rows are needed');
    expect(files()).toEqual([]);
  });
});

describe('a file by hand', () => {
  it('as the README shows one is taken by serve, which says what it plans with, and from where', async () => {
    const readme = fs.readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const [, example = ''] = /written by hand: `(\{[^`]*\})`/.exec(readme) ?? [];
    const file = JSON.parse(example);
    fs.writeFileSync(output(), JSON.stringify({ ...file, store: 'embedded' }));
    const child = spawn(
      process.execPath,
      [MAIN, 'serve', '--workers', '1', '--cache-bytes', '1MiB', '--read-costs', output(), '--in-cap', '7'],
      {
        cwd: directory,
        env: { PATH: process.env.PATH, MAILJOIN_DATA_DIR: dataDir },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let errors = '';
    const closed = once(child, 'close');
    child.stderr.on('data', (chunk) => {
      errors += chunk;
      if (errors.includes('"started"') && !child.killed) child.kill('SIGTERM');
    });
    expect(await closed).toEqual([0, null]);
    const [started = expect.fail('it started')] = errors
      .split('\n')
      .filter((line) => line.includes('"started"'));
    expect(JSON.parse(started)).toMatchObject({ ...file.constants, inCap: 7, readCosts: output() });
  });
});

describe('a run', () => {
  it('prints tables, and writes constants and a picture that the next one replaces', async () => {
    await makeStore();
    const { exitCode, out, errors } = await run(...quick(), '--seed', '7');
    expect(exitCode).toBe(0);
    expect(files().sort()).toEqual(['costs.json', 'costs.svg']);
    expect(out).toContain('rows of 64 B: µs of one read');
    expect(out).toMatch(/^n +range +covering 1\/2 +1\/4 +1\/8 +1\/16 +IN 1\/1 +1\/4 +1\/16$/m);
    expect(out).toMatch(/^200 {2,}[\d.,]+ \([\d.,]+\) /m);
    expect(out).toMatch(/^64 B +[\d.,]+ µs +[\d.,]+ µs +[\d.,]+ µs +/m);
    expect(out).toMatch(/^\d+ +400 +\d+ +[\d.,]+ µs +[\d.,]+ µs +chosen$/m);
    expect(out).toMatch(
      /^a further statement sent together with others costs [\d.,]+ µs; alone it takes [\d.,]+ µs$/m,
    );
    expect(out).toMatch(/^\d+ reads in 3 rounds, \d+ failed$/m);
    expect(errors).toMatch(/writing rows: 4096 of 4096\nmeasuring \d+ kinds of reads in 1 buckets, seed 7\n/);
    expect(errors).toContain('round 3 of 3, done');
    const file = JSON.parse(fs.readFileSync(output(), 'utf8'));
    expect(file).toMatchObject({
      version: 1,
      store: 'embedded',
      how: { rows: 'written', seed: 7, roundsDone: 3 },
    });
    expect(parseReadCosts(file)).toEqual({ costs: { store: 'embedded', constants: file.constants } });
    expect(orderedByLength(file)).toBe(true);
    expect(fs.readFileSync(path.join(directory, 'costs.svg'), 'utf8')).toContain('rows of 64 B');

    const again = await run(...quick(), '--json', '--svg', path.join(directory, 'picture.svg'));
    const printed = JSON.parse(again.out);
    expect(JSON.parse(fs.readFileSync(output(), 'utf8'))).toEqual(printed);
    expect(printed.how.seed).not.toBe(7);
    expect(files().sort()).toEqual(['costs.json', 'costs.svg', 'picture.svg']);
  });

  it('SIGINT ends it with 1 while it measures; neither file is written, and nothing hangs', async () => {
    await makeStore();
    const child = spawn(
      process.execPath,
      [MAIN, 'calibrate', '--rounds', '10000', '--row-bytes', '64', '--output', output()],
      { env: { PATH: process.env.PATH, MAILJOIN_DATA_DIR: dataDir }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let errors = '';
    const closed = once(child, 'close');
    child.stderr.on('data', (chunk) => {
      errors += chunk;
      if (errors.includes('measuring') && !child.killed) child.kill('SIGINT');
    });
    expect(await closed).toEqual([1, null]);
    expect(errors).toContain('stopped: no file was written');
    expect(files()).toEqual([]);
  });
});
