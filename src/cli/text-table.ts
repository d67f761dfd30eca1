/** A table for people: columns as wide as their widest cell, two spaces between them, one line a row. Pure. */
import { visibleText } from './visible-text.js';

export function textTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map(visibleText));
  const widths = headings.map((_, column) =>
    // Not Math.max of all: a table may have more rows than a call may have arguments.
    all.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), 0),
  );
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
