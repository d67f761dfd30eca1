/**
 * Every setting of mailjoin, in one table: type, default, meaning. The name is the key in a config file; the flag
 * (--socket-mode) and the environment variable (MAILJOIN_SOCKET_MODE) follow from it. Help and README are made from
 * this table. A secret is taken from the environment or from a file of its own, never from a flag or the config file,
 * where others could read it.
 */
import { REGION_BYTES_MAX } from '../cache/layout.js';
import {
  BATCHES_MAX,
  CACHE_AGE_MS_MAX_DEFAULT,
  DEK_CACHE_TTL_MS_DEFAULT,
  FOLLOW_LAG_MS_MAX_DEFAULT,
  IN_CAP_DEFAULT,
  KEY_POLL_MS_DEFAULT,
  PARTITION_ROWS_MAX,
  REGION_BYTES_DEFAULT,
  REGION_BYTES_MIN,
  SHUTDOWN_MS_DEFAULT,
  STORE_TIMEOUT_MS_DEFAULT,
  UNWRAP_TIMEOUT_MS_DEFAULT,
} from '../domain/limits.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import {
  bytes,
  fileMode,
  integer,
  list,
  matching,
  oneOf,
  onOff,
  type SettingType,
  text,
} from './setting-types.js';

export interface Setting<T> {
  readonly type: SettingType<T>;
  /** undefined: there is no default, and the setting may be left out. */
  readonly fallback: T | undefined;
  readonly meaning: string;
  readonly secret: boolean;
}

/** A setting that always has a value. */
interface Always<T> extends Setting<T> {
  readonly fallback: T;
}

function always<T>(type: SettingType<T>, fallback: T, meaning: string): Always<T> {
  return { type, fallback, meaning, secret: false };
}

function optional<T>(type: SettingType<T>, meaning: string): Setting<T> {
  return { type, fallback: undefined, meaning, secret: false };
}

const consistency = () =>
  oneOf('ONE', 'TWO', 'THREE', 'QUORUM', 'ALL', 'LOCAL_QUORUM', 'EACH_QUORUM', 'LOCAL_ONE');
const HOUR_MS = 3_600_000;

