/**
 * What a bench prints: the machine, and tables whose last column is the ratio to the row that the table is measured
 * against. Absolute figures say something about one machine; ratios of one run are what is compared.
 */
import { availableParallelism, cpus, totalmem } from 'node:os';

export function printMachine() {
  const model = cpus()[0]?.model ?? 'unknown processor';
  const memoryGib = (totalmem() / 1024 ** 3).toFixed(0);
  console.log(
    `${availableParallelism()} × ${model}, ${memoryGib} GiB, Node ${process.versions.node}, ${process.arch}`,
  );
}

/**
 * @param {string} title
 * @param {{name: string, messagesPerS: number, batchMs?: number, note?: string}[]} rows the first is the base of the ratios
 */
export function printTable(title, rows) {
  const base = rows[0].messagesPerS;
  const cells = rows.map(({ name, messagesPerS, batchMs, note }) => [
    name,
    Math.round(messagesPerS).toLocaleString('en'),
    batchMs === undefined ? '' : batchMs.toFixed(3),
    `${(messagesPerS / base).toFixed(2)} ×`,
    note ?? '',
  ]);
  const head = ['', 'messages/s', 'ms/batch', 'ratio', ''];
  const widths = head.map((text, column) => Math.max(text.length, ...cells.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((text, column) =>
        column === 0 || column === 4 ? text.padEnd(widths[column]) : text.padStart(widths[column]),
      )
      .join('  ');
  console.log(`\n${title}`);
  for (const row of [head, ...cells]) console.log(`  ${line(row).trimEnd()}`);
}

/** The middle of several figures. */
export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
