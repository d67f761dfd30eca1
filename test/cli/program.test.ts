import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandHelp } from '../../src/cli/help.js';
import { COMMANDS } from '../../src/cli/program.js';
import { environmentOf, flagOf, settingOf } from '../../src/cli/settings.js';
import { systemClock } from '../../src/cli/system-clock.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { runQuietly } from './run-quietly.js';

let directory: string;
let dataDir: string;

beforeEach(() => {
  directory = temporaryDirectory();
  dataDir = path.join(directory, 'data');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

const run = (...words: string[]) => runQuietly(dataDir, words);

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
    [
      ['schema', 'apply', '--store', 'embedded'],
      'store (embedded): this command works on the store "cql" only',
    ],
    [['keys', 'init'], '--kek-file'],
    [['demo', '--keyspace', 'chat'], 'is not used by this command'],
    [['keys', 'create', '', 'b'], 'expected: mailjoin keys create SCOPE ID'],
    [['keys', 'list', ''], 'expected: mailjoin keys list'],
    [['keys', 'destroy', 'a', 'b', '0', '--yes'], 'from 1 to 2147483647'],
    [['keys', 'destroy', 'a', 'b', '2147483648', '--yes'], 'from 1 to 2147483647'],
    [['keys', 'destroy', 'a', 'b', '4000000000', '--yes'], 'from 1 to 2147483647'],
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

  it.each([
    [['keys', 'list']],
    [['keys', 'rotate', 'a', 'b']],
    [['keys', 'destroy', 'a', 'b', '1', '--yes']],
    [['capacity']],
    [['advance']],
  ])('%j where no store is → STORE_MISSING, and neither a store nor a key is made', async (words) => {
    const { exitCode, errors } = await run(...words);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('STORE_MISSING')]);
    expect(errors).toContain(dataDir);
    expect(fs.existsSync(dataDir)).toBe(false);
  });

  it('a first run takes a directory that holds other things: a fresh volume has its lost+found', async () => {
    fs.mkdirSync(path.join(dataDir, 'lost+found'), { recursive: true });
    expect((await run('keys', 'create', 'a', 'b')).out).toBe('created a/b/1');
  });

  it('a first run goes on where one ended that had made its key and no store yet', async () => {
    fs.mkdirSync(dataDir);
    await run('keys', 'init', '--kek-file', path.join(dataDir, 'kek'));
    const key = fs.readFileSync(path.join(dataDir, 'kek'));
    expect((await run('keys', 'create', 'a', 'b')).exitCode).toBe(0);
    expect(fs.readFileSync(path.join(dataDir, 'kek')).equals(key)).toBe(true);
  });

  it('refuses names that would deceive a reader, and shows those that are there as code points', async () => {
    await run('keys', 'create', 'a', 'b');
    const made = await run('keys', 'create', 'a\u001b[2J', 'b');
    expect([made.exitCode, made.errors]).toEqual([1, expect.stringContaining('CONFIG_INVALID')]);
    const opened = await openEmbedded(dataDir, systemClock);
    await opened.keys.insert({
      dekId: { scope: 'x\ny', id: '\u001b[2J\u202e', version: 1 },
      wrapped: new Uint8Array(60),
      createdAtEpochMs: 0,
      destroyedAtEpochMs: undefined,
    });
    await opened.close();
    const { out } = await run('keys', 'list');
    expect(out).toMatch(/^x\\u\{a\}y {2}\\u\{1b\}\[2J\\u\{202e\} {2}1 /m);
    const destroyed = await run('keys', 'destroy', 'x\ny', '\u001b[2J\u202e', '1', '--yes');
    expect(destroyed.out).toBe('destroyed x\\u{a}y/\\u{1b}[2J\\u{202e}/1');
    const unknown = await run('keys', 'destroy', 'q\u001b', 'b', '1', '--yes');
    expect(unknown.errors).toContain('KEY_UNKNOWN');
    expect(unknown.errors).not.toContain('\u001b');
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

describe('keys init', () => {
  it('makes a key-encryption key of mode 0600 that keys can be made with', async () => {
    const kekFile = path.join(directory, 'kek');
    expect((await run('keys', 'init', '--kek-file', kekFile)).exitCode).toBe(0);
    expect(fs.statSync(kekFile).mode & 0o777).toBe(0o600);
    expect((await run('keys', 'create', 'a', 'b', '--kek-file', kekFile)).exitCode).toBe(0);
    expect(fs.existsSync(path.join(dataDir, 'kek'))).toBe(false);
  });

  it('leaves a file that is there as it is', async () => {
    const kekFile = path.join(directory, 'kek');
    fs.writeFileSync(kekFile, 'precious');
    const { exitCode, errors } = await run('keys', 'init', '--kek-file', kekFile);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('KEY_EXISTS')]);
    expect(fs.readFileSync(kekFile, 'utf8')).toBe('precious');
  });

  it('in a directory that is missing → KEY_FILE, with the reason', async () => {
    const { exitCode, errors } = await run('keys', 'init', '--kek-file', path.join(directory, 'none', 'kek'));
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/KEY_FILE.*ENOENT/)]);
  });
});