export const SETTINGS = {
  config: optional(text('file'), 'A JSON file with settings under their names.'),
  logLevel: always(
    oneOf('debug', 'info', 'warn', 'error'),
    'info',
    'The least severe log lines written to stderr.',
  ),
  socket: always(text('path'), 'mailjoin.sock', 'The Unix socket of the sidecar; its directory must exist.'),
  socketMode: always(
    fileMode(),
    0o660,
    'Permissions of the socket: whoever may open it may name any tenant.',
  ),
  store: always(
    oneOf('embedded', 'cql'),
    'embedded',
    'Where messages lie: LMDB in a directory, or Cassandra/ScyllaDB.',
  ),
  dataDir: always(
    text('path'),
    'mailjoin-data',
    'The directory of the embedded store, which `serve` and what writes make when it is missing.',
  ),
  contactPoints: optional(list('host[:port],…'), 'Cassandra/ScyllaDB nodes to connect to first.'),
  keyspace: always(
    matching('name', /^[A-Za-z][A-Za-z0-9_]{0,47}$/, '1 to 48 letters, digits or _, a letter first'),
    'mailjoin',
    'The keyspace of the message store.',
  ),
  localDc: always(text('name'), 'datacenter1', 'The data centre of this node, for token-aware routing.'),
  replication: always(
    matching(
      'n|dc:n,…',
      /^([1-9][0-9]?|[\w.-]+:[1-9][0-9]?(,[\w.-]+:[1-9][0-9]?)*)$/,
      'a factor ("3") or "dc1:3,dc2:3"',
    ),
    '1',
    'Copies of the keyspace, when the schema makes it.',
  ),
  consistency: always(consistency(), 'LOCAL_QUORUM', 'Consistency of reads and writes (D24).'),
  readConsistency: optional(consistency(), 'Consistency of reads, when it differs.'),
  writeConsistency: optional(consistency(), 'Consistency of writes, when it differs.'),
  username: optional(text('name'), 'User of the Cassandra/ScyllaDB cluster.'),
  password: { ...optional(text('text'), 'Its password.'), secret: true },
  passwordFile: optional(text('file'), 'A file that holds its password.'),
  tls: always(onOff(), false, 'Speak TLS (1.2 or later) to Cassandra/ScyllaDB.'),
  tlsCaFile: optional(
    text('file'),
    'Authorities that may have signed the nodes’ certificates, in PEM. Unless set, those that Node trusts.',
  ),
  tlsCertFile: optional(text('file'), 'Our certificate in PEM, where nodes ask for one.'),
  tlsKeyFile: optional(text('file'), 'Its private key in PEM, without a passphrase.'),
  tlsServerName: optional(
    text('name'),
    'The name that every node’s certificate has. Unless set, the node’s address as the cluster tells it.',
  ),
  tlsVerifyHost: always(
    onOff(),
    true,
    'Refuse nodes whose certificates do not name them; off: any certificate of these authorities will do.',
  ),
  kekFile: optional(
    text('file'),
    'The key-encryption key: 32 bytes as hex or base64, mode 0600. The embedded store makes one on its first run.',
  ),
  allowUnsealed: always(
    onOff(),
    false,
    'Serve payloads without dek_id, for stores of end-to-end encrypted content only (D22).',
  ),
  cacheBytes: always(
    bytes(REGION_BYTES_MIN, REGION_BYTES_MAX),
    REGION_BYTES_DEFAULT,
    'Size of the cache of bodies.',
  ),
  cacheAgeMs: always(
    integer(1, 24 * HOUR_MS, 'ms'),
    CACHE_AGE_MS_MAX_DEFAULT,
    'How long a cached body is served without being read again.',
  ),
  dekCacheTtlMs: always(
    integer(1, 24 * HOUR_MS, 'ms'),
    DEK_CACHE_TTL_MS_DEFAULT,
    'How long an opened key is kept (R6.2).',
  ),
  keyPollMs: always(
    integer(10, HOUR_MS, 'ms'),
    KEY_POLL_MS_DEFAULT,
    'How often keys destroyed elsewhere are looked for.',
  ),
  log: optional(
    oneOf('none', 'embedded', 'kafka'),
    'The log of events to follow. Unless set: kafka with brokers, else embedded with the embedded store, else none.',
  ),
  brokers: optional(list('host:port,…'), 'Brokers of the log, any that speak the Kafka protocol.'),
  brokersTls: always(
    onOff(),
    false,
    'Speak TLS (1.2 or later) to the brokers; their certificates must name them.',
  ),
  brokersCaFile: optional(
    text('file'),
    'Authorities that may have signed the brokers’ certificates, in PEM. Unless set, those that Node trusts.',
  ),
  brokersCertFile: optional(text('file'), 'Our certificate in PEM, where brokers ask for one.'),
  brokersKeyFile: optional(text('file'), 'Its private key in PEM, without a passphrase.'),
  brokersSasl: optional(
    oneOf('plain', 'scram-sha-256', 'scram-sha-512'),
    'How we authenticate to the brokers; plain needs TLS.',
  ),
  brokersUsername: optional(text('name'), 'User of the brokers.'),
  brokersPassword: { ...optional(text('text'), 'Its password.'), secret: true },
  brokersPasswordFile: optional(text('file'), 'A file that holds its password.'),
  topic: always(text('name'), 'mailjoin-outbox', 'The topic of the log.'),
  followLagMaxMs: always(
    integer(100, HOUR_MS, 'ms'),
    FOLLOW_LAG_MS_MAX_DEFAULT,
    'How far behind the log the cache may be; beyond it the cache is dropped and bodies are cached for this long only.',
  ),
  record: always(
    oneOf('sync', 'archive'),
    'sync',
    'Who inserts rows: the writer, or the archiver that reads the log (D15).',
  ),
  retentionFile: optional(
    text('file'),
    'A JSON file: how long each tenant’s messages are kept (R3.4). Unless set, 30 days.',
  ),
  warm: always(onOff(), false, 'Place fresh messages of conversations in use into the cache, from the log.'),
  inCap: optional(
    integer(1, PARTITION_ROWS_MAX),
    `Elements of one IN list; ScyllaDB takes 100 by default. Unless set: that of readCosts, else ${IN_CAP_DEFAULT}.`,
  ),
  readCosts: optional(
    text('file'),
    'What reads cost on this store, as `mailjoin calibrate` writes it (R7.3). Unless set, shipped figures.',
  ),
  lookup: always(
    onOff(),
    false,
    'Serve look-ups by message_id on the socket (POST /v1/lookup): for administration only (R2.2).',
  ),
  storeTimeoutMs: always(
    integer(10, 60_000, 'ms'),
    STORE_TIMEOUT_MS_DEFAULT,
    'Time for one read of a group.',
  ),
  unwrapTimeoutMs: always(
    integer(10, 60_000, 'ms'),
    UNWRAP_TIMEOUT_MS_DEFAULT,
    'Time for one call of the key provider.',
  ),
  workers: optional(integer(1, 64), 'Threads that open payloads; by default one per core but one.'),
  batchesMax: always(
    integer(1, 65_536),
    BATCHES_MAX,
    'Batches in flight at once; a quarter is kept for PUSH_EVENTS.',
  ),
  shutdownMs: always(
    integer(0, 600_000, 'ms'),
    SHUTDOWN_MS_DEFAULT,
    'How long a stop waits for batches in flight.',
  ),
  bucketWidth: always(
    integer(1, 2 ** 31 - 1),
    BUCKET_WIDTH,
    'The bucket width of the keyspace; another one is refused (D11).',
  ),
} as const;

export type SettingName = keyof typeof SETTINGS;

type ValueOf<S> = S extends Always<infer T> ? T : S extends Setting<infer T> ? T | undefined : never;

/** All settings, parsed and checked. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> };

// The keys of the table are exactly its names.
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** A setting as the table's readers see it, whatever its type. */
export function settingOf(name: SettingName): Setting<unknown> {
  // Reading alone: a value goes only to the type that made it.
  return SETTINGS[name] as Setting<unknown>;
}

/** socketMode → socket-mode. */
export function flagOf(name: SettingName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** socketMode → MAILJOIN_SOCKET_MODE. */
export function environmentOf(name: SettingName): string {
  return `MAILJOIN_${flagOf(name).replaceAll('-', '_').toUpperCase()}`;
}

/** Every default, with some settings replaced: for the demo and for tests. Replaced values are not checked. */
export function settingsWith(replaced: Partial<Settings>): Settings {
  const values: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) values[name] = settingOf(name).fallback;
  // Every name has its own fallback's type.
  return { ...values, ...replaced } as Settings;
}
