/**
 * What `mailjoin calibrate` does: finds or writes rows, measures reads of them, and tells a table, a picture, and a file
 * whose constants `serve --read-costs` plans with.
 *
 * Its files are written last, whole and both; a run that was stopped or failed writes none. That they can be written is
 * found out before minutes of measuring, not after. The rows that it wrote have a TTL.
 */
import { strict as assert } from 'node:assert';
import os from 'node:os';
import {
  type Calibration,
  calibrationOf,
  type RunDescription,
  readCostFile,
} from '../calibrate/calibration.js';
import { crossoverChart } from '../calibrate/crossover-chart.js';
import { findRows } from '../calibrate/existing-rows.js';
import { type Measurement, measure } from '../calibrate/measure.js';
import { readPoints } from '../calibrate/read-points.js';
import type { SiteGroup } from '../calibrate/site.js';
import { writeRows } from '../calibrate/written-rows.js';
import type { CalibrateRequest } from './calibrate-command.js';
import { calibrationReport, calibrationWarnings } from './calibrate-report.js';
import { ExitCode, type Invocation, JSON_OPTION } from './command.js';
import { DemoRandom } from './demo-random.js';
import { FilesTogether, PlaceError } from './files-together.js';
import { stopSignal } from './stop-signal.js';
import { openExistingStores, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';
import { UsageError } from './usage-error.js';

/** Progress is told this often at most. */
const TELL_MS = 2_000;

export async function calibrate(request: CalibrateRequest, invocation: Invocation): Promise<ExitCode> {
  // Before anything is there that a signal would leave behind.
  const stop = stopSignal();
  try {
    const files = await reserveFiles(request);
    try {
      return await calibrateInto(files, request, stop.signal, invocation);
    } finally {
      await files.discard();
    }
  } finally {
    stop.release();
  }
}

async function reserveFiles({ svg, output }: CalibrateRequest): Promise<FilesTogether> {
  try {
    return await FilesTogether.reserve([output, svg]);
  } catch (error) {
    if (!(error instanceof PlaceError)) throw error;
    throw new UsageError(`--${error.place === output ? 'output' : 'svg'}: ${error.message}`);
  }
}

async function calibrateInto(
  files: FilesTogether,
  request: CalibrateRequest,
  signal: AbortSignal,
  { settings, options, print, tell }: Invocation,
): Promise<ExitCode> {
  const stores = await openExistingStores(settings, systemClock);
  try {
    const found = await measureOn(stores, request, signal, tell);
    if (found === undefined) {
      tell('stopped: no file was written');
      return ExitCode.FAILED;
    }
    const { calibration, seconds } = found;
    const run: RunDescription = {
      measuredAt: new Date(systemClock.epochMs()).toISOString(),
      store: settings.store,
      place: stores.place,
      rows: request.isExisting ? 'existing' : 'written',
      seed: request.seed,
      seconds,
      machine: { cores: os.availableParallelism(), memoryBytes: os.totalmem(), node: process.version },
    };
    const file = readCostFile(calibration, run);
    await files.write([file, chartOf(calibration, run)]);
    for (const warning of calibrationWarnings(calibration)) tell(`warning: ${warning}`);
    print(options.has(JSON_OPTION.flag) ? file.trimEnd() : calibrationReport(calibration));
    if (!options.has(JSON_OPTION.flag)) {
      print(`\nwritten: ${request.output} (for serve --read-costs) and ${request.svg}`);
    }
    return ExitCode.OK;
  } finally {
    await stores.close();
  }
}

/** Rows, then reads; undefined when it was stopped. */
async function measureOn(
  stores: Stores,
  { isExisting, rowBytes, rounds, seconds, seed }: CalibrateRequest,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<{ calibration: Calibration; seconds: number } | undefined> {
  const tellNow = throttled(tell);
  const groups: readonly SiteGroup[] | undefined = isExisting
    ? await findRows({
        heads: stores.writes,
        buckets: stores.buckets,
        signal,
        onProgress: (found, read) => tellNow(`looking for full buckets: ${found} among ${read}`),
        onUnreadable: (count, { code }) =>
          tell(`warning: buckets that could not be read and are left out: ${count} (${code})`),
      })
    : await writeRows({
        writer: stores.messages,
        clock: systemClock,
        rowBytes,
        signal,
        onProgress: (written, rows) => tellNow(`writing rows: ${written} of ${rows}`, written === rows),
      });
  if (groups === undefined) return undefined;
  const points = readPoints(groups);
  const buckets = groups.reduce((sum, { sites }) => sum + sites.length, 0);
  tell(`measuring ${points.length} kinds of reads in ${buckets} buckets, seed ${seed}`);
  const random = new DemoRandom(seed);
  const startedMs = systemClock.nowMs();
  const measurement: Measurement | undefined = await measure({
    reader: stores.messages,
    clock: systemClock,
    groups,
    points,
    rounds,
    withinMs: seconds * 1_000,
    random: () => random.fraction(),
    signal,
    onProgress: ({ roundsDone, msLeft }) => {
      if (msLeft === undefined) return;
      const left = msLeft === 0 ? 'done' : `about ${Math.ceil(msLeft / 1_000)} s left`;
      tellNow(`round ${roundsDone} of ${rounds}, ${left}`, msLeft === 0);
    },
  });
  if (measurement === undefined) return undefined;
  const spentMs = systemClock.nowMs() - startedMs;
  return { calibration: calibrationOf(groups, measurement), seconds: Math.round(spentMs / 100) / 10 };
}

function chartOf(
  { sizes, isFurtherMeasured, constants, measurement }: Calibration,
  run: RunDescription,
): string {
  const [first, ...others] = sizes;
  assert(first !== undefined, 'a run has a size of rows');
  const micros = (value: number): string => `${Number(value.toPrecision(3))} µs`;
  const { statementMicros, furtherStatementMicros, rangeRowMicros, inElementMicros, inCap } = constants;
  const further = isFurtherMeasured ? ` (a further one ${micros(furtherStatementMicros)})` : '';
  return crossoverChart([first, ...others], {
    title: `What reads of one bucket cost: ${run.place}`,
    subtitle: `a statement ${micros(statementMicros)}${further}, and a row of a range ${micros(rangeRowMicros)} or an element of an IN list ${micros(inElementMicros)}; IN cap ${inCap}; ${measurement.roundsDone} rounds, ${run.measuredAt.slice(0, 10)}`,
  });
}

/** Says a line now and then; the last one always. */
function throttled(tell: (line: string) => void): (line: string, isLast?: boolean) => void {
  let toldAtMs = systemClock.nowMs();
  return (line, isLast = false) => {
    const nowMs = systemClock.nowMs();
    if (!isLast && nowMs - toldAtMs < TELL_MS) return;
    toldAtMs = nowMs;
    tell(line);
  };
}
