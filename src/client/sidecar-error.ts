/**
 * The sidecar's coded errors (proto: Error) as exceptions. A code that this version does not know stays readable in
 * `sidecarCode`; whether a retry can help is then the sidecar's word, not this table's.
 */

import { tagOf, WireReader, WireType } from '../codec/wire.js';
import { ERROR_TABLE, type ErrorCode, MailjoinError } from '../domain/errors.js';
import type { Response } from './connection.js';
import { asProtocolError, protocolError } from './protocol-error.js';

const TAG = {
  CODE: tagOf(1, WireType.BYTES),
  MESSAGE: tagOf(2, WireType.BYTES),
  RETRYABLE: tagOf(3, WireType.VARINT),
  RETRY_AFTER_MS: tagOf(4, WireType.VARINT),
} as const;

/** An error that the sidecar answered with. `code` is its own where it is known, else INTERNAL. */
export class SidecarError extends MailjoinError {
  /** The code as the sidecar sent it. */
  readonly sidecarCode: string;
  readonly httpStatus: number;
  /** Milliseconds that the sidecar asks to wait before the next attempt; 0 = no hint. */
  readonly retryAfterMs: number;
  private readonly canRetry: boolean;

  constructor(
    sidecarCode: string,
    httpStatus: number,
    text: string,
    canRetry: boolean,
    retryAfterMs: number,
  ) {
    const code = isErrorCode(sidecarCode) ? sidecarCode : 'INTERNAL';
    super(code, detailOf(code, sidecarCode, text));
    this.name = 'SidecarError';
    this.sidecarCode = sidecarCode;
    this.httpStatus = httpStatus;
    this.canRetry = canRetry;
    this.retryAfterMs = retryAfterMs;
  }

  override get status(): number {
    return this.httpStatus;
  }

  override get retryable(): boolean {
    return this.canRetry;
  }
}

/** The error in a response whose status is not 200; CLIENT_PROTOCOL when there is none to be read. */
export function sidecarErrorOf({ status, contentType, body }: Response): MailjoinError {
  if (contentType !== 'application/x-protobuf')
    return protocolError(`status ${status} without a coded error`);
  let code = '';
  let text = '';
  let canRetry = false;
  let retryAfterMs = 0;
  try {
    const reader = new WireReader(body);
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
      if (tag === TAG.CODE) code = Buffer.from(reader.view()).toString('utf8');
      else if (tag === TAG.MESSAGE) text = Buffer.from(reader.view()).toString('utf8');
      else if (tag === TAG.RETRYABLE) canRetry = reader.uint32() !== 0;
      else if (tag === TAG.RETRY_AFTER_MS) retryAfterMs = reader.uint32();
      else reader.skip(tag);
    }
  } catch (error) {
    throw asProtocolError(error);
  }
  if (code === '') return protocolError(`status ${status} without a coded error`);
  return new SidecarError(code, status, text, canRetry, retryAfterMs);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_TABLE, code);
}

/** The sidecar's text usually starts with the table's meaning, which MailjoinError puts in front by itself. */
function detailOf(code: ErrorCode, sidecarCode: string, text: string): string | undefined {
  if (code !== sidecarCode) return text === '' ? sidecarCode : `${sidecarCode}: ${text}`;
  const { meaning } = ERROR_TABLE[code];
  const rest = text.startsWith(meaning) ? text.slice(meaning.length).replace(/^: /, '') : text;
  return rest === '' ? undefined : rest;
}
