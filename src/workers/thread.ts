/**
 * The code of an open worker (thread-entry.cts): runs one group at a time, synchronously, on its own thread.
 *
 * It writes only inside the places that the job names, which the main thread has reserved for this job alone. It
 * holds no state between jobs but the mapped region, and no key. If it dies, the main thread repeats its job.
 */
import { workerData } from 'node:worker_threads';
import { openItems } from '../crypto/open-items.js';
import { type OpenMessage, type OpenWorkerData, unpackKeys } from './open-message.js';

// workerData is untyped by nature; only worker-opener.ts starts this file.
const region = new Uint8Array((workerData as OpenWorkerData).region.buffer);

/** Opens every item in place; answers one OpenOutcome per item. */
export default function openGroup(message: OpenMessage): Uint8Array {
  try {
    return openItems(
      {
        items: message.items,
        count: message.count,
        keys: unpackKeys(message),
        privateBuffers: message.privateBuffers,
      },
      region,
    );
  } finally {
    message.keys.fill(0);
  }
}
