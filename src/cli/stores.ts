/**
 * Opens the stores that the settings name, and finds the key-encryption key that belongs to them. What was opened is
 * closed again when a later step fails.
 */
import fs from 'node:fs';
import path from 'node:path';
import { openCqlStores } from '../cql/open.js';
import type { CqlConnectOptions } from '../cql/options.js';
import { createKekFile, loadKekFile } from '../crypto/kek-file.js';
import { MailjoinError } from '../domain/errors.js';
import type { Clock, KeyStore, MessageStore } from '../domain/ports.js';
import { openEmbedded } from '../embedded/open-embedded.js';
import { flagOf, type Settings } from './settings.js';

export interface Stores {
  readonly messages: MessageStore;
  readonly keys: KeyStore;
  /** For people: where messages lie. */
  readonly place: string;
  close(): Promise<void>;
}

const KEK_FILE_NAME = 'kek';

/** Opens message store and key store. Fails with STORE_*, SCHEMA_MISSING, BUCKET_WIDTH or CONFIG_INVALID. */
export async function openStores(settings: Settings, clock: Clock): Promise<Stores> {
  if (settings.store === 'embedded') {
    const opened = await openEmbedded(settings.dataDir, clock);
    const place = `embedded store in ${settings.dataDir}`;
    return { messages: opened.store, keys: opened.keys, place, close: () => opened.close() };
  }
  const { messages, keys } = await openCqlStores({
    ...cqlConnectOptions(settings),
    keyspace: settings.keyspace,
    clock,
  });
  return { messages, keys, place: `keyspace ${settings.keyspace}`, close: () => messages.close() };
}

/** How the settings say that the cluster is reached. */
export function cqlConnectOptions(settings: Settings): CqlConnectOptions {
  const { username, password } = settings;
  return {
    contactPoints: settings.contactPoints ?? [],
    localDataCenter: settings.localDc,
    credentials: username === undefined || password === undefined ? undefined : { username, password },
    readConsistency: settings.readConsistency ?? settings.consistency,
    writeConsistency: settings.writeConsistency ?? settings.consistency,
    timeoutMs: settings.storeTimeoutMs,
  };
}

/**
 * The key-encryption key; its 32 bytes belong to the caller. The embedded store gets one on its first run, before its
 * data: a directory that has data and no key is refused, since a new key would open nothing of it. KEY_FILE.
 */
export async function loadKek(settings: Settings): Promise<Uint8Array> {
  const { kekFile, store, dataDir } = settings;
  if (kekFile !== undefined) return loadKekFile(kekFile);
  if (store === 'cql') throw new MailjoinError('KEY_FILE', `the store "cql" needs --${flagOf('kekFile')}`);
  const ownFile = path.join(dataDir, KEK_FILE_NAME);
  if (isEmptyDirectory(dataDir)) {
    fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    await createKekFile(ownFile);
  }
  return loadKekFile(ownFile);
}

function isEmptyDirectory(directory: string): boolean {
  return !fs.existsSync(directory) || fs.readdirSync(directory).length === 0;
}
