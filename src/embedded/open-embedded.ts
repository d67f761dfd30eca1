/**
 * Opens both embedded stores on one file. Several processes may have the same directory open at once.
 */
import type { Clock } from '../domain/ports.js';
import { Environment } from './environment.js';
import { EmbeddedKeyStore } from './key-store.js';
import { EmbeddedStore } from './store.js';
import { SWEEP_ROWS_ON_OPEN, sweep } from './sweep.js';

export interface OpenedEmbedded {
  readonly store: EmbeddedStore;
  readonly keys: EmbeddedKeyStore;
  /** Closes the file for both; store.close() does the same. */
  close(): Promise<void>;
}

/** Fails with STORE_UNAVAILABLE, BUCKET_WIDTH (D11), SCHEMA_MISMATCH or STORE_CORRUPT. */
export async function openEmbedded(directory: string, clock: Clock): Promise<OpenedEmbedded> {
  const environment = new Environment(directory);
  try {
    const nowS = Math.floor(clock.epochMs() / 1000);
    await environment.write(() => sweep(environment, nowS, SWEEP_ROWS_ON_OPEN));
  } catch (error) {
    await environment.close();
    throw error;
  }
  return {
    store: new EmbeddedStore(environment, clock),
    keys: new EmbeddedKeyStore(environment),
    close: () => environment.close(),
  };
}