describe('places that cannot be used are told with the rest, and nothing is made', () => {
  it('kekFile: missing, or not that of a key, or readable by others', async () => {
    const open = path.join(directory, 'open');
    fs.writeFileSync(open, 'a'.repeat(64), { mode: 0o644 });
    const other = path.join(directory, 'other');
    fs.writeFileSync(other, 'other', { mode: 0o600 });
    for (const [file, reason] of [
      [path.join(directory, 'none'), 'does not exist'],
      [directory, 'no regular file'],
      [open, 'mode 0644'],
      [other, 'does not hold 32 bytes'],
    ] as const) {
      const { exitCode, errors } = await run(
        'keys',
        'create',
        'a',
        'b',
        '--kek-file',
        file,
        '--store',
        'redis',
      );
      expect(exitCode).toBe(2);
      expect(errors).toContain(
        `kekFile (${file}): ${reason === 'no regular file' ? 'is no regular file' : ''}`,
      );
      expect(errors).toContain(reason);
      expect(errors).toContain('must be one of embedded, cql');
    }
  });

  it('a store on a cluster needs a kekFile, and the message says how it is made', async () => {
    const { exitCode, errors } = await run('serve', '--store', 'cql');
    expect(exitCode).toBe(2);
    expect(errors).toContain('contactPoints');
    expect(errors).toMatch(/kekFile.*keys init/);
  });

  it('dataDir: a file, or below one', async () => {
    const file = path.join(directory, 'file');
    fs.writeFileSync(file, 'precious');
    for (const place of [file, path.join(file, 'below', 'it')]) {
      for (const words of [['serve'], ['keys', 'create', 'a', 'b'], ['keys', 'list']]) {
        const { exitCode, errors } = await run(...words, '--data-dir', place);
        expect([exitCode, errors]).toEqual([2, expect.stringContaining(`dataDir (${place})`)]);
      }
    }
    expect(fs.readFileSync(file, 'utf8')).toBe('precious');
  });

  it.skipIf(!fs.existsSync('/proc/self'))('dataDir: where no directory can be made', async () => {
    const { exitCode, errors } = await run('keys', 'create', 'a', 'b', '--data-dir', '/proc/mailjoin/data');
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringMatching(/CONFIG_INVALID.*dataDir \(\/proc\/mailjoin/),
    ]);
  });
});

describe('what the system refuses', () => {
  it('is one line with its code and path, without a stack', async () => {
    const file = path.join(directory, 'file');
    fs.writeFileSync(file, '');
    const { exitCode, errors } = await run('archive', '--from-file', path.join(file, 'records'));
    expect(exitCode).toBe(1);
    expect(errors).not.toContain('    at ');
  });
});
