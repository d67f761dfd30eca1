/**
 * How the store is reached, as a caller says it, and the checks of what was said. Every refusal is CONFIG_INVALID
 * and names the setting; nothing is contacted here.
 */
import { types } from 'cassandra-driver';
import { MailjoinError } from '../domain/errors.js';
import type { TlsOptions } from '../tls/tls-options.js';
import type { StatementObserver } from './statement.js';

/** Consistency levels by their CQL names (D24). */
const LEVELS = {
  ONE: types.consistencies.one,
  TWO: types.consistencies.two,
  THREE: types.consistencies.three,
  QUORUM: types.consistencies.quorum,
  ALL: types.consistencies.all,
  LOCAL_QUORUM: types.consistencies.localQuorum,
  EACH_QUORUM: types.consistencies.eachQuorum,
  LOCAL_ONE: types.consistencies.localOne,
} as const;
const SERIAL_LEVELS = {
  SERIAL: types.consistencies.serial,
  LOCAL_SERIAL: types.consistencies.localSerial,
} as const;

export type ConsistencyName = keyof typeof LEVELS;
export type SerialConsistencyName = keyof typeof SERIAL_LEVELS;

export interface CqlConnectOptions {
  /** "host", "host:port" or "[v6]:port"; the port is 9042 when none is named. */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  /** undefined: plain text. A node is known by its address, also where a contact point is a name. */
  readonly tls?: TlsOptions | undefined;
  /** Default LOCAL_QUORUM (D24). */
  readonly readConsistency?: ConsistencyName | undefined;
  /** Default LOCAL_QUORUM (D24). */
  readonly writeConsistency?: ConsistencyName | undefined;
  /** For conditional statements; default LOCAL_SERIAL (D24). */
  readonly serialConsistency?: SerialConsistencyName | undefined;
  /** Milliseconds for one request, and for one group read with all its pages; default STORE_TIMEOUT_MS_DEFAULT. */
  readonly timeoutMs?: number | undefined;
  /** Is told of every statement and page that is sent; for counters and tests (S-1). */
  readonly onStatement?: StatementObserver | undefined;
}

/** The driver's number of a consistency level, or CONFIG_INVALID naming the setting. */
export function consistencyOf(setting: string, name: string): types.consistencies {
  const level = Object.hasOwn(LEVELS, name) ? LEVELS[name as ConsistencyName] : undefined; // hasOwn proves the name
  if (level === undefined) {
    throw new MailjoinError('CONFIG_INVALID', `${setting} is none of ${Object.keys(LEVELS).join(', ')}`);
  }
  return level;
}

/** The driver's number of a serial consistency level, or CONFIG_INVALID naming the setting. */
export function serialConsistencyOf(setting: string, name: string): types.consistencies {
  const level = Object.hasOwn(SERIAL_LEVELS, name)
    ? SERIAL_LEVELS[name as SerialConsistencyName] // hasOwn proves the name
    : undefined;
  if (level === undefined) {
    throw new MailjoinError(
      'CONFIG_INVALID',
      `${setting} is none of ${Object.keys(SERIAL_LEVELS).join(', ')}`,
    );
  }
  return level;
}

const KEYSPACE = /^[A-Za-z][A-Za-z0-9_]{0,47}$/;

/** A keyspace's name as an identifier inside CQL: always quoted, so that case is kept. */
export function quotedKeyspace(keyspace: string): string {
  if (!KEYSPACE.test(keyspace)) {
    throw new MailjoinError('CONFIG_INVALID', 'keyspace is not 1 to 48 letters, digits or _, a letter first');
  }
  return `"${keyspace}"`;
}

/** Refuses contact points, data centre and timeout that cannot work. */
export function checkConnectOptions(options: CqlConnectOptions): void {
  if (options.contactPoints.length === 0 || options.contactPoints.some((point) => point.trim() === '')) {
    throw new MailjoinError('CONFIG_INVALID', 'contactPoints names no host, or an empty one');
  }
  if (options.localDataCenter === '') throw new MailjoinError('CONFIG_INVALID', 'localDataCenter is empty');
  const { timeoutMs } = options;
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs > 0)) {
    throw new MailjoinError('CONFIG_INVALID', 'timeoutMs is not a whole number above 0');
  }
}
