/**
 * Builds open jobs from envelopes the way join does: the ciphertext lies where its plaintext shall be, everything else
 * is in the item.
 */
import { AAD_BYTES, nonceBytes, TAG_BYTES } from '../../src/domain/envelope.js';
import {
  OPEN_ITEM_AAD_AT,
  OPEN_ITEM_BYTES,
  OPEN_ITEM_NONCE_AT,
  OPEN_ITEM_TAG_AT,
  type OpenJob,
  writeOpenItem,
} from '../../src/domain/open-job.js';

export interface ItemToOpen {
  readonly envelope: Uint8Array;
  readonly aad: Uint8Array;
  readonly at: number;
  readonly bufferIndex: number;
  readonly keyIndex: number;
}

/** A job whose ciphertexts are placed, and whose restore() places them again. */
export function buildOpenJob(
  items: readonly ItemToOpen[],
  keys: readonly Uint8Array[],
  region: Uint8Array,
  privateBuffers: readonly SharedArrayBuffer[] = [],
): OpenJob {
  const packed = new Uint8Array(items.length * OPEN_ITEM_BYTES);
  let bytes = 0;
  items.forEach((item, index) => {
    const suite = item.envelope[0] as number;
    const sealedAt = 1 + nonceBytes(suite);
    const lengthBytes = item.envelope.length - sealedAt - TAG_BYTES;
    const itemAt = writeOpenItem(packed, index, item.at, lengthBytes, item.bufferIndex, item.keyIndex, suite);
    packed.set(item.envelope.subarray(1, sealedAt), itemAt + OPEN_ITEM_NONCE_AT);
    packed.set(item.envelope.subarray(item.envelope.length - TAG_BYTES), itemAt + OPEN_ITEM_TAG_AT);
    packed.set(item.aad.subarray(0, AAD_BYTES), itemAt + OPEN_ITEM_AAD_AT);
    bytes += lengthBytes;
  });
  const restore = (): void => {
    for (const item of items) {
      const buffer =
        item.bufferIndex === 0
          ? region
          : new Uint8Array(privateBuffers[item.bufferIndex - 1] as SharedArrayBuffer);
      const sealedAt = 1 + nonceBytes(item.envelope[0] as number);
      buffer.set(item.envelope.subarray(sealedAt, item.envelope.length - TAG_BYTES), item.at);
    }
  };
  restore();
  return { items: packed, count: items.length, keys, privateBuffers, bytes, restore };
}
