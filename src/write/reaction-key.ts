/**
 * The one rule for reaction keys (B46, R2.4), the same on write and where stored keys are compared: U+FE0F (the
 * variation selector that asks for the coloured form) is dropped, then NFC. So U+2764 and U+2764 U+FE0F are one reaction,
 * as are U+1F44D with and without it. Skin tones, sequences joined by U+200D and application-defined texts stay as they
 * are. A key has 1 to 64 bytes of UTF-8 after that and no control characters. Pure.
 */
import { MailjoinError } from '../domain/errors.js';
import { REACTION_KEY_BYTES_MAX } from '../domain/limits.js';

const VARIATION_SELECTOR = /\uFE0F/g;
const FORBIDDEN = /[\p{Surrogate}\p{Control}]/u;

/** The form in which a key is stored and counted; for texts of foreign writers as well. */
export function reactionKeyOf(text: string): string {
  return text.replace(VARIATION_SELECTOR, '').normalize('NFC');
}

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
