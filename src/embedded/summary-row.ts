/**
 * message_reaction_summary as cells, and back (D19). Each count is a cell of its own, named by its reaction key, so a
 * late older version changes only what no newer one has set. Column numbers are part of the file's format.
 */
import type { ReactionSummary } from '../domain/message.js';
import { bigintAt, type CellValue, isLive, type Row } from './cell.js';

const Column = { VERSION: 0, UPDATED_AT: 1 } as const;

export function summaryColumns(summary: ReactionSummary): [number | string, CellValue][] {
  const columns: [number | string, CellValue][] = [[Column.VERSION, summary.version]];
  if (summary.updatedAtMs !== undefined) columns.push([Column.UPDATED_AT, summary.updatedAtMs]);
  return columns.concat(summary.counts.map(([key, count]) => [key, count]));
}

/** The row as it reads at a second. 0 and less stand for "gone", the empty key for a reaction taken back (D19). */
export function readSummary(seq: bigint, row: Row, nowS: number): ReactionSummary | undefined {
  const version = bigintAt(row, Column.VERSION, nowS);
  if (version === undefined) return undefined;
  const counts: [string, number][] = [];
  for (const [key, cell] of row) {
    if (typeof key !== 'string' || key === '' || !isLive(cell, nowS)) continue;
    if (typeof cell.value === 'number' && cell.value > 0) counts.push([key, cell.value]);
  }
  // CQL keeps a map's keys in the order of their UTF-8 bytes.
  counts.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return { seq, version, counts, updatedAtMs: bigintAt(row, Column.UPDATED_AT, nowS) };
}
