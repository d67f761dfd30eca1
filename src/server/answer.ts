/**
 * Writes one small, whole answer in one cork: errors, health, metrics. Joins and pages are answered by Exchange, which
 * also waits for slow readers. The response must not be used afterwards.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { encodeError, type MediaType } from '../codec/error-response.js';
import type { MailjoinError } from '../domain/errors.js';
import { RETRY_AFTER_MS } from '../domain/limits.js';

/** The status line of a code. */
export function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: readonly (readonly [string, string])[];
  /** Close the connection once it is sent. */
  readonly close?: boolean;
  /** HEAD: announce the body's length, send none. */
  readonly withoutBody?: boolean;
}

export function sendAnswer(res: HttpResponse, answer: Answer): void {
  res.cork(() => {
    res.writeStatus(statusLine(answer.status)).writeHeader('Content-Type', answer.contentType);
    for (const [name, value] of answer.headers ?? []) res.writeHeader(name, value);
    if (answer.withoutBody === true) {
      // Given a length as its argument, endWithoutBody leaves the response open until so many bytes were written.
      res.writeHeader('Content-Length', String(Buffer.byteLength(answer.body))).endWithoutBody();
    } else {
      res.end(answer.body, answer.close === true);
    }
  });
}

/** The coded answer for an error, in the media type asked for; with a hint where asking again can help soon. */
export function errorAnswer(error: MailjoinError, media: MediaType, close: boolean): Answer {
  const hinted = error.code === 'OVERLOADED' || error.code === 'SHUTTING_DOWN';
  return {
    status: error.status,
    contentType: media,
    body: encodeError(error, hinted ? RETRY_AFTER_MS : 0, media),
    headers: hinted ? [['Retry-After', String(Math.ceil(RETRY_AFTER_MS / 1000))]] : [],
    close,
  };
}
