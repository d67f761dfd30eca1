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
 * Processor time beside elapsed time: on a machine that others use too, it is the steadier of the two.
 *
 * @param {string} title
 * @param {{name: string, messagesPerS: number, batchMs?: number, ownMicros: number, sidecarMicros?: number, note?: string}[]} rows
 *   the first is the base of the ratios; micros are processor time per message, here and in the sidecar
 */
export function printTable(title, rows) {
  const base = rows[0].messagesPerS;
  const cells = rows.map(({ name, messagesPerS, batchMs, ownMicros, sidecarMicros, note }) => [
    name,
    Math.round(messagesPerS).toLocaleString('en'),
    `${(messagesPerS / base).toFixed(2)} ×`,
    batchMs?.toFixed(3) ?? '',
    ownMicros.toFixed(2),
    sidecarMicros?.toFixed(2) ?? '',
    note ?? '',
  ]);
  printRows(
    title,
    ['', 'messages/s', 'ratio', 'ms/batch', 'CPU µs/message here', 'in the sidecar', ''],
    cells,
  );
}

/** A table of texts: the first column and one without a title are aligned as text, the others as figures. */
export function printRows(title, head, cells) {
  const widths = head.map((text, column) => Math.max(text.length, ...cells.map((row) => row[column].length)));
  const isText = (column) => column === 0 || head[column] === '';
  const pad = (text, column) =>
    isText(column) ? text.padEnd(widths[column]) : text.padStart(widths[column]);
  console.log(`\n${title}`);
  for (const row of [head, ...cells]) console.log(`  ${row.map(pad).join('  ').trimEnd()}`);
}

/** Runs `work`, which answers { messages, batches?, tookMs? }, and adds rates and processor time to its answer. */
export async function measure(sidecar, work) {
  const sidecarBeforeMs = sidecar.cpuMs();
  const before = process.cpuUsage();
  const startedMs = performance.now();
  const answer = await work();
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  const { messages, batches, tookMs = elapsedMs } = answer;
  return {
    ...answer,
    messagesPerS: (messages / tookMs) * 1000,
    batchMs: batches === undefined ? undefined : tookMs / batches,
    ownMicros: (user + system) / messages,
    sidecarMicros:
      batches === undefined ? undefined : ((sidecar.cpuMs() - sidecarBeforeMs) * 1000) / messages,
  };
}

/** The middle of several measurements, figure by figure. */
export function middle(measurements) {
  const names = ['messagesPerS', 'batchMs', 'ownMicros', 'sidecarMicros'];
  return Object.fromEntries(
    names
      .filter((name) => measurements[0][name] !== undefined)
      .map((name) => [name, median(measurements.map((measurement) => measurement[name]))]),
  );
}

/** The middle of several figures. */
export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
