/**
 * Opens the stores that the settings name, and finds the key-encryption key that belongs to them. What was opened is
 * closed again when a later step fails.
 */
import path from 'node:path';
import { openCqlStores } from '../cql/open.js';
import type { CqlConnectOptions } from '../cql/options.js';
import type { StatementObserver } from '../cql/statement.js';
import { type KekUse, requireKek } from '../crypto/kek-check.js';
import { createKekFile, loadKekFile } from '../crypto/kek-file.js';
import { MailjoinError } from '../domain/errors.js';
import type { BucketReader } from '../domain/history-ports.js';
import type { Clock, KeyStore, MessageStore } from '../domain/ports.js';
import type { RowSampler } from '../domain/row-sampling.js';
import type { LogReader, Outbox, WriteStore } from '../domain/write-ports.js';
import { makeDataDirectory, storeExists } from '../embedded/data-directory.js';
import { openEmbedded } from '../embedded/open-embedded.js';
import { flagOf, type Settings } from './settings.js';
import { storeTls } from './tls-settings.js';

export interface Stores {
  readonly messages: MessageStore;
  readonly keys: KeyStore;
  readonly writes: WriteStore;
  readonly sampler: RowSampler;
  /** For history pages. */
  readonly buckets: BucketReader;
  /** The log in an embedded store's file, closed with the stores. */
  readonly log: (Outbox & LogReader) | undefined;
  /** For people: where messages lie. */
  readonly place: string;
  close(): Promise<void>;
}

const KEK_FILE_NAME = 'kek';

/**
 * Opens message store and key store; `onStatement` is told of every request to a CQL store. Fails with STORE_*,
 * SCHEMA_MISSING, SCHEMA_MISMATCH, BUCKET_WIDTH or CONFIG_INVALID.
 */
export async function openStores(
  settings: Settings,
  clock: Clock,
  onStatement?: StatementObserver,
): Promise<Stores> {
  if (settings.store === 'embedded') {
    await prepareDataDir(settings);
    const opened = await openEmbedded(settings.dataDir, clock);
    const place = `embedded store in ${settings.dataDir}`;
    return {
      messages: opened.store,
      keys: opened.keys,
      writes: opened.writes,
      sampler: opened.sampler,
      buckets: opened.buckets,
      log: opened.log,
      place,
      close: () => opened.close(),
    };
  }
  const { messages, keys, writes, sampler, buckets } = await openCqlStores({
    ...cqlConnectOptions(settings),
    keyspace: settings.keyspace,
    clock,
    onStatement,
  });
  // Only the demo does this: a log of one machine beside a store of many (load-settings.ts refuses it).
  const besides = settings.log === 'embedded' ? await openEmbedded(settings.dataDir, clock) : undefined;
  return {
    messages,
    keys,
    writes,
    sampler,
    buckets,
    log: besides?.log,
    place: `keyspace ${settings.keyspace}`,
    close: async () => {
      await besides?.close();
      await messages.close();
    },
  };
}

/** The same for commands that make no store and no key of its own: STORE_MISSING where there is none. */
export async function openExistingStores(settings: Settings, clock: Clock): Promise<Stores> {
  requireStore(settings);
  return openStores(settings, clock);
}

/** How the settings say that the cluster is reached. CONFIG_INVALID for TLS files that cannot be used. */
export function cqlConnectOptions(settings: Settings): CqlConnectOptions {
  const { username, password } = settings;
  return {
    contactPoints: settings.contactPoints ?? [],
    localDataCenter: settings.localDc,
    credentials: username === undefined || password === undefined ? undefined : { username, password },
    tls: storeTls(settings),
    readConsistency: settings.readConsistency ?? settings.consistency,
    writeConsistency: settings.writeConsistency ?? settings.consistency,
    timeoutMs: settings.storeTimeoutMs,
  };
}

/**
 * The key-encryption key; its 32 bytes belong to the caller. KEY_FILE when it is missing or unusable; STORE_MISSING when
 * it would be that of an embedded store that is not there and is not to be made (`mayMake`).
 */
export async function loadKek(settings: Settings, mayMake = true): Promise<Uint8Array> {
  const { kekFile, store } = settings;
  if (!mayMake) requireStore(settings);
  if (kekFile !== undefined) return loadKekFile(kekFile);
  if (store === 'cql') throw new MailjoinError('KEY_FILE', `the store "cql" needs --${flagOf('kekFile')}`);
  await prepareDataDir(settings);
  return loadKekFile(ownKekFile(settings));
}

/** KEY_FILE, naming the file, when the opened store's keys are wrapped with another KEK: before anything is sealed. */
export function requireKekOf(
  settings: Settings,
  stores: Pick<Stores, 'keys'>,
  kek: Uint8Array,
  use: KekUse,
): Promise<void> {
  return requireKek(stores.keys, kek, settings.kekFile ?? ownKekFile(settings), use);
}

/**
 * Makes the embedded store's directory and its key-encryption key on the first run, the key before any data. A
 * directory that holds a store and no key gets none: a new key would open nothing of what is there. What else lies in
 * it (a volume's lost+found) does not matter.
 */
async function prepareDataDir(settings: Settings): Promise<void> {
  const { dataDir, kekFile } = settings;
  if (storeExists(dataDir)) return;
  makeDataDirectory(dataDir);
  if (kekFile !== undefined) return;
  try {
    await createKekFile(ownKekFile(settings));
  } catch (error) {
    // Made by a first run that got no further, or by one beside this one: it belongs to this store.
    if (!(error instanceof MailjoinError && error.code === 'KEY_EXISTS')) throw error;
  }
}

function requireStore({ store, dataDir }: Settings): void {
  if (store === 'embedded' && !storeExists(dataDir)) {
    throw new MailjoinError('STORE_MISSING', `dataDir (${dataDir})`);
  }
}

function ownKekFile(settings: Settings): string {
  return path.join(settings.dataDir, KEK_FILE_NAME);
}
