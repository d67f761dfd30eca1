/** What a command of the `mailjoin` program is, and how it ends. */
import type { Log } from '../server/log.js';
import type { CommandOption } from './command-line.js';
import type { JsonField } from './json-fields.js';
import type { SettingName, Settings } from './settings.js';
import type { Terminal } from './terminal.js';

export const ExitCode = { OK: 0, FAILED: 1, USAGE: 2 } as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Standard input. */
export interface Input {
  /** A person would have to type it: a command that needs input asks for it instead. */
  readonly isTerminal: boolean;
  chunks(): AsyncIterable<Uint8Array>;
}

export interface Invocation {
  readonly settings: Settings;
  readonly operands: readonly string[];
  readonly options: ReadonlyMap<string, string>;
  readonly log: Log;
  readonly input: Input | undefined;
  /** Where both standard input and output are one: somebody can be asked. */
  readonly terminal: Terminal | undefined;
  /** Writes a line for the user on stdout. */
  print(line: string): void;
  /** Resolves when all that was printed has been taken: what prints without end waits for it now and then. */
  flushed(): Promise<void>;
  /** Writes a line about how a long command goes on, on stderr. */
  tell(line: string): void;
}

export interface Command {
  /** One or two words, as typed. */
  readonly name: string;
  /** The operands, as in the usage line. */
  readonly operands: string;
  readonly operandCountMin: number;
  readonly operandCountMax: number;
  readonly summary: string;
  readonly settings: readonly SettingName[];
  readonly options: readonly CommandOption[];
  /** Fields of the JSON that it takes. */
  readonly fields?: readonly JsonField[];
  /** The one store that this command works on: it need not be named, and another one is refused. */
  readonly needsStore?: Settings['store'];
  /** It makes the file that `kekFile` names, which therefore need not be there. */
  readonly makesKekFile?: boolean;
  /** It opens content only where it is asked for, and says itself that there is no key. */
  readonly opensOnRequest?: boolean;
  /** It starts a Cassandra of its own where `--store cql` names none. */
  readonly mayStartCluster?: boolean;
  run(invocation: Invocation): Promise<ExitCode>;
}

/** How the cluster is reached: for every command that may. */
export const CQL_SETTINGS: readonly SettingName[] = [
  'contactPoints',
  'keyspace',
  'localDc',
  'consistency',
  'readConsistency',
  'writeConsistency',
  'username',
  'password',
  'passwordFile',
  'tls',
  'tlsCaFile',
  'tlsCertFile',
  'tlsKeyFile',
  'tlsServerName',
  'tlsVerifyHost',
  'storeTimeoutMs',
];

/** How the brokers of the log are reached: for every command that may. */
export const BROKER_SETTINGS: readonly SettingName[] = [
  'brokers',
  'brokersTls',
  'brokersCaFile',
  'brokersCertFile',
  'brokersKeyFile',
  'brokersSasl',
  'brokersUsername',
  'brokersPassword',
  'brokersPasswordFile',
];

export const JSON_OPTION: CommandOption = { flag: 'json', meaning: 'Print JSON, for machines.' };
