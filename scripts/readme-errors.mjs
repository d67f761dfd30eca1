// Writes the error table of src/domain/errors.ts into README.md, between its two markers. Run it after a build:
// the table is read from dist. test/tidy/errors.test.ts fails while the two differ.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { ERROR_TABLE } from '../dist/domain/errors.js';

const README = new URL('../README.md', import.meta.url);
const BEGIN = '<!-- errors:begin -->';
const END = '<!-- errors:end -->';

const rows = Object.entries(ERROR_TABLE).map(([code, { status, retryable, meaning }]) => [
  `\`${code}\``,
  status === 0 ? '–' : String(status),
  retryable ? 'yes' : 'no',
  meaning,
]);
const header = ['code', 'status', 'retry helps', 'meaning'];
// Padded as the formatter wants it.
const widths = header.map((title, column) =>
  Math.max(title.length, ...rows.map((row) => row[column].length)),
);
const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
const rule = widths.map((width) => '-'.repeat(width));
const block = [BEGIN, '', ...[header, rule, ...rows].map(line), '', END].join('\n');

const readme = existsSync(README) ? readFileSync(README, 'utf8') : `# mailjoin\n\n${BEGIN}\n${END}\n`;
const from = readme.indexOf(BEGIN);
const to = readme.indexOf(END);
if (from < 0 || to < from) {
  console.error(`README.md lacks ${BEGIN} … ${END}`);
  process.exit(1);
}
writeFileSync(README, readme.slice(0, from) + block + readme.slice(to + END.length));
