/**
 * The bodies of one response, in the order in which they settled, framed as the wire contract's repeated field
 * `JoinResponse.bodies`: tag, length, body. Copied in once, never re-encoded.
 *
 * Owned by one batch. Room is made before a body is copied, so its slot in the cache is read in one step. The memory
 * that a response holds while its batch waits is asked for before it is taken; what is refused is DEFERRED (B21).
 */
import { tagOf, WireReader, WireType, writeVarint } from './wire.js';

const BODIES_TAG = tagOf(2, WireType.BYTES);
const FRAME_BYTES_MAX = 6;
export const NO_ROOM = -1;

export class BodyList {
  /** Framed bodies in [0, used). Replaced when it grows. */
  buffer: Buffer;
  used = 0;
  count = 0;
  /** Bytes of the bodies without their frames. */
  bodyBytes = 0;
  private readonly tailBytes: number;
  private readonly mayHold: (bytes: number) => boolean;

  /**
   * `tailBytes`: room that is always kept behind the bodies, for what a response encoder appends. `mayHold`: asked
   * before the buffer grows to that many bytes.
   */
  constructor(bytesExpected: number, tailBytes = 0, mayHold: (bytes: number) => boolean = () => true) {
    this.tailBytes = tailBytes;
    this.mayHold = mayHold;
    this.buffer = Buffer.allocUnsafeSlow(bytesExpected + tailBytes);
  }

  /** Makes room for a body of this size and frames it; the offset in `buffer` where it must be copied, or NO_ROOM. */
  append(bodyBytes: number): number {
    if (!this.makeRoom(bodyBytes + FRAME_BYTES_MAX)) return NO_ROOM;
    this.buffer[this.used] = BODIES_TAG;
    const at = writeVarint(this.buffer, this.used + 1, bodyBytes);
    this.used = at + bodyBytes;
    this.count++;
    this.bodyBytes += bodyBytes;
    return at;
  }

  /** Views on the bodies in their order: for the media types that frame them anew. */
  views(): Buffer[] {
    const views: Buffer[] = [];
    const reader = new WireReader(this.buffer, 0, this.used);
    while (reader.tag() !== 0) {
      const length = reader.passBytes();
      views.push(this.buffer.subarray(reader.at - length, reader.at));
    }
    return views;
  }

  /** Drops the bodies whose flag is 0, in their order; the new positions, from 1, or 0 where it is gone. */
  keepOnly(flags: Uint8Array): Int32Array {
    const positions = new Int32Array(this.count);
    const reader = new WireReader(this.buffer, 0, this.used);
    let [from, used, kept] = [0, 0, 0];
    for (let index = 0; reader.tag() !== 0; index++) {
      const length = reader.passBytes();
      if (flags[index] === 0) this.bodyBytes -= length;
      else {
        positions[index] = ++kept;
        // To the left of where it is read, or in place.
        this.buffer.copyWithin(used, from, reader.at);
        used += reader.at - from;
      }
      from = reader.at;
    }
    // What was dropped is nobody's to see.
    this.buffer.fill(0, used, this.used);
    this.used = used;
    this.count = kept;
    return positions;
  }

  /** Makes room for `bytes` more behind `used`, and the tail. */
  private makeRoom(bytes: number): boolean {
    const needed = this.used + bytes + this.tailBytes;
    if (needed <= this.buffer.length) return true;
    const size = Math.max(needed, this.buffer.length * 2);
    if (!this.mayHold(size)) return false;
    const grown = Buffer.allocUnsafeSlow(size);
    this.buffer.copy(grown, 0, 0, this.used);
    this.buffer = grown;
    return true;
  }
}
