/**
 * Settings from their sources: flag, else environment, else config file, else default. Everything is looked at before
 * anything is refused, so that one start tells all that is wrong, each with its setting and where it came from.
 */
import { kekFileProblem } from '../crypto/kek-file.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import { dataDirectoryProblem } from '../embedded/data-directory.js';
import type { Command } from './command.js';
import { readCostsProblem } from './load-read-costs.js';
import { retentionProblem } from './load-retention.js';
import { logKindOf } from './open-log.js';
import {
  environmentOf,
  flagOf,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  settingOf,
} from './settings.js';
import { type Problem, SettingsError } from './settings-error.js';
import { readSettingsFile, readSettingsJson } from './settings-file.js';
import { didYouMean } from './suggestion.js';
import { checkTlsAndSasl } from './tls-settings.js';

export interface Sources {
  /** Values given as flags, by setting. */
  readonly flags: ReadonlyMap<SettingName, string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What is looked at for its sake alone: the files that it needs, and what it does not need. */
  readonly command?: Pick<
    Command,
    'settings' | 'mayStartCluster' | 'needsStore' | 'makesKekFile' | 'opensOnRequest'
  >;
}

/** A text and where it came from. */
interface Given {
  readonly text: string;
  readonly source: string;
}

/** The settings, or CONFIG_INVALID (SettingsError) with every problem. */
export function loadSettings(sources: Sources, flagProblems: readonly Problem[] = []): Settings {
  const problems: Problem[] = [...flagProblems];
  const configGiven = givenOutside('config', sources);
  const file = configGiven === undefined ? new Map<SettingName, Given>() : readConfig(configGiven, problems);
  const values: Record<string, unknown> = {};
  const givenNames = new Set<SettingName>();
  for (const name of SETTING_NAMES) {
    const setting = settingOf(name);
    values[name] = setting.fallback;
    const given = givenOutside(name, sources) ?? file.get(name);
    if (given === undefined) continue;
    givenNames.add(name);
    const parsed = setting.type.parse(given.text);
    if (parsed.ok) values[name] = parsed.value;
    else problems.push({ setting: name, source: given.source, reason: parsed.reason });
  }
  const { needsStore } = sources.command ?? {};
  if (needsStore !== undefined && !givenNames.has('store')) values.store = needsStore;
  // Each value was parsed by its own setting's type, or is that setting's default.
  const settings = values as unknown as Settings;
  const complete = withPassword(
    withPassword(settings, 'password', 'passwordFile', problems),
    'brokersPassword',
    'brokersPasswordFile',
    problems,
  );
  checkTogether(complete, givenNames, sources.command, problems);
  if (sources.command !== undefined) checkPlaces(complete, givenNames, sources.command, problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return complete;
}

/** Environment variables that look like settings and are none, each with a line for the log. */
export function strangeVariables(environment: Sources['environment']): readonly string[] {
  const prefix = 'MAILJOIN_';
  // What all have in common makes none of them near.
  const known = new Set(SETTING_NAMES.map((name) => environmentOf(name).slice(prefix.length)));
  // Orchestrators add variables of their own (MAILJOIN_SERVICE_HOST), so these only warn, and only near a real name.
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((name) => !known.has(name))
    .map((name) => `${prefix}${name}${didYouMean(name, [...known], prefix)}`)
    .filter((line) => line.includes('did you mean'));
}

function givenOutside(name: SettingName, sources: Sources): Given | undefined {
  const flag = sources.flags.get(name);
  if (flag !== undefined) return { text: flag, source: `--${flagOf(name)}` };
  const variable = environmentOf(name);
  const text = sources.environment[variable];
  return text === undefined ? undefined : { text, source: variable };
}

function readConfig(given: Given, problems: Problem[]): Map<SettingName, Given> {
  const values = new Map<SettingName, Given>();
  const refuse = (setting: string, reason: string) => {
    problems.push({ setting, source: given.text, reason });
  };
  const file = readSettingsJson(given.text);
  if ('problem' in file) {
    refuse('config', file.problem);
    return values;
  }
  const { content } = file;
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    refuse('config', 'must hold one JSON object');
    return values;
  }
  for (const [key, value] of Object.entries(content)) {
    const name = SETTING_NAMES.find((known) => known === key);
    if (name === undefined) {
      refuse(key, `no such setting${didYouMean(key, SETTING_NAMES)}`);
    } else if (name === 'config' || settingOf(name).secret) {
      refuse(key, `cannot be set in a config file${settingOf(name).secret ? `; use ${name}File` : ''}`);
    } else {
      const text = textOf(value, settingOf(name).type.isList);
      if (text === undefined) refuse(key, 'must be a text, a number or true/false');
      else values.set(name, { text, source: given.text });
    }
  }
  return values;
}

