/** What went wrong at a broker, told by the protocol's own name of the error, never by its text. */
import { MailjoinError } from '../domain/errors.js';
import { protocolName, refusalOf } from './refusal.js';

/** The producer's id or sequence numbers are not what the broker expects: it must begin anew. */
const IDENTITY_LOST = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'DUPLICATE_SEQUENCE_NUMBER',
  'INVALID_PRODUCER_EPOCH',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_ID_MAPPING',
]);
const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/** What a failed produce request means for its records. Whatever is not known better may pass: it is tried again. */
export function produceFailure(error: unknown): 'identity' | 'too-large' | 'transient' {
  const name = protocolName(error) ?? '';
  if (IDENTITY_LOST.has(name)) return 'identity';
  return TOO_LARGE.has(name) ? 'too-large' : 'transient';
}

/** Coded errors as they are, refusals as such, anything else as LOG_UNAVAILABLE. */
export function asLogError(error: unknown, doing: string): MailjoinError {
  if (error instanceof MailjoinError) return error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) return refusal;
  const name = protocolName(error);
  return new MailjoinError('LOG_UNAVAILABLE', name === undefined ? doing : `${doing}: ${name}`, {
    cause: error,
  });
}
