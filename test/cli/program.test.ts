import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandHelp } from '../../src/cli/help.js';
import { COMMANDS, runProgram } from '../../src/cli/program.js';
import { environmentOf, flagOf, settingOf } from '../../src/cli/settings.js';
import { temporaryDirectory } from '../server/server-fixture.js';

let directory: string;
let dataDir: string;

beforeEach(() => {
  directory = temporaryDirectory();
  dataDir = path.join(directory, 'data');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

async function run(...words: string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const exitCode = await runProgram(words, {
    environment: { MAILJOIN_DATA_DIR: dataDir, MAILJOIN_LOG_LEVEL: 'error' },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
  });
  return { exitCode, out: out.join('\n'), errors: errors.join('\n') };
}

describe('what is not understood: exit code 2', () => {
  it.each([
    [[], ''],
    [['serv'], 'did you mean serve'],
    [['keys'], 'keys create SCOPE ID'],
    [['keys', 'create', 'one'], 'expected: mailjoin keys create SCOPE ID'],
    [['keys', 'destroy', 'a', 'b', 'x', '--yes'], 'VERSION'],
    [['serve', '--sockt', 'x'], 'did you mean --socket'],
    [['serve', '--store', 'redis'], 'must be one of embedded, cql'],
    [['schema', 'verify'], 'contactPoints'],
  ])('%j', async (words, message) => {
    const { exitCode, errors } = await run(...words);
    expect(exitCode).toBe(2);
    expect(errors).toContain(message);
  });
});

describe('help', () => {
  it('is there for the program, for a group and for every command', async () => {
    expect((await run('--help')).out).toContain('serve');
    expect((await run('keys', '--help')).exitCode).toBe(0);
    for (const command of COMMANDS) {
      const { exitCode, out } = await run(...command.name.split(' '), '--help');
      expect(exitCode).toBe(0);
      expect(out).toContain(`Usage: mailjoin ${command.name}`);
    }
  });

  it('names every setting of a command by flag and variable, secrets by variable only', () => {
    for (const command of COMMANDS) {
      const help = commandHelp(command);
      for (const name of command.settings) {
        expect(help).toContain(environmentOf(name));
        // A flag is followed by its placeholder, or by the gap before its variable.
        expect(help.includes(`--${flagOf(name)} `)).toBe(!settingOf(name).secret);
      }
    }
  });

  it('--version is the package version', async () => {
    const manifest = JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect((await run('--version')).out).toBe(manifest.version);
  });
});

describe('schema print', () => {
  it('prints every table, in the keyspace and with the replication asked for', async () => {
    const { exitCode, out } = await run('schema', 'print', '--keyspace', 'chat', '--replication', 'dc1:3');
    expect(exitCode).toBe(0);
    expect(out).toContain(`"chat".message_record`);
    expect(out).toContain(`'dc1': 3`);
  });

  it('refuses a keyspace that is no name', async () => {
    expect((await run('schema', 'print', '--keyspace', 'a;drop')).exitCode).toBe(2);
  });
});

describe('keys on the embedded store', () => {
  it('creates, rotates, lists and destroys; a destroyed version stays listed', async () => {
    expect((await run('keys', 'create', 'tenant-1', 'conv-1')).out).toBe('created tenant-1/conv-1/1');
    expect((await run('keys', 'rotate', 'tenant-1', 'conv-1')).out).toBe('rotated tenant-1/conv-1/2');
    expect((await run('keys', 'destroy', 'tenant-1', 'conv-1', '1', '--yes')).exitCode).toBe(0);
    const { out } = await run('keys', 'list', '--json');
    const keys = out.split('\n').map((line) => JSON.parse(line));
    expect(
      keys.map(({ version, destroyedAtEpochMs }) => [version, destroyedAtEpochMs !== undefined]),
    ).toEqual([
      [1, true],
      [2, false],
    ]);
    expect((await run('keys', 'list', 'tenant-1')).out).toContain('conv-1');
    expect(fs.statSync(path.join(dataDir, 'kek')).mode & 0o777).toBe(0o600);
  });

  it('does not destroy without --yes', async () => {
    await run('keys', 'create', 'a', 'b');
    const { exitCode, errors } = await run('keys', 'destroy', 'a', 'b', '1');
    expect(exitCode).toBe(2);
    expect(errors).toContain('--yes');
    expect((await run('keys', 'list', '--json')).out).not.toContain('destroyed');
  });

  it('a coded failure is exit code 1', async () => {
    await run('keys', 'create', 'a', 'b');
    const again = await run('keys', 'create', 'a', 'b');
    expect([again.exitCode, again.errors]).toEqual([1, expect.stringContaining('KEY_EXISTS')]);
    const unknown = await run('keys', 'destroy', 'a', 'c', '1', '--yes');
    expect([unknown.exitCode, unknown.errors]).toEqual([1, expect.stringContaining('KEY_UNKNOWN')]);
  });

  it('lists before the first run without keeping the first run from having its key', async () => {
    expect((await run('keys', 'list')).exitCode).toBe(0);
    expect((await run('keys', 'create', 'a', 'b')).exitCode).toBe(0);
  });

  it('makes no new key-encryption key for a directory that has data', async () => {
    await run('keys', 'create', 'a', 'b');
    fs.rmSync(path.join(dataDir, 'kek'));
    const { exitCode, errors } = await run('keys', 'create', 'a', 'c');
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('KEY_FILE')]);
    expect((await run('keys', 'destroy', 'a', 'b', '1', '--yes')).exitCode).toBe(0);
  });

  it('takes no key-encryption key that others may read', async () => {
    await run('keys', 'create', 'a', 'b');
    fs.chmodSync(path.join(dataDir, 'kek'), 0o644);
    expect((await run('keys', 'create', 'a', 'c')).errors).toContain('KEY_FILE');
  });
});
