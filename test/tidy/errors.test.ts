/** Holds the README's error table to the one in the code (style: one table of codes, each with a line in the README). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_TABLE } from '../../src/domain/errors.js';
import { ROOT } from './source-scan.js';

const ROW = /^\| `([A-Z_]+)` +\| (\d{3}|–) +\| (yes|no) +\| (.+?) +\|$/;

/** The rows between the markers of scripts/readme-tables.mjs, in the shape of ERROR_TABLE. */
function tableIn(readme: string): Record<string, { status: number; retryable: boolean; meaning: string }> {
  const block = /<!-- errors:begin -->\n([\s\S]*)<!-- errors:end -->/.exec(readme)?.[1] ?? '';
  const rows = block.split('\n').flatMap((line) => {
    const [, code, status, retry, meaning] = ROW.exec(line) ?? [];
    if (code === undefined || meaning === undefined) return [];
    return [
      [code, { status: status === '–' ? 0 : Number(status), retryable: retry === 'yes', meaning }] as const,
    ];
  });
  return Object.fromEntries(rows);
}

describe('the error table of the README', () => {
  it('is read row by row', () => {
    const readme =
      '<!-- errors:begin -->\n| `A_B` | – | yes | why |\n| `C`   | 404 | no  | x   |\n<!-- errors:end -->';
    expect(tableIn(readme)).toEqual({
      A_B: { status: 0, retryable: true, meaning: 'why' },
      C: { status: 404, retryable: false, meaning: 'x' },
    });
    expect(tableIn('no markers')).toEqual({});
  });

  it('has every code with its status, whether a retry helps, and its meaning (else: npm run build && node scripts/readme-tables.mjs)', () => {
    expect(tableIn(readFileSync(join(ROOT, 'README.md'), 'utf8'))).toEqual(ERROR_TABLE);
  });
});
