/**
 * The buffer that one connection's requests are encoded in, used again for each of them: a connection serves one
 * request at a time, so its bytes are left alone until the response is there. Grows; its owner drops a large one.
 */
import { CLIENT_REQUEST_BYTES_KEPT } from '../domain/limits.js';

const INITIAL_BYTES = 16 * 1024;

export interface RequestBuffer {
  bytes: Buffer;
}

export function createRequestBuffer(): RequestBuffer {
  return { bytes: Buffer.allocUnsafeSlow(Math.min(INITIAL_BYTES, CLIENT_REQUEST_BYTES_KEPT)) };
}

/** Makes room for `bytes`; what the buffer held is lost when it grows. */
export function reserveRequest(buffer: RequestBuffer, bytes: number): Buffer {
  if (bytes > buffer.bytes.length) {
    buffer.bytes = Buffer.allocUnsafeSlow(Math.max(bytes, buffer.bytes.length * 2));
  }
  return buffer.bytes;
}
