/**
 * Collects a request's chunks into the one buffer that its batch then owns (B24).
 *
 * A chunk is a view on the HTTP library's own memory and is detached when its callback returns, so its bytes are
 * copied at once. The buffer grows by doubling, up to the announced length or REQUEST_BYTES_MAX: a caller that
 * announces much and sends little costs little. Its buffers are its own, never slices of a pool (B32).
 */
import { MailjoinError } from '../domain/errors.js';
import { REQUEST_BYTES_MAX } from '../domain/limits.js';
import { LENGTH_UNKNOWN } from './body-length.js';

const FIRST_BYTES = 16 * 1024;

export class RequestBody {
  private buffer: Buffer = Buffer.alloc(0);
  private used = 0;
  private readonly bytesMax: number;

  /** `announcedBytes`: see announcedBodyBytes. */
  constructor(announcedBytes: number) {
    this.bytesMax = announcedBytes === LENGTH_UNKNOWN ? REQUEST_BYTES_MAX : announcedBytes;
  }

  /** Bytes of memory held. */
  get capacityBytes(): number {
    return this.buffer.length;
  }

  /** Copies a chunk. Throws REQUEST_TOO_LARGE when the body exceeds what was announced or may be sent. */
  append(chunk: ArrayBuffer): void {
    const needed = this.used + chunk.byteLength;
    if (needed > this.bytesMax) {
      throw new MailjoinError('REQUEST_TOO_LARGE', `more than ${this.bytesMax} bytes`);
    }
    if (needed > this.buffer.length) this.grow(needed);
    this.buffer.set(new Uint8Array(chunk), this.used);
    this.used = needed;
  }

  /** The body. The collector must not be used afterwards. */
  take(): Buffer {
    const body = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.alloc(0);
    this.used = 0;
    return body;
  }

  private grow(needed: number): void {
    const doubled = Math.max(needed, this.buffer.length * 2, FIRST_BYTES);
    const grown = Buffer.allocUnsafeSlow(Math.min(doubled, this.bytesMax));
    this.buffer.copy(grown, 0, 0, this.used);
    this.buffer = grown;
  }
}
