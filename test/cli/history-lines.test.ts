/** Lines of `mailjoin history` on a narrow terminal. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { folded } from '../../src/cli/history-lines.js';
import { visibleText } from '../../src/cli/visible-text.js';

describe('folded', () => {
  it.each([
    ['narrow letters', 'abcdefghij', 'abcdef\n  ghij'],
    ['wide letters take two columns', '\u4f60\u597d\u4f60\u597d\u4f60', '\u4f60\u597d\u4f60\n  \u597d\u4f60'],
    ['one that would stand half outside', 'abcde\u597d', 'abcde\n  \u597d'],
    ['marks stay with their letter', 'abcdefe\u0301', 'abcdef\n  e\u0301'],
    ['an emoji of several code points', 'abcde\u{1f1e9}\u{1f1ea}', 'abcde\n  \u{1f1e9}\u{1f1ea}'],
  ])('%s', (_name, text, lines) => {
    expect(folded(text, 6)).toBe(lines);
  });

  it('ends, whatever the text and however narrow the terminal, and loses nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 9 }), (text, columns) => {
        const line = visibleText(text);
        expect(folded(line, columns).replaceAll('\n  ', '')).toBe(line);
      }),
    );
  });
});
