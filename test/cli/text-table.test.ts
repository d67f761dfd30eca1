import { expect, it } from 'vitest';
import { textTable } from '../../src/cli/text-table.js';

it('is as wide as its widest cells, also with more rows than a call may have arguments', () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => [String(index), 'x']);
  const lines = textTable(['n', 'letter'], rows).split('\n');
  expect(lines).toHaveLength(rows.length + 1);
  expect([lines[0], lines[1], lines.at(-1)]).toEqual(['n       letter', '0       x', '299999  x']);
});
