import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSettings, type Sources, strangeVariables } from '../../src/cli/load-settings.js';
import type { SettingName } from '../../src/cli/settings.js';
import { environmentOf, flagOf, SETTING_NAMES, settingOf, settingsWith } from '../../src/cli/settings.js';
import { type Problem, SettingsError } from '../../src/cli/settings-error.js';
import { temporaryDirectory } from '../server/server-fixture.js';

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

function load(
  flags: Partial<Record<SettingName, string>> = {},
  environment: Record<string, string> = {},
  config?: unknown,
) {
  const all = new Map(Object.entries(flags) as [SettingName, string][]);
  if (config !== undefined) {
    const file = path.join(directory, 'config.json');
    fs.writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
    all.set('config', file);
  }
  return loadSettings({ flags: all, environment });
}

function problemsOf(step: () => unknown): readonly Problem[] {
  try {
    step();
  } catch (error) {
    if (error instanceof SettingsError) {
      expect(error.code).toBe('CONFIG_INVALID');
      return error.problems;
    }
    throw error;
  }
  return [];
}

const settingsOf = (problems: readonly Problem[]) => problems.map(({ setting }) => setting);

describe('settings that are refused', () => {
  it('all problems at once, each with its setting and where it came from', () => {
    const problems = problemsOf(() =>
      load(
        { cacheBytes: 'much' },
        { MAILJOIN_WORKERS: '0', MAILJOIN_SOCKET_MODE: '999' },
        { inCap: 0, sokcet: 'x' },
      ),
    );
    expect(settingsOf(problems).sort()).toEqual(
      ['cacheBytes', 'inCap', 'sokcet', 'socketMode', 'workers'].sort(),
    );
    const source = (setting: string) => problems.find((problem) => problem.setting === setting)?.source;
    expect(source('cacheBytes')).toBe('--cache-bytes');
    expect(source('workers')).toBe('MAILJOIN_WORKERS');
    expect(source('inCap')).toContain('config.json');
    expect(problems.find(({ setting }) => setting === 'sokcet')?.reason).toContain('did you mean socket');
  });

  it.each([
    ['no JSON', '{"socket":'],
    ['an array', []],
    ['null', 'null'],
  ])('a config file with %s', (_what, content) => {
    expect(settingsOf(problemsOf(() => load({}, {}, content)))).toEqual(['config']);
  });

  it('a config file that is missing, without saying more of it', () => {
    expect(problemsOf(() => load({ config: path.join(directory, 'none') }))).toMatchObject([
      { setting: 'config', reason: 'cannot be read' },
    ]);
  });

  it('a password in the config file, also when it is right otherwise', () => {
    const problems = problemsOf(() => load({}, {}, { password: 'secret' }));
    expect(settingsOf(problems)).toEqual(['password']);
    expect(JSON.stringify(problems)).not.toContain('secret');
  });

  it('objects and mixed arrays as values', () => {
    expect(
      settingsOf(problemsOf(() => load({}, {}, { socket: {}, contactPoints: ['a', 1] }))).sort(),
    ).toEqual(['contactPoints', 'socket']);
  });

  it('the store "cql" without contact points', () => {
    expect(settingsOf(problemsOf(() => load({ store: 'cql' })))).toEqual(['contactPoints']);
  });

  it('a user without password, a password without user, a password given twice', () => {
    const cql = { store: 'cql', contactPoints: 'a' } as const;
    const passwordFile = path.join(directory, 'password');
    fs.writeFileSync(passwordFile, 'secret\n');
    expect(settingsOf(problemsOf(() => load({ ...cql, username: 'u' })))).toEqual(['password']);
    expect(settingsOf(problemsOf(() => load(cql, { MAILJOIN_PASSWORD: 'p' })))).toEqual(['username']);
    expect(
      settingsOf(problemsOf(() => load({ ...cql, username: 'u', passwordFile }, { MAILJOIN_PASSWORD: 'p' }))),
    ).toEqual(['passwordFile']);
    expect(
      settingsOf(problemsOf(() => load({ ...cql, username: 'u', passwordFile: `${passwordFile}.none` }))),
    ).toEqual(['passwordFile', 'password']);
  });

  it('D11: another bucket width', () => {
    expect(settingsOf(problemsOf(() => load({ bucketWidth: '1024' })))).toEqual(['bucketWidth']);
  });
});

