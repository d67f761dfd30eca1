// Settings of TLS and SASL: what does not go together, files that cannot be used, and secrets that nothing shows.
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BROKER_SETTINGS, CQL_SETTINGS } from '../../src/cli/command.js';
import { loadSettings } from '../../src/cli/load-settings.js';
import { COMMANDS, runProgram } from '../../src/cli/program.js';
import { type SettingName, settingsWith } from '../../src/cli/settings.js';
import { SettingsError } from '../../src/cli/settings-error.js';
import { cqlConnectOptions } from '../../src/cli/stores.js';
import { brokersReached, storeTls } from '../../src/cli/tls-settings.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { issue, makeAuthority } from '../services/certificates.js';

const directory = temporaryDirectory();
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

function file(name: string, content: string): string {
  const target = path.join(directory, name);
  fs.writeFileSync(target, content);
  return target;
}

const authority = makeAuthority('an authority');
const client = issue(authority, 'client', []);
const ca = file('ca.pem', authority.cert);
const cert = file('client.pem', client.cert);
const key = file('client.key', client.key);
const otherKey = file('other.key', authority.key);
const junk = file('junk.pem', 'a secret of somebody else');
const passwordFile = file('password', 'of the brokers\n');

type Given = Partial<Record<SettingName, string>>;

function load(given: Given, environment: Record<string, string> = {}) {
  // Object.entries widens the names that the type above has.
  const flags = new Map(Object.entries(given) as [SettingName, string][]);
  return loadSettings({ flags, environment });
}

function refused(given: Given): string[] {
  try {
    load(given);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ setting }) => setting);
    throw error;
  }
  return [];
}

const CQL: Given = { store: 'cql', contactPoints: 'a' };
const TLS: Given = { ...CQL, tls: 'true' };
const KAFKA: Given = { brokers: 'a:1' };
const KAFKA_TLS: Given = { ...KAFKA, brokersTls: 'true' };
const USER: Given = { brokersUsername: 'u', brokersPasswordFile: passwordFile };

describe('settings of TLS and SASL that are refused', () => {
  it.each<[string, Given, SettingName[]]>([
    [
      'files without tls',
      { ...CQL, tlsCaFile: ca, tlsCertFile: cert, tlsKeyFile: key },
      ['tlsCaFile', 'tlsCertFile', 'tlsKeyFile'],
    ],
    ['a name without tls', { ...CQL, tlsServerName: 'a' }, ['tlsServerName']],
    ['no verification without tls', { ...CQL, tlsVerifyHost: 'false' }, ['tlsVerifyHost']],
    [
      'a name that is not verified',
      { ...TLS, tlsCaFile: ca, tlsServerName: 'a', tlsVerifyHost: 'false' },
      ['tlsVerifyHost'],
    ],
    ['no verification of names that anybody can have', { ...TLS, tlsVerifyHost: 'false' }, ['tlsVerifyHost']],
    ['a certificate without its key', { ...TLS, tlsCertFile: cert }, ['tlsKeyFile']],
    ['a key without its certificate', { ...TLS, tlsKeyFile: key }, ['tlsCertFile']],
    ['the key of another certificate', { ...TLS, tlsCertFile: cert, tlsKeyFile: otherKey }, ['tlsKeyFile']],
    [
      'every file that cannot be used',
      { ...TLS, tlsCaFile: junk, tlsCertFile: path.join(directory, 'none'), tlsKeyFile: ca },
      ['tlsCaFile', 'tlsCertFile', 'tlsKeyFile'],
    ],
    ['files without brokersTls', { ...KAFKA, brokersCaFile: ca }, ['brokersCaFile']],
    [
      'files of brokers that cannot be used',
      { ...KAFKA_TLS, brokersCaFile: junk, brokersKeyFile: junk },
      ['brokersCertFile', 'brokersCaFile', 'brokersKeyFile'],
    ],
    ['TLS without brokers', { brokersTls: 'true' }, ['brokersTls']],
    ['SASL without brokers', { ...USER, brokersSasl: 'scram-sha-256' }, ['brokersSasl']],
    ['a password that would be sent readable', { ...KAFKA, ...USER, brokersSasl: 'plain' }, ['brokersSasl']],
    [
      'SASL without a user',
      { ...KAFKA, brokersSasl: 'scram-sha-256' },
      ['brokersUsername', 'brokersPassword'],
    ],
    ['a user without SASL', { ...KAFKA, ...USER }, ['brokersSasl']],
    [
      'a password file that is not there',
      { ...KAFKA, brokersPasswordFile: path.join(directory, 'none') },
      ['brokersPasswordFile'],
    ],
    ['another mechanism', { ...KAFKA, brokersSasl: 'gssapi' }, ['brokersSasl']],
  ])('%s', (_, given, settings) => {
    expect(refused(given)).toEqual(settings);
  });

  it('a secret in a config file, with the setting that a file is for', () => {
    const config = file('config.json', JSON.stringify({ brokersPassword: 'x' }));
    expect(() => load({ config })).toThrow('use brokersPasswordFile');
  });

  it('TLS to a Cassandra that the demo would start itself', async () => {
    const errors: string[] = [];
    const exitCode = await runProgram(['demo', '--store', 'cql', '--tls'], {
      environment: {},
      print: () => {},
      printError: (line) => errors.push(line),
    });
    expect([exitCode, errors.join('\n')]).toEqual([2, expect.stringContaining('contactPoints')]);
  });

  it('nothing of a file that is wrong', () => {
    expect(() => load({ ...TLS, tlsCaFile: junk })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('somebody') }),
    );
  });

  it('files that were exchanged after the start was checked, when they are used', () => {
    const settings = settingsWith({ tls: true, tlsCaFile: junk, brokersTls: true, brokersKeyFile: key });
    expect(() => cqlConnectOptions(settings)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('tlsCaFile') }),
    );
    expect(() => brokersReached(settings)).toThrow('brokersCertFile');
  });
});

