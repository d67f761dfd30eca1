// Writes the table of errors (src/domain/errors.ts) and the table of settings (src/cli/settings.ts) into README.md, each
// between its two markers. Run it after a build: both are read from dist. test/tidy fails while they differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { environmentOf, flagOf, SETTING_NAMES, settingOf } from '../dist/cli/settings.js';
import { ERROR_TABLE } from '../dist/domain/errors.js';

const README = new URL('../README.md', import.meta.url);

const errors = Object.entries(ERROR_TABLE).map(([code, { status, retryable, meaning }]) => [
  `\`${code}\``,
  status === 0 ? '–' : String(status),
  retryable ? 'yes' : 'no',
  meaning,
]);

const settings = SETTING_NAMES.map((name) => {
  const { type, fallback, meaning, secret } = settingOf(name);
  const flag = secret ? '–' : `\`--${flagOf(name)}\``;
  const value = fallback === undefined ? '' : `\`${type.format(fallback)}\``;
  return [`\`${name}\``, flag, `\`${environmentOf(name)}\``, value, meaning];
});

function block(title, header, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = header.map(() => '---');
  return [
    `<!-- ${title}:begin -->`,
    '',
    ...[header, rule, ...rows].map(line),
    '',
    `<!-- ${title}:end -->`,
  ].join('\n');
}

function replaced(readme, title, text) {
  const from = readme.indexOf(`<!-- ${title}:begin -->`);
  const end = `<!-- ${title}:end -->`;
  const to = readme.indexOf(end);
  if (from < 0 || to < from) throw new Error(`README.md lacks the markers of ${title}`);
  return readme.slice(0, from) + text + readme.slice(to + end.length);
}

let readme = readFileSync(README, 'utf8');
readme = replaced(readme, 'errors', block('errors', ['code', 'status', 'retry helps', 'meaning'], errors));
readme = replaced(
  readme,
  'settings',
  block('settings', ['setting', 'flag', 'environment', 'default', 'meaning'], settings),
);
writeFileSync(README, readme);
