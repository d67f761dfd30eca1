/**
 * What a caller may react with (R2.4): the form of a key is domain/reaction.ts's (B46); in that form it has 1 to 64 bytes
 * of UTF-8 and no control characters. Pure.
 */
import { MailjoinError } from '../domain/errors.js';
import { REACTION_KEY_BYTES_MAX } from '../domain/limits.js';
import { reactionKeyOf } from '../domain/reaction.js';

const FORBIDDEN = /[\p{Surrogate}\p{Control}]/u;

/** A caller's key in its stored form; REACTION_INVALID when it is none. */
export function checkedReactionKey(text: string): string {
  const key = reactionKeyOf(text);
  const bytes = Buffer.byteLength(key, 'utf8');
  if (bytes >= 1 && bytes <= REACTION_KEY_BYTES_MAX && !FORBIDDEN.test(key)) return key;
  throw new MailjoinError(
    'REACTION_INVALID',
    `a key has 1 to ${REACTION_KEY_BYTES_MAX} bytes, no control characters`,
  );
}
