/** What `calibrate` tells people: tables of what was measured, the constants, the IN cap and how good the fit is. Pure. */
import type { Calibration, SizeFindings } from '../calibrate/calibration.js';
import { FIT_ERROR_MAX } from '../calibrate/fit-costs.js';
import type { ReadPoint } from '../calibrate/read-points.js';
import { textTable } from './text-table.js';

/** Columns of the table of one size: a shape at a density. */
const COLUMNS: readonly {
  readonly heading: string;
  readonly shape: ReadPoint['shape'];
  readonly stride: number;
}[] = [
  { heading: 'range', shape: 'range', stride: 1 },
  { heading: 'covering 1/2', shape: 'covering', stride: 2 },
  { heading: '1/4', shape: 'covering', stride: 4 },
  { heading: '1/8', shape: 'covering', stride: 8 },
  { heading: '1/16', shape: 'covering', stride: 16 },
  { heading: 'IN 1/1', shape: 'in', stride: 1 },
  { heading: '1/4', shape: 'in', stride: 4 },
  { heading: '1/16', shape: 'in', stride: 16 },
];

export function calibrationReport(calibration: Calibration): string {
  const { sizes, inCaps, isFurtherMeasured, constants, measurement } = calibration;
  const parts = sizes.map(
    (size) =>
      `rows of ${size.rowBytes} B: µs of one read by wanted messages n and density (µs for each wanted message)\n${sizeTable(size)}`,
  );
  parts.push(
    textTable(
      ['rows', 'S: statement', 'R: row of a range', 'I: element of IN', 'crossover', 'half error range, IN'],
      sizes.map(({ rowBytes, fit, crossover }) => [
        `${rowBytes} B`,
        `${micros(fit.statementMicros)} µs`,
        `${micros(fit.rangeRowMicros)} µs`,
        `${micros(fit.inElementMicros)} µs`,
        crossover === undefined ? 'none' : `${crossover.toFixed(2)} rows for a message`,
        `${percent(fit.rangeError)}, ${percent(fit.inError)}`,
      ]),
    ),
  );
  if (inCaps.length > 0) {
    parts.push(
      textTable(
        [
          'IN cap',
          'scattered messages',
          'statements',
          'wall time',
          'one after the other, by the constants',
          '',
        ],
        inCaps.map(({ inCap, wanted, statements, medianMicros, workMicros }) => [
          String(inCap),
          String(wanted),
          String(statements),
          `${micros(medianMicros)} µs`,
          `${micros(workMicros)} µs`,
          inCap === constants.inCap ? 'chosen' : '',
        ]),
      ),
    );
  }
  parts.push(
    isFurtherMeasured
      ? `a further statement sent together with others costs ${micros(constants.furtherStatementMicros)} µs; alone it takes ${micros(constants.statementMicros)} µs`
      : `what a further statement costs that is sent together with others was not measured; it counts like one alone, ${micros(constants.statementMicros)} µs`,
  );
  const { roundsDone, reads, failures, changedReads } = measurement;
  const changed =
    changedReads === 0 ? '' : `, ${changedReads} brought other rows than before and do not count`;
  parts.push(`${reads} reads in ${roundsDone} rounds, ${failures} failed${changed}`);
  return parts.join('\n\n');
}

/** What the user should know before trusting the figures; none when nothing is. */
export function calibrationWarnings({ sizes, inCaps, constants, measurement }: Calibration): string[] {
  const warnings: string[] = [];
  for (const { rowBytes, fit } of sizes) {
    if (Math.max(fit.rangeError ?? 0, fit.inError ?? 0) > FIT_ERROR_MAX) {
      warnings.push(
        `rows of ${rowBytes} B: the points lie far from their lines (half error ${percent(fit.rangeError)} and ${percent(fit.inError)}); repeat it on a quieter machine or with more rounds`,
      );
    }
  }
  const refusedLists = measurement.refused.filter(({ shape }) => shape === 'in').map(({ inCap }) => inCap);
  if (refusedLists.length > 0) {
    warnings.push(
      `the store does not answer IN lists of ${Math.min(...refusedLists)} elements and more; the cap stays below`,
    );
  }
  for (const { shape, wanted, stride, group } of measurement.refused) {
    if (shape !== 'in') {
      warnings.push(
        `the store does not answer a ${shape} of ${(wanted - 1) * stride + 1} rows of ${sizes[group]?.rowBytes} B in time`,
      );
    }
  }
  if (inCaps.length === 0) warnings.push(`no IN cap was measured; it stays ${constants.inCap}`);
  return warnings;
}

function sizeTable({ figures }: SizeFindings): string {
  const lengths = [...new Set(figures.map(({ point }) => point.wanted))].sort((a, b) => a - b);
  return textTable(
    ['n', ...COLUMNS.map(({ heading }) => heading)],
    lengths.map((wanted) => [
      String(wanted),
      ...COLUMNS.map(({ shape, stride }) => {
        const found = figures.find(
          ({ point }) => point.shape === shape && point.wanted === wanted && point.stride === stride,
        );
        if (found === undefined) return '';
        return `${micros(found.medianMicros)} (${micros(found.medianMicros / wanted)})`;
      }),
    ]),
  );
}

function micros(value: number): string {
  return value < 100 ? Number(value.toPrecision(3)).toString() : Math.round(value).toLocaleString('en');
}

function percent(share: number | undefined): string {
  return share === undefined ? 'none' : `${(100 * share).toFixed(1)} %`;
}
