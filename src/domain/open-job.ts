/**
 * A group of payloads to open, as it crosses to a worker: fixed-size items and a few keys, no row objects.
 *
 * Each item's ciphertext already lies where its plaintext shall be, in a shared buffer: a slot of the region
 * (bufferIndex 0) or a private one. The opener decrypts into memory of its own, verifies, and only then overwrites
 * the ciphertext; a ciphertext that does not authenticate is left as it is and reported, never its plaintext.
 *
 *     item (104 bytes):  at f64 | lengthBytes u32 | bufferIndex u16 | keyIndex u16 | suite u8 | pad 3 | nonce 24 | tag 16 | AAD 44
 */
import { strict as assert } from 'node:assert';
import { AAD_BYTES, TAG_BYTES, XCHACHA_NONCE_BYTES } from './envelope.js';

export const OPEN_ITEM_BYTES = 104;
const LENGTH_AT = 8;
const BUFFER_AT = 12;
const KEY_AT = 14;
const SUITE_AT = 16;
export const OPEN_ITEM_NONCE_AT = 20;
export const OPEN_ITEM_TAG_AT = OPEN_ITEM_NONCE_AT + XCHACHA_NONCE_BYTES;
export const OPEN_ITEM_AAD_AT = OPEN_ITEM_TAG_AT + TAG_BYTES;
assert.equal(OPEN_ITEM_AAD_AT + AAD_BYTES, OPEN_ITEM_BYTES);

/** What the opener says of each item. */
export const OpenOutcome = { NONE: 0, OPENED: 1, TAMPERED: 2 } as const;

export interface OpenJob {
  /** `count` items of OPEN_ITEM_BYTES each. */
  readonly items: Uint8Array;
  readonly count: number;
  /** Raw DEKs of 32 bytes, by keyIndex. */
  readonly keys: readonly Uint8Array[];
  /** Buffers by bufferIndex − 1; bufferIndex 0 is the shared region. */
  readonly privateBuffers: readonly SharedArrayBuffer[];
  /** Ciphertext bytes in all; for admission and the inline threshold. */
  readonly bytes: number;
  /**
   * Writes every item's ciphertext back to where it lies. A worker that died in mid-job has turned some of it into
   * plaintext, so a repeat starts with this; the caller keeps the sealed bytes until `open` has answered. It is
   * called on the main thread, while no worker has the job. Without it a job is not repeated but rejected.
   */
  readonly restore?: () => void;
}

/** One item, unpacked. Nonce, tag and AAD are views on the job's items at fixed offsets from `itemAt`. */
export interface OpenItem {
  readonly itemAt: number;
  readonly at: number;
  readonly lengthBytes: number;
  readonly bufferIndex: number;
  readonly keyIndex: number;
  readonly suite: number;
}

/** Writes the fixed part of item `index`; nonce, tag and AAD are set by the caller at their offsets. */
export function writeOpenItem(
  items: Uint8Array,
  index: number,
  at: number,
  lengthBytes: number,
  bufferIndex: number,
  keyIndex: number,
  suite: number,
): number {
  const itemAt = index * OPEN_ITEM_BYTES;
  const view = new DataView(items.buffer, items.byteOffset + itemAt, OPEN_ITEM_BYTES);
  view.setFloat64(0, at, true);
  view.setUint32(LENGTH_AT, lengthBytes, true);
  view.setUint16(BUFFER_AT, bufferIndex, true);
  view.setUint16(KEY_AT, keyIndex, true);
  view.setUint8(SUITE_AT, suite);
  return itemAt;
}

/** Reads the fixed part of item `index`. */
export function readOpenItem(items: Uint8Array, index: number): OpenItem {
  const itemAt = index * OPEN_ITEM_BYTES;
  const view = new DataView(items.buffer, items.byteOffset + itemAt, OPEN_ITEM_BYTES);
  return {
    itemAt,
    at: view.getFloat64(0, true),
    lengthBytes: view.getUint32(LENGTH_AT, true),
    bufferIndex: view.getUint16(BUFFER_AT, true),
    keyIndex: view.getUint16(KEY_AT, true),
    suite: view.getUint8(SUITE_AT),
  };
}
