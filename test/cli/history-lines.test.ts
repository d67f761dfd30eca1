/** Lines of `mailjoin history` on a narrow terminal. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { folded } from '../../src/cli/history-lines.js';
import { visibleText } from '../../src/cli/visible-text.js';

const KIB = 1_024;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

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

  it('never tears a character apart, however long the text', () => {
    const characters = [
      'a',
      '\u4f60',
      'e\u0301',
      '\u{1f1e9}\u{1f1ea}',
      '\u{1f44d}\u{1f3fd}',
      '\u1112\u1161\u11ab',
    ];
    const texts = fc.array(fc.constantFrom(...characters), { minLength: 400, maxLength: 1_200 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 10, max: 40 }), (text, columns) => {
        const lines = folded(text.join(''), columns).split('\n');
        const shown = lines.flatMap((line) => [...segmenter.segment(line.replace(/^ {2}/, ''))]);
        expect(shown.map(({ segment }) => segment)).toEqual(text);
      }),
      { numRuns: 30 },
    );
  });

  it('takes a time that grows with the length of a text, not with its square', () => {
    const startedMs = performance.now();
    folded('a'.repeat(512 * KIB), 80);
    folded('\u4f60'.repeat(128 * KIB), 80);
    // Seen: 2 s, and minutes with one segmenter over it all.
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});
