/**
 * The sidecar's probes: GET /healthz and /readyz. An answer other than 200 is an answer, not an error.
 */
import type { Message } from './call.js';
import type { Response } from './connection.js';
import { type RequestBuffer, reserveRequest } from './request-buffer.js';

export type ProbePath = '/healthz' | '/readyz';

export interface Probe {
  /** True for status 200. */
  readonly ok: boolean;
  readonly status: number;
  /** The response's body as text: what the sidecar says of itself. */
  readonly text: string;
}

export function probeMessage(path: ProbePath): Message<Probe> {
  const head = `GET ${path} HTTP/1.1\r\nHost: mailjoin\r\n\r\n`;
  return {
    write(buffer: RequestBuffer): Uint8Array {
      const bytes = reserveRequest(buffer, head.length);
      return bytes.subarray(0, bytes.write(head, 'latin1'));
    },
    read({ status, body }: Response): Probe {
      const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8');
      return { ok: status === 200, status, text };
    },
  };
}