describe('settings that are taken', () => {
  it('flag before environment before config file before default', () => {
    const config = { logLevel: 'error', keyspace: 'from_file', inCap: 7, localDc: 'dc_file' };
    const environment = { MAILJOIN_LOG_LEVEL: 'warn', MAILJOIN_KEYSPACE: 'from_env' };
    const settings = load({ logLevel: 'debug' }, environment, config);
    expect(settings.logLevel).toBe('debug');
    expect(settings.keyspace).toBe('from_env');
    expect(settings.inCap).toBe(7);
    expect(settings.localDc).toBe('dc_file');
    expect(settings.socket).toBe(settingsWith({}).socket);
  });

  it('the config file itself may be named by the environment', () => {
    const file = path.join(directory, 'named.json');
    fs.writeFileSync(
      file,
      JSON.stringify({ socket: '/run/x.sock', contactPoints: ['a', 'b:1'], allowUnsealed: true }),
    );
    const settings = load({}, { MAILJOIN_CONFIG: file });
    expect(settings.socket).toBe('/run/x.sock');
    expect(settings.contactPoints).toEqual(['a', 'b:1']);
    expect(settings.allowUnsealed).toBe(true);
  });

  it('a password from a file, without its line end', () => {
    const passwordFile = path.join(directory, 'password');
    fs.writeFileSync(passwordFile, 'pass word\n');
    const settings = load({ store: 'cql', contactPoints: 'a', username: 'u', passwordFile });
    expect(settings.password).toBe('pass word');
  });

  it('units of sizes and modes', () => {
    expect(load({ cacheBytes: '1GiB' }).cacheBytes).toBe(1024 ** 3);
    expect(load({ cacheBytes: '65536' }).cacheBytes).toBe(65_536);
    expect(load({ socketMode: '0600' }).socketMode).toBe(0o600);
    expect(load({ socketMode: '666' }).socketMode).toBe(0o666);
  });

  it('every default is a value that its own type takes', () => {
    for (const name of SETTING_NAMES) {
      const { type, fallback } = settingOf(name);
      if (fallback === undefined) continue;
      expect([name, type.parse(type.format(fallback))]).toEqual([name, { ok: true, value: fallback }]);
    }
  });

  it('names of flags and variables follow from the setting', () => {
    expect(flagOf('dekCacheTtlMs')).toBe('dek-cache-ttl-ms');
    expect(environmentOf('dekCacheTtlMs')).toBe('MAILJOIN_DEK_CACHE_TTL_MS');
  });
});

describe('what is looked at for a command alone', () => {
  const CQL = { contactPoints: '10.0.0.1' };

  it('a kekFile is asked for by a command that uses one, with a store that has none of its own', () => {
    const problems = (command?: Sources['command']) =>
      settingsOf(
        problemsOf(() =>
          loadSettings({
            flags: new Map(Object.entries({ ...CQL, store: 'cql' }) as [SettingName, string][]),
            environment: {},
            ...(command === undefined ? {} : { command }),
          }),
        ),
      );
    expect(problems({ settings: ['store', 'contactPoints', 'kekFile'] })).toEqual(['kekFile']);
    expect(problems({ settings: ['store', 'contactPoints'] })).toEqual([]);
    expect(problems({ settings: ['store', 'kekFile'], makesKekFile: true })).toEqual([]);
    expect(problems()).toEqual([]);
  });

  it('a command of one store takes it unsaid and said, and refuses the other one wherever it was said', () => {
    const command = { settings: ['store', 'contactPoints'], needsStore: 'cql' } as const;
    const load = (flags: Record<string, string>, environment = {}) =>
      loadSettings({
        flags: new Map(Object.entries(flags) as [SettingName, string][]),
        environment,
        command,
      });
    expect(load(CQL).store).toBe('cql');
    expect(load({ ...CQL, store: 'cql' }).store).toBe('cql');
    expect(settingsOf(problemsOf(() => load({ ...CQL, store: 'embedded' })))).toEqual(['store']);
    expect(settingsOf(problemsOf(() => load(CQL, { MAILJOIN_STORE: 'embedded' })))).toEqual(['store']);
  });
});

describe('files that a command reads at its start', () => {
  const given = (content: unknown) => {
    const file = path.join(directory, 'given.json');
    fs.writeFileSync(file, JSON.stringify(content));
    return file;
  };
  const problems = (flags: Partial<Record<SettingName, string>>, settings: readonly SettingName[]) =>
    problemsOf(() =>
      loadSettings({
        // Object.entries widens the names that the type above has.
        flags: new Map(Object.entries(flags) as [SettingName, string][]),
        environment: {},
        command: { settings },
      }),
    );

  it('all that is wrong with what they hold is told together with the rest, by setting', () => {
    const file = given({ version: 1, store: 'cql', tenants: { nobody: {} } });
    const flags = { readCosts: file, retentionFile: file, workers: '0' };
    expect(problems(flags, ['readCosts', 'retentionFile', 'workers'])).toMatchObject([
      { setting: 'workers' },
      {
        setting: 'retentionFile',
        source: file,
        reason: expect.stringContaining('tenant nobody: not a uuid'),
      },
      { setting: 'readCosts', source: file, reason: 'constants must be an object' },
    ]);
  });

  it('are left alone by a command that does not read them', () => {
    const flags = { readCosts: given({}), retentionFile: path.join(directory, 'none') };
    expect(problems(flags, ['store'])).toEqual([]);
  });
});

describe('variables that look like settings', () => {
  it('are told when they are near one, and left alone when an orchestrator made them', () => {
    const lines = strangeVariables({
      MAILJOIN_SOKET: 'x',
      MAILJOIN_SERVICE_HOST: '10.0.0.1',
      MAILJOIN_SOCKET: 'y',
    });
    expect(lines).toEqual(['MAILJOIN_SOKET (did you mean MAILJOIN_SOCKET?)']);
  });
});