function textOf(value: unknown, isList: boolean): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (isList && Array.isArray(value) && value.every((item) => typeof item === 'string'))
    return value.join(',');
  return undefined;
}

/** Fills a password in from its file. */
function withPassword(
  settings: Settings,
  password: 'password' | 'brokersPassword',
  passwordFile: 'passwordFile' | 'brokersPasswordFile',
  problems: Problem[],
): Settings {
  const source = settings[passwordFile];
  if (source === undefined) return settings;
  if (settings[password] !== undefined) {
    problems.push({ setting: passwordFile, source, reason: `${password} is given as well` });
    return settings;
  }
  const file = readSettingsFile(source);
  if ('text' in file) return { ...settings, [password]: file.text.replace(/\r?\n$/, '') };
  problems.push({ setting: passwordFile, source, reason: file.problem });
  return settings;
}

/** What only the settings together tell. */
function checkTogether(
  settings: Settings,
  given: ReadonlySet<SettingName>,
  command: Sources['command'],
  problems: Problem[],
): void {
  const missing = (setting: SettingName, reason: string) => {
    // A value that was given and refused is not missing as well.
    if (!given.has(setting)) problems.push({ setting, source: 'not given', reason });
  };
  if (command?.needsStore !== undefined && settings.store !== command.needsStore) {
    const reason = `this command works on the store "${command.needsStore}" only`;
    problems.push({ setting: 'store', source: settings.store, reason });
  }
  if (settings.store === 'cql') {
    const reachesCluster = command?.settings.includes('contactPoints') ?? true;
    if (settings.contactPoints === undefined && reachesCluster && command?.mayStartCluster !== true)
      missing('contactPoints', 'the store "cql" needs at least one');
    if (settings.username !== undefined && settings.password === undefined) {
      missing('password', `a username needs ${environmentOf('password')} or --${flagOf('passwordFile')}`);
    }
    if (settings.username === undefined && settings.password !== undefined) {
      missing('username', 'a password needs its user');
    }
  }
  checkLog(settings, missing, problems);
  checkTlsAndSasl(settings, logKindOf(settings), command, problems);
  if (settings.bucketWidth !== BUCKET_WIDTH) {
    problems.push({
      setting: 'bucketWidth',
      source: String(settings.bucketWidth),
      reason: `this build works with ${BUCKET_WIDTH} only; it is never changed after the tables exist (D11)`,
    });
  }
}

/** The places that a command is going to use: what is wrong with them is told with the rest. */
function checkPlaces(
  { store, kekFile, dataDir, retentionFile, readCosts }: Settings,
  given: ReadonlySet<SettingName>,
  { settings: used, makesKekFile, opensOnRequest }: NonNullable<Sources['command']>,
  problems: Problem[],
): void {
  const refuse = (setting: SettingName, source: string, reason: string) => {
    problems.push({ setting, source, reason });
  };
  if (used.includes('kekFile') && makesKekFile !== true) {
    const reason = kekFile === undefined ? undefined : kekFileProblem(kekFile);
    if (kekFile !== undefined && reason !== undefined) refuse('kekFile', kekFile, reason);
    const isMissing = kekFile === undefined && store === 'cql' && !given.has('kekFile');
    if (isMissing && opensOnRequest !== true) {
      refuse('kekFile', 'not given', 'the store "cql" needs one; mailjoin keys init makes it');
    }
  }
  if (used.includes('dataDir') && store === 'embedded') {
    const reason = dataDirectoryProblem(dataDir);
    if (reason !== undefined) refuse('dataDir', dataDir, reason);
  }
  if (used.includes('retentionFile') && retentionFile !== undefined) {
    const reason = retentionProblem(retentionFile);
    if (reason !== undefined) refuse('retentionFile', retentionFile, reason);
  }
  if (used.includes('readCosts') && readCosts !== undefined) {
    const reason = readCostsProblem(readCosts, store);
    if (reason !== undefined) refuse('readCosts', readCosts, reason);
  }
}

/** The log: what it needs, and what needs it. */
function checkLog(
  settings: Settings,
  missing: (setting: SettingName, reason: string) => void,
  problems: Problem[],
): void {
  const kind = logKindOf(settings);
  const refuse = (setting: SettingName, source: string, reason: string) => {
    problems.push({ setting, source, reason });
  };
  if (kind === 'kafka' && settings.brokers === undefined) {
    missing('brokers', 'the log "kafka" needs at least one');
  }
  if (kind !== 'kafka' && settings.brokers !== undefined) {
    refuse('brokers', settings.brokers.join(','), `the log is "${kind}"; brokers go with "kafka"`);
  }
  if (kind === 'embedded' && settings.store !== 'embedded') {
    refuse('log', kind, 'lies in the embedded store; with the store "cql" it is "kafka" or "none"');
  }
  if (kind === 'none' && settings.warm) {
    refuse('warm', String(settings.warm), 'needs a log to follow');
  }
}
