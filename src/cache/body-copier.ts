/**
 * Copies bodies out of the region to any place of any buffer, without allocating.
 *
 * Uint8Array.set needs a view per copy, and out of shared memory V8 moves byte by byte unless both places are aligned
 * alike. Whole words through a DataView, which writes unaligned, are several times as fast for bodies (bench/cache-find.mjs);
 * the view is kept for the target of the last copy, as a batch copies many bodies into one. So the last target stays reachable
 * until forget().
 */
import { WORD_BYTES } from './layout.js';
import type { Region } from './region.js';

const RUN_BYTES = 8 * WORD_BYTES;
/** From here on a view costs less than it saves, if both places are aligned alike. */
const ALIGNED_BYTES_MIN = 2048;
const ALIGNMENT_MASK = 7;
const NOTHING = new Uint8Array(0);
const NO_VIEW = new DataView(NOTHING.buffer);

export class BodyCopier {
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  #target: Uint8Array = NOTHING;
  #view: DataView = NO_VIEW;

  constructor(region: Region) {
    this.#bytes = region.bytes;
    this.#words = region.words;
  }

  /** Copies `lengthBytes` from a word of the region. A target without the room is a bug and throws. */
  copy(fromWord: number, lengthBytes: number, target: Uint8Array, at: number): void {
    const from = fromWord * WORD_BYTES;
    if (lengthBytes >= ALIGNED_BYTES_MIN && ((target.byteOffset + at - from) & ALIGNMENT_MASK) === 0) {
      target.set(this.#bytes.subarray(from, from + lengthBytes), at);
      return;
    }
    if (target !== this.#target) {
      this.#target = target;
      this.#view = new DataView(target.buffer, target.byteOffset, target.byteLength);
    }
    const view = this.#view;
    const words = this.#words;
    const runsEnd = at + lengthBytes - (lengthBytes % RUN_BYTES);
    let to = at;
    let word = fromWord;
    for (; to < runsEnd; to += RUN_BYTES, word += 8) {
      view.setInt32(to, words[word] as number, true);
      view.setInt32(to + 4, words[word + 1] as number, true);
      view.setInt32(to + 8, words[word + 2] as number, true);
      view.setInt32(to + 12, words[word + 3] as number, true);
      view.setInt32(to + 16, words[word + 4] as number, true);
      view.setInt32(to + 20, words[word + 5] as number, true);
      view.setInt32(to + 24, words[word + 6] as number, true);
      view.setInt32(to + 28, words[word + 7] as number, true);
    }
    const end = at + lengthBytes;
    for (; to + WORD_BYTES <= end; to += WORD_BYTES, word++) view.setInt32(to, words[word] as number, true);
    const bytes = this.#bytes;
    for (let byte = word * WORD_BYTES; to < end; to++, byte++) view.setUint8(to, bytes[byte] as number);
  }

  /** Lets the last target go. */
  forget(): void {
    this.#target = NOTHING;
    this.#view = NO_VIEW;
  }
}
