/**
 * What a request's length headers say before its body arrives (B25). Pure.
 *
 * uWebSockets.js calls the route before it looks at these headers itself, takes a Content-Length up to ten digits
 * at its word and reads the first of two; so they are judged here, and a request that fails is answered and its
 * connection closed, since what follows on it cannot be told apart any more. Where the library then finds the
 * header malformed too (a sign, letters), its own 400 replaces the coded one.
 */
import { MailjoinError } from '../domain/errors.js';
import { REQUEST_BYTES_MAX } from '../domain/limits.js';

/** The body's length is not announced: chunked, or no length header at all. */
export const LENGTH_UNKNOWN = -1;

const LENGTH = /^[0-9]{1,15}$/;

/**
 * The announced body length in bytes, or LENGTH_UNKNOWN. `contentLengths` and `transferEncodings` are the values of
 * every such header in the request. Throws LENGTH_INVALID or REQUEST_TOO_LARGE.
 */
export function announcedBodyBytes(
  contentLengths: readonly string[],
  transferEncodings: readonly string[],
): number {
  if (transferEncodings.length > 0) {
    if (contentLengths.length > 0) {
      throw new MailjoinError('LENGTH_INVALID', 'both content-length and transfer-encoding');
    }
    if (transferEncodings.length > 1 || transferEncodings[0]?.toLowerCase() !== 'chunked') {
      throw new MailjoinError('LENGTH_INVALID', 'only the transfer-encoding "chunked" is taken');
    }
    return LENGTH_UNKNOWN;
  }
  if (contentLengths.length === 0) return LENGTH_UNKNOWN;
  if (contentLengths.length > 1) throw new MailjoinError('LENGTH_INVALID', 'several content-length headers');
  const text = contentLengths[0] as string;
  if (!LENGTH.test(text)) throw new MailjoinError('LENGTH_INVALID', 'content-length is not a decimal number');
  const bytes = Number(text);
  if (bytes > REQUEST_BYTES_MAX) {
    throw new MailjoinError('REQUEST_TOO_LARGE', `${bytes} bytes, at most ${REQUEST_BYTES_MAX}`);
  }
  return bytes;
}
