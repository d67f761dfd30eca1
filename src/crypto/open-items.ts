/**
 * Opens a group of payloads in place: the loop that a worker (or, for small groups, the main thread) runs.
 *
 * Whoever calls it owns every item's bytes until it returns: slots reserved for this job, or private buffers. An
 * item is decrypted into memory of this thread, verified, and only then written over its ciphertext; what does not
 * authenticate stays ciphertext and is TAMPERED. Items outside their buffer or without a key are a bug: asserted,
 * which ends the job. Plaintext copies are zeroed once they are written.
 */
import { strict as assert } from 'node:assert';
import { AAD_BYTES, nonceBytes, Suite, TAG_BYTES } from '../domain/envelope.js';
import { PAYLOAD_BYTES_MAX } from '../domain/limits.js';
import {
  OPEN_ITEM_AAD_AT,
  OPEN_ITEM_NONCE_AT,
  OPEN_ITEM_TAG_AT,
  type OpenJob,
  OpenOutcome,
  readOpenItem,
} from '../domain/open-job.js';
import { Aead, openAead } from './suites.js';

/** What the loop needs of a job. */
export type OpenItems = Pick<OpenJob, 'items' | 'count' | 'keys' | 'privateBuffers'>;

/**
 * Opens every item of the job; bufferIndex 0 is `region`. Answers one OpenOutcome per item, none of them NONE.
 */
export function openItems(job: OpenItems, region: Uint8Array): Uint8Array {
  const outcomes = new Uint8Array(job.count);
  const buffers = [region, ...job.privateBuffers.map((buffer) => new Uint8Array(buffer))];
  for (let index = 0; index < job.count; index++) outcomes[index] = openItem(job, index, buffers);
  return outcomes;
}

function openItem(job: OpenItems, index: number, buffers: readonly Uint8Array[]): number {
  const { items, keys } = job;
  const { itemAt, at, lengthBytes, bufferIndex, keyIndex, suite } = readOpenItem(items, index);
  const buffer = buffers[bufferIndex];
  const key = keys[keyIndex];
  assert(buffer !== undefined && key !== undefined, 'an item names a buffer and a key of its job');
  assert(at >= 0 && at + lengthBytes <= buffer.length, 'an item lies within its buffer');
  const aead = payloadAead(suite);
  if (aead === undefined || lengthBytes > PAYLOAD_BYTES_MAX) return OpenOutcome.TAMPERED;
  const place = buffer.subarray(at, at + lengthBytes);
  const nonceAt = itemAt + OPEN_ITEM_NONCE_AT;
  const tagAt = itemAt + OPEN_ITEM_TAG_AT;
  const aadAt = itemAt + OPEN_ITEM_AAD_AT;
  const plaintext = openAead(
    aead,
    key,
    items.subarray(nonceAt, nonceAt + nonceBytes(suite)),
    items.subarray(aadAt, aadAt + AAD_BYTES),
    items.subarray(tagAt, tagAt + TAG_BYTES),
    place,
  );
  if (plaintext === undefined) return OpenOutcome.TAMPERED;
  place.set(plaintext);
  plaintext.fill(0);
  return OpenOutcome.OPENED;
}

/** Payload suites only: a preview is never opened in place of a payload (D23). */
function payloadAead(suite: number): Aead | undefined {
  if (suite === Suite.XCHACHA20_POLY1305) return Aead.XCHACHA20_POLY1305;
  if (suite === Suite.AES_256_GCM) return Aead.AES_256_GCM;
  return undefined;
}
