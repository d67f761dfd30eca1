/**
 * The bodies of one response, in the order in which they settled, framed as the wire contract's repeated field
 * `JoinResponse.bodies`: tag, length, body. Copied in once, never re-encoded.
 *
 * Owned by one batch. Room is made before a body is copied, so its slot in the cache is read in one step.
 */
import { tagOf, WireType, writeVarint } from './wire.js';

const BODIES_TAG = tagOf(2, WireType.BYTES);
const FRAME_BYTES_MAX = 6;

export class BodyList {
  /** Framed bodies in [0, used). Replaced when it grows. */
  buffer: Buffer;
  used = 0;
  count = 0;
  /** Bytes of the bodies without their frames. */
  bodyBytes = 0;
  private readonly starts: number[] = [];
  private readonly lengths: number[] = [];
  private readonly tailBytes: number;

  /** `tailBytes`: room that is always kept behind the bodies, for what a response encoder appends. */
  constructor(bytesExpected: number, tailBytes = 0) {
    this.tailBytes = tailBytes;
    this.buffer = Buffer.allocUnsafeSlow(bytesExpected + tailBytes);
  }

  /** Makes room for a body of this size and frames it; returns the offset in `buffer` where it must be copied. */
  append(bodyBytes: number): number {
    this.ensure(bodyBytes + FRAME_BYTES_MAX);
    this.buffer[this.used] = BODIES_TAG;
    const at = writeVarint(this.buffer, this.used + 1, bodyBytes);
    this.starts.push(at);
    this.lengths.push(bodyBytes);
    this.used = at + bodyBytes;
    this.count++;
    this.bodyBytes += bodyBytes;
    return at;
  }

  /** A view on body `index` (from 0). */
  body(index: number): Buffer {
    const start = this.starts[index] as number;
    return this.buffer.subarray(start, start + (this.lengths[index] as number));
  }

  /** Makes room for `bytes` more behind `used`, and the tail. */
  private ensure(bytes: number): void {
    const needed = this.used + bytes + this.tailBytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.used);
    this.buffer = grown;
  }
}
