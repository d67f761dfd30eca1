/**
 * Text from outside for a terminal: what would move the cursor, break a line or turn the order of letters is shown as
 * its code point, \\u{1b}. Pure.
 */

// Controls, format characters (bidirectional overrides among them), line and paragraph separators, lone surrogates.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export function visibleText(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
