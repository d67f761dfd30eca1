/**
 * Opens the embedded stores on one file. Several processes may have the same directory open at once.
 */
import type { Clock } from '../domain/ports.js';
import { EmbeddedBucketReader } from './bucket-reader.js';
import { EmbeddedLog } from './embedded-log.js';
import { Environment } from './environment.js';
import { EmbeddedKeyStore } from './key-store.js';
import { EmbeddedRowSampler } from './row-sampler.js';
import { sweepSide } from './side-expiry.js';
import { EmbeddedStore } from './store.js';
import { SWEEP_ROWS_ON_OPEN, sweep } from './sweep.js';
import { EmbeddedWriteStore } from './write-store.js';

export interface OpenedEmbedded {
  readonly store: EmbeddedStore;
  readonly keys: EmbeddedKeyStore;
  readonly writes: EmbeddedWriteStore;
  readonly log: EmbeddedLog;
  readonly sampler: EmbeddedRowSampler;
  readonly buckets: EmbeddedBucketReader;
  /** Closes the file for all; store.close() does the same. */
  close(): Promise<void>;
}

/** Fails with STORE_UNAVAILABLE, BUCKET_WIDTH (D11), SCHEMA_MISMATCH or STORE_CORRUPT. */
export async function openEmbedded(directory: string, clock: Clock): Promise<OpenedEmbedded> {
  const environment = new Environment(directory);
  try {
    const nowS = Math.floor(clock.epochMs() / 1000);
    await environment.write(() => {
      sweep(environment, nowS, SWEEP_ROWS_ON_OPEN);
      sweepSide(environment, nowS, SWEEP_ROWS_ON_OPEN);
    });
  } catch (error) {
    await environment.close();
    throw error;
  }
  const log = new EmbeddedLog(environment, clock);
  return {
    store: new EmbeddedStore(environment, clock),
    keys: new EmbeddedKeyStore(environment),
    writes: new EmbeddedWriteStore(environment, clock),
    log,
    sampler: new EmbeddedRowSampler(environment, clock),
    buckets: new EmbeddedBucketReader(environment, clock),
    close: async () => {
      await log.close();
      await environment.close();
    },
  };
}
