/** .ci/run with a stand-in for npm: its last line and exit code must tell the truth, above all when something broke. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from './source-scan.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mailjoin-ci-'));
  mkdirSync(join(folder, '.ci'));
  copyFileSync(join(ROOT, '.ci', 'run'), join(folder, '.ci', 'run'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs it with an npm that answers each of its commands with a line of shell. */
function run(commands: { ci?: string; check?: string; test?: string }): {
  last: string;
  status: number | null;
} {
  const npm = join(folder, 'npm');
  const { ci = 'true', check = 'true', test = 'true' } = commands;
  writeFileSync(
    npm,
    `#!/bin/sh\ncase "$*" in\n"ci") ${ci};;\n"run check") ${check};;\n"test") ${test};;\n*) exit 99;;\nesac\n`,
  );
  chmodSync(npm, 0o755);
  const { stdout, status } = spawnSync('bash', [join(folder, '.ci', 'run')], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
  });
  return { last: stdout.trimEnd().split('\n').at(-1) ?? '', status };
}

function totals(passed: number, failed: number, skipped: number): string {
  return `echo '${JSON.stringify({ passed, failed, skipped })}' > "$MAILJOIN_TEST_TOTALS"`;
}

describe('.ci/run', () => {
  it('counts an installation that fails', () => {
    expect(run({ ci: 'exit 1' })).toEqual({ last: '0 passed, 1 failed', status: 1 });
  });

  it('counts a check that fails beside the tests', () => {
    expect(run({ check: 'exit 1', test: totals(7, 0, 0) })).toEqual({
      last: '7 passed, 1 failed',
      status: 1,
    });
  });

  it('counts tests that fail', () => {
    expect(run({ test: `${totals(7, 2, 0)}; exit 1` })).toEqual({ last: '7 passed, 2 failed', status: 1 });
  });

  it('counts a crash before there are totals', () => {
    expect(run({ test: 'kill -9 $$' })).toEqual({ last: '0 passed, 1 failed', status: 1 });
  });

  it('counts a run that ends without totals, although it says that all is well', () => {
    expect(run({ test: 'true' })).toEqual({ last: '0 passed, 1 failed', status: 1 });
  });

  it('counts a run that fails although no test did', () => {
    expect(run({ test: `${totals(7, 0, 0)}; exit 1` })).toEqual({ last: '7 passed, 1 failed', status: 1 });
  });

  it('does not end well with a skipped test', () => {
    const { last, status } = run({ test: `${totals(7, 0, 2)}; exit 1` });
    expect(last).toBe('7 passed, 1 failed, 2 skipped');
    expect(status).toBe(1);
  });

  it('ends well when all passed, with CI=true and an empty standard input', () => {
    const test = `[ "$CI" = true ] || exit 5; [ -z "$(cat)" ] || exit 6; ${totals(7, 0, 0)}`;
    expect(run({ test })).toEqual({ last: '7 passed, 0 failed', status: 0 });
  });
});
