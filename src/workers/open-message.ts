/**
 * What crosses between the main thread and an open worker: both sides import this file and nothing else of each other.
 *
 * Ids, nonces, tags and AADs travel inside `items`; row objects never do. Bytes are cloned with their whole underlying
 * buffer, so both byte fields have buffers of exactly their size: a view on a pooled Buffer would carry its neighbours along (B32).
 */
import type { RegionDescriptor } from '../cache/region.js';
import { DEK_BYTES } from '../domain/envelope.js';
import { OPEN_ITEM_BYTES, type OpenJob } from '../domain/open-job.js';

/** A worker's workerData: how it finds the shared region. It writes into named places only, so it needs no more of it. */
export interface OpenWorkerData {
  readonly region: Pick<RegionDescriptor, 'kind' | 'buffer'>;
}

/** One group to open. The answer is its outcomes, one byte per item. */
export interface OpenMessage {
  readonly items: Uint8Array;
  readonly count: number;
  /** All keys, 32 bytes each; zeroed by either side when the job is over. */
  readonly keys: Uint8Array;
  readonly privateBuffers: readonly SharedArrayBuffer[];
}

/** The message of a job; its keys are copies that the caller zeroes. */
export function packOpenJob(job: OpenJob): OpenMessage {
  const itemsBytes = job.count * OPEN_ITEM_BYTES;
  const exact = job.items.byteLength === itemsBytes && job.items.buffer.byteLength === itemsBytes;
  const keys = new Uint8Array(job.keys.length * DEK_BYTES);
  job.keys.forEach((key, index) => {
    keys.set(key, index * DEK_BYTES);
  });
  return {
    // Not slice(): that of a Buffer is a view.
    items: exact ? job.items : new Uint8Array(job.items.subarray(0, itemsBytes)),
    count: job.count,
    keys,
    privateBuffers: job.privateBuffers,
  };
}

/** The keys of a message, as views. */
export function unpackKeys(message: OpenMessage): readonly Uint8Array[] {
  const keys: Uint8Array[] = [];
  for (let at = 0; at < message.keys.length; at += DEK_BYTES)
    keys.push(message.keys.subarray(at, at + DEK_BYTES));
  return keys;
}
