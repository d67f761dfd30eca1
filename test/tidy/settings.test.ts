/** Holds the README's table of settings to the one in the code (else: npm run build && node scripts/readme-tables.mjs). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { environmentOf, flagOf, SETTING_NAMES, settingOf } from '../../src/cli/settings.js';
import { ROOT } from './source-scan.js';

it('the README has every setting with its flag, variable, default and meaning, and no other', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const block = /<!-- settings:begin -->\n([\s\S]*)<!-- settings:end -->/.exec(readme)?.[1] ?? '';
  const rows = block.split('\n').filter((line) => line.startsWith('| `'));
  const expected = SETTING_NAMES.map((name) => {
    const { type, fallback, meaning, secret } = settingOf(name);
    const flag = secret ? '–' : `\`--${flagOf(name)}\``;
    const value = fallback === undefined ? '' : `\`${type.format(fallback)}\``;
    return `| \`${name}\` | ${flag} | \`${environmentOf(name)}\` | ${value} | ${meaning} |`;
  });
  expect(rows).toEqual(expected);
});
