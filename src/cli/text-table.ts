/** A table for people: columns as wide as their widest cell, two spaces between them, one line a row. Pure. */
import { visibleText } from './visible-text.js';

export function textTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map(visibleText));
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
