/**
 * How settings say that cluster and brokers are spoken to: in TLS or not, with whose certificates, as which user. What
 * does not go together is told at a start with the rest, every file that is wrong by its setting; nothing of a file's
 * content is ever told. Files are read once, when a connection is opened.
 */
import { MailjoinError } from '../domain/errors.js';
import type { KafkaConnectOptions } from '../kafka/kafka-client.js';
import { certificatesProblem, isKeyOf, privateKeyProblem } from '../tls/pem-files.js';
import type { TlsOptions } from '../tls/tls-options.js';
import type { Command } from './command.js';
import type { LogKind } from './open-log.js';
import { environmentOf, flagOf, type SettingName, type Settings } from './settings.js';
import type { Problem } from './settings-error.js';
import { readSettingsFile } from './settings-file.js';

const STORE_FILES = { ca: 'tlsCaFile', cert: 'tlsCertFile', key: 'tlsKeyFile' } as const;
const BROKER_FILES = { ca: 'brokersCaFile', cert: 'brokersCertFile', key: 'brokersKeyFile' } as const;
type FileNames = typeof STORE_FILES | typeof BROKER_FILES;

/** TLS to the cluster, or undefined for plain text. CONFIG_INVALID for files that cannot be used. */
export function storeTls(settings: Settings): TlsOptions | undefined {
  if (!settings.tls) return undefined;
  const { tlsServerName: serverName, tlsVerifyHost: verifiesHost } = settings;
  return { ...filesOf(settings, STORE_FILES), serverName, verifiesHost };
}

/** The brokers, and how they are spoken to. CONFIG_INVALID for files that cannot be used. */
export function brokersReached(settings: Settings): Pick<KafkaConnectOptions, 'brokers' | 'tls' | 'sasl'> {
  const { brokersSasl: mechanism, brokersUsername: username, brokersPassword: password } = settings;
  return {
    brokers: settings.brokers ?? [],
    tls: settings.brokersTls
      ? { ...filesOf(settings, BROKER_FILES), serverName: undefined, verifiesHost: true }
      : undefined,
    sasl:
      mechanism === undefined || username === undefined || password === undefined
        ? undefined
        : { mechanism, username, password },
  };
}

/** Adds what is wrong with TLS and SASL, as far as the command uses them. */
export function checkTlsAndSasl(
  settings: Settings,
  logKind: LogKind,
  command: Pick<Command, 'settings' | 'mayStartCluster'> | undefined,
  problems: Problem[],
): void {
  const uses = (name: SettingName) => command?.settings.includes(name) ?? true;
  const refuse = (setting: SettingName, source: string, reason: string) => {
    problems.push({ setting, source, reason });
  };
  if (settings.store === 'cql' && uses('tls')) {
    checkStore(settings, command?.mayStartCluster === true, refuse);
  }
  if (uses('brokersTls')) checkBrokers(settings, logKind, refuse);
}

type Refuse = (setting: SettingName, source: string, reason: string) => void;

function checkStore(settings: Settings, mayStartCluster: boolean, refuse: Refuse): void {
  const { tls, tlsCaFile, tlsServerName, tlsVerifyHost, contactPoints } = settings;
  if (tls && mayStartCluster && contactPoints === undefined) {
    refuse('contactPoints', 'not given', 'tls needs a cluster that speaks it; one started here does not');
  }
  const goesWithTls = `goes with --${flagOf('tls')}`;
  if (!tls && tlsServerName !== undefined) refuse('tlsServerName', tlsServerName, goesWithTls);
  if (!tls && !tlsVerifyHost) refuse('tlsVerifyHost', 'false', goesWithTls);
  if (tlsServerName !== undefined && !tlsVerifyHost) {
    refuse('tlsVerifyHost', 'false', 'tlsServerName is what certificates are verified against');
  }
  if (tls && !tlsVerifyHost && tlsCaFile === undefined) {
    refuse('tlsVerifyHost', 'false', 'needs tlsCaFile: a public authority signs for anybody');
  }
  checkFiles(settings, STORE_FILES, 'tls', refuse);
}

function checkBrokers(settings: Settings, logKind: LogKind, refuse: Refuse): void {
  const { brokersTls, brokersSasl, brokersUsername, brokersPassword } = settings;
  if (logKind !== 'kafka') {
    if (brokersTls) refuse('brokersTls', 'true', 'there are no brokers to speak to');
    if (brokersSasl !== undefined)
      refuse('brokersSasl', brokersSasl, 'there are no brokers to authenticate to');
    return;
  }
  checkFiles(settings, BROKER_FILES, 'brokersTls', refuse);
  if (brokersSasl === undefined) {
    const reason = 'a user of the brokers needs a mechanism';
    if (brokersUsername !== undefined || brokersPassword !== undefined)
      refuse('brokersSasl', 'not given', reason);
    return;
  }
  // SCRAM shows nobody the password; PLAIN shows it to whoever listens.
  if (brokersSasl === 'plain' && !brokersTls) {
    refuse(
      'brokersSasl',
      brokersSasl,
      `would send the password readable; it needs --${flagOf('brokersTls')}`,
    );
  }
  if (brokersUsername === undefined) refuse('brokersUsername', 'not given', 'brokersSasl needs a user');
  if (brokersPassword === undefined) {
    const from = `${environmentOf('brokersPassword')} or --${flagOf('brokersPasswordFile')}`;
    refuse('brokersPassword', 'not given', `brokersSasl needs ${from}`);
  }
}

function checkFiles(settings: Settings, names: FileNames, tls: 'tls' | 'brokersTls', refuse: Refuse): void {
  if (!settings[tls]) {
    // Not taken for a wish: one setting alone says whether anything is sent in plain text.
    for (const name of Object.values(names)) {
      const path = settings[name];
      if (path !== undefined) refuse(name, path, `goes with --${flagOf(tls)}`);
    }
    return;
  }
  readFiles(settings, names, refuse);
}

function filesOf(settings: Settings, names: FileNames): Pick<TlsOptions, 'ca' | 'client'> {
  return readFiles(settings, names, (setting, source, reason) => {
    throw new MailjoinError('CONFIG_INVALID', `${setting} (${source}): ${reason}`);
  });
}

/** The files that are named, of which each that cannot be used is refused. */
function readFiles(settings: Settings, names: FileNames, refuse: Refuse): Pick<TlsOptions, 'ca' | 'client'> {
  const read = (
    name: SettingName,
    path: string | undefined,
    problemOf: (pem: string) => string | undefined,
  ): string | undefined => {
    if (path === undefined) return undefined;
    const file = readSettingsFile(path);
    const problem = 'problem' in file ? file.problem : problemOf(file.text);
    if (problem !== undefined) refuse(name, path, problem);
    return 'text' in file && problem === undefined ? file.text : undefined;
  };
  const [certPath, keyPath] = [settings[names.cert], settings[names.key]];
  if (certPath !== undefined && keyPath === undefined) {
    refuse(names.key, 'not given', `the certificate of ${names.cert} needs its key`);
  }
  if (certPath === undefined && keyPath !== undefined) {
    refuse(names.cert, 'not given', `the key of ${names.key} needs its certificate`);
  }
  const ca = read(names.ca, settings[names.ca], certificatesProblem);
  const cert = read(names.cert, certPath, certificatesProblem);
  const key = read(names.key, keyPath, privateKeyProblem);
  if (cert === undefined || key === undefined) return { ca, client: undefined };
  if (!isKeyOf(cert, key))
    refuse(names.key, keyPath ?? '', `is not the key of the certificate of ${names.cert}`);
  return { ca, client: { cert, key } };
}