describe('settings of TLS and SASL that hold', () => {
  it('nothing is TLS unless it is turned on', () => {
    expect(storeTls(load(CQL))).toBeUndefined();
    expect(brokersReached(load(KAFKA))).toEqual({ brokers: ['a:1'], tls: undefined, sasl: undefined });
  });

  it('the store’s, with the hosts verified unless told otherwise', () => {
    const files = { tlsCaFile: ca, tlsCertFile: cert, tlsKeyFile: key };
    const verified = { serverName: undefined, verifiesHost: true };
    expect(storeTls(load({ ...TLS, ...files }))).toEqual({ ca: authority.cert, client, ...verified });
    expect(storeTls(load(TLS))).toEqual({ ca: undefined, client: undefined, ...verified });
    const unverified = { ...TLS, tlsCaFile: ca, tlsVerifyHost: 'false' };
    expect(storeTls(load(unverified))).toMatchObject({ verifiesHost: false });
    expect(storeTls(load({ ...TLS, tlsServerName: 'a' }))).toMatchObject({ serverName: 'a' });
  });

  it('the brokers’, with a password from its file or from the environment', () => {
    const sasl = { mechanism: 'plain', username: 'u', password: 'of the brokers' };
    expect(brokersReached(load({ ...KAFKA_TLS, ...USER, brokersSasl: 'plain' }))).toMatchObject({ sasl });
    const given = { ...KAFKA, brokersSasl: 'scram-sha-512', brokersUsername: 'u' };
    expect(brokersReached(load(given, { MAILJOIN_BROKERS_PASSWORD: 'x' }))).toMatchObject({
      tls: undefined,
      sasl: { mechanism: 'scram-sha-512', username: 'u', password: 'x' },
    });
  });

  it('are taken by every command that connects', () => {
    const [ofStore, ofBrokers] = [
      COMMANDS.filter(({ settings }) => settings.includes('contactPoints')),
      COMMANDS.filter(({ settings }) => settings.includes('brokers')),
    ];
    expect([ofStore.length > 10, ofBrokers.length > 5]).toEqual([true, true]);
    for (const { name, settings } of ofStore) {
      // The demo makes a keyspace of its own.
      const taken = CQL_SETTINGS.filter((setting) => name !== 'demo' || setting !== 'keyspace');
      expect(settings, name).toEqual(expect.arrayContaining(taken));
    }
    for (const { settings } of ofBrokers)
      expect(settings).toEqual(expect.arrayContaining([...BROKER_SETTINGS]));
  });

  it('are left alone by commands that do not connect', async () => {
    const exitCode = await runProgram(['schema', 'print'], {
      environment: { MAILJOIN_TLS: 'true', MAILJOIN_TLS_CA_FILE: junk, MAILJOIN_BROKERS_TLS: 'true' },
      print: () => {},
      printError: () => {},
    });
    expect(exitCode).toBe(0);
  });
});
