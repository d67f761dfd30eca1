import { describe, expect, it } from 'vitest';
import { textTable } from '../../src/cli/text-table.js';
import { visibleText } from '../../src/cli/visible-text.js';

describe('visibleText', () => {
  it.each([
    ['\u001b[2J', '\\u{1b}[2J'],
    ['a\nb\rc\td', 'a\\u{a}b\\u{d}c\\u{9}d'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
    ['\u009b31m', '\\u{9b}31m'],
    ['\u2028', '\\u{2028}'],
    ['\ud800', '\\u{d800}'],
  ])('shows %j as code points', (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  it('leaves letters of every script, and pictures, as they are', () => {
    for (const text of ['tenant-1/conv', 'ключ', '密钥', 'कुंजी', '🔑']) expect(visibleText(text)).toBe(text);
  });
});

describe('textTable', () => {
  it('keeps one line for a row whatever its cells hold, and its columns in line', () => {
    const lines = textTable(
      ['id', 'n'],
      [
        ['a\nb', '1'],
        ['c', '2'],
      ],
    ).split('\n');
    expect(lines).toEqual(['id       n', 'a\\u{a}b  1', 'c        2']);
  });
});
