/**
 * CLIENT_PROTOCOL: what came over the connection is not of this contract, so neither it nor the connection is used
 * any further. The texts name what was found and carry nothing of a response.
 */
import { WireError } from '../codec/wire.js';
import { MailjoinError } from '../domain/errors.js';

export function protocolError(what: string, cause?: unknown): MailjoinError {
  return new MailjoinError('CLIENT_PROTOCOL', what, cause === undefined ? undefined : { cause });
}

/** An error of the wire reader as CLIENT_PROTOCOL; any other as it is. */
export function asProtocolError(error: unknown): unknown {
  return error instanceof WireError ? protocolError(error.message, error) : error;
}
