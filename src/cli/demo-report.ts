/** What the demo prints of its joins: two tables for people. Pure. */
import type { ReceiptCounts } from '../codec/receipt.js';
import type { DemoJoin } from './demo-join.js';
import { textTable } from './text-table.js';

/** The joins of one pass that a row stands for. */
interface Row {
  readonly name: string;
  readonly cold: readonly DemoJoin[];
  readonly warm: readonly DemoJoin[];
}

/** `cold` and `warm`: the same batches in the same order. */
export function demoReport(cold: readonly DemoJoin[], warm: readonly DemoJoin[]): string {
  const rows = rowsOf(cold, warm);
  const headings = [
    'batch',
    'entries',
    'results',
    'reads',
    'of them ranges',
    'rows',
    'bodies',
    'hits, second pass',
  ];
  const costs = textTable(headings, rows.map(costCells));
  const times = textTable(
    [
      'µs per batch',
      'decode',
      'plan',
      'read',
      'keys',
      'open',
      'sidecar',
      'client',
      'second pass: sidecar',
      'client',
    ],
    rows.map(timeCells),
  );
  return `${costs}\n\n${times}\n(times of groups read side by side add up to more than the whole)`;
}

/** Backlogs one by one; the many live batches as one row. */
function rowsOf(cold: readonly DemoJoin[], warm: readonly DemoJoin[]): Row[] {
  const rows: Row[] = [];
  const isLive = ({ batch }: DemoJoin) => batch.kind === 'PUSH_EVENTS';
  for (const [index, join] of cold.entries()) {
    const again = warm[index];
    if (!isLive(join) && again !== undefined)
      rows.push({ name: join.batch.name, cold: [join], warm: [again] });
  }
  const live = cold.filter(isLive);
  return [...rows, { name: `${live.length} live batches`, cold: live, warm: warm.filter(isLive) }];
}

function costCells({ name, cold, warm }: Row): string[] {
  const results = new Map<string, number>();
  for (const join of cold) {
    for (const [result, count] of join.results) results.set(result, (results.get(result) ?? 0) + count);
  }
  const kinds = [...results].sort(([, a], [, b]) => b - a).map(([result, count]) => `${result} ${count}`);
  const ranges = sum(cold, 'rangeStatements') + sum(cold, 'coveringStatements');
  const hits = sum(warm, 'cacheHits');
  return [
    name,
    String(cold.reduce((total, { batch }) => total + batch.entries.length, 0)),
    kinds.join(', '),
    String(cold.reduce((total, { reads }) => total + reads, 0)),
    String(ranges),
    String(sum(cold, 'rows')),
    `${Math.round(sum(cold, 'bodyBytes') / 1024)} KiB`,
    `${hits} of ${sum(warm, 'messages')}`,
  ];
}

function timeCells({ name, cold, warm }: Row): string[] {
  const stages = [
    'decodeMicros',
    'planMicros',
    'readMicros',
    'keyMicros',
    'openMicros',
    'totalMicros',
  ] as const;
  const clientMicros = (joins: readonly DemoJoin[]) =>
    Math.round((joins.reduce((total, { tookMs }) => total + tookMs, 0) * 1000) / joins.length);
  return [
    name,
    ...stages.map((stage) => String(Math.round(sum(cold, stage) / cold.length))),
    String(clientMicros(cold)),
    String(Math.round(sum(warm, 'totalMicros') / warm.length)),
    String(clientMicros(warm)),
  ];
}

function sum(joins: readonly DemoJoin[], field: keyof ReceiptCounts): number {
  return joins.reduce((total, { receipt }) => total + receipt[field], 0);
}
