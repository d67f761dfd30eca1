/** A coded error in each media type (proto: Error). Carries nothing of the request. */
import { Packr } from 'msgpackr';
import type { MailjoinError } from '../domain/errors.js';
import { tagOf, WireType, writeVarint } from './wire.js';

export type MediaType = 'application/x-protobuf' | 'application/msgpack' | 'application/json';

const packr = new Packr({ useRecords: false });

/** The error's body; `retryAfterMs` 0 = no hint. */
export function encodeError(error: MailjoinError, retryAfterMs: number, media: MediaType): Buffer {
  if (media === 'application/x-protobuf') return encodeProtobuf(error, retryAfterMs);
  const fields = {
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    retry_after_ms: retryAfterMs,
  };
  return media === 'application/msgpack' ? packr.pack(fields) : Buffer.from(JSON.stringify(fields));
}

function encodeProtobuf(error: MailjoinError, retryAfterMs: number): Buffer {
  const code = Buffer.from(error.code);
  const message = Buffer.from(error.message);
  const target = Buffer.alloc(code.length + message.length + 24);
  let at = putBytes(target, 0, tagOf(1, WireType.BYTES), code);
  at = putBytes(target, at, tagOf(2, WireType.BYTES), message);
  if (error.retryable) at = writeVarint(target, writeVarint(target, at, tagOf(3, WireType.VARINT)), 1);
  if (retryAfterMs > 0) {
    at = writeVarint(target, writeVarint(target, at, tagOf(4, WireType.VARINT)), Math.ceil(retryAfterMs));
  }
  return target.subarray(0, at);
}

function putBytes(target: Buffer, at: number, tag: number, bytes: Buffer): number {
  const next = writeVarint(target, writeVarint(target, at, tag), bytes.length);
  return next + bytes.copy(target, next);
}
