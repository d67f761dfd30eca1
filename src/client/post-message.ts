/** A small protobuf request of any route but the join's, and its response. */
import type { Message } from './call.js';
import type { Response } from './connection.js';
import { asProtocolError, protocolError } from './protocol-error.js';
import { type RequestBuffer, reserveRequest } from './request-buffer.js';
import { sidecarErrorOf } from './sidecar-error.js';

/** `encode` is asked when a connection takes the request; what `decode` throws becomes CLIENT_PROTOCOL. */
export function postMessage<T>(
  path: string,
  encode: () => Uint8Array,
  decode: (body: Uint8Array) => T,
): Message<T> {
  return {
    write(buffer: RequestBuffer): Uint8Array {
      const body = encode();
      const head = `POST ${path} HTTP/1.1\r\nHost: mailjoin\r\nContent-Type: application/x-protobuf\r\nContent-Length: ${body.length}\r\n\r\n`;
      const bytes = reserveRequest(buffer, head.length + body.length);
      const at = bytes.write(head, 'latin1');
      bytes.set(body, at);
      return bytes.subarray(0, at + body.length);
    },
    read(response: Response): T {
      if (response.status !== 200) throw sidecarErrorOf(response);
      if (response.contentType !== 'application/x-protobuf') throw protocolError('another media type');
      try {
        return decode(response.body);
      } catch (error) {
        throw asProtocolError(error);
      }
    },
  };
}
