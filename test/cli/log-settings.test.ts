// The settings of the log: which one is followed, and what does not go together.
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/cli/load-settings.js';
import { logKindOf } from '../../src/cli/open-log.js';
import type { SettingName } from '../../src/cli/settings.js';
import { SettingsError } from '../../src/cli/settings-error.js';

type Given = Partial<Record<SettingName, string>>;

function load(given: Given) {
  // Object.entries widens the names that the type above has.
  const flags = new Map(Object.entries(given) as [SettingName, string][]);
  return loadSettings({ flags, environment: {} });
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

describe('settings of the log that are refused', () => {
  it.each<[string, Given, SettingName]>([
    ['kafka without brokers', { log: 'kafka' }, 'brokers'],
    ['brokers with the embedded log', { log: 'embedded', brokers: 'a:1' }, 'brokers'],
    ['brokers with no log', { log: 'none', brokers: 'a:1' }, 'brokers'],
    ['the embedded log with the store cql', { ...CQL, log: 'embedded' }, 'log'],
    ['warming without a log', { ...CQL, warm: 'true' }, 'warm'],
    ['warming with the log set to none', { log: 'none', warm: 'true' }, 'warm'],
    ['a bound of nothing', { followLagMaxMs: '0' }, 'followLagMaxMs'],
    ['a log of another kind', { log: 'pulsar' }, 'log'],
  ])('%s', (_, given, setting) => {
    expect(refused(given)).toEqual([setting]);
  });
});

describe('the log that is followed', () => {
  it.each<[string, Given, string]>([
    ['the embedded one with the embedded store', {}, 'embedded'],
    ['none with the store cql', CQL, 'none'],
    ['kafka where brokers are given', { ...CQL, brokers: 'a:9092,b:9092' }, 'kafka'],
    ['kafka also beside the embedded store', { brokers: 'a:9092' }, 'kafka'],
    ['none where it is turned off', { log: 'none' }, 'none'],
  ])('is %s', (_, given, kind) => {
    expect(logKindOf(load(given))).toBe(kind);
  });
});
