/**
 * Runs the archiver until it is stopped, or once with --until-end or from a file; a stop finishes the batch under way,
 * and fails a run that was to reach an end (SHUTTING_DOWN).
 * What can be known to fail fails first: a store that is not there yet is made only behind that.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Archiver, type ArchiverOptions } from '../archive/archiver.js';
import { errnoOf } from '../archive/file-problem.js';
import { ParkingFile } from '../archive/parking-file.js';
import { RecordFile, requireRecordFile } from '../archive/record-file.js';
import { MailjoinError } from '../domain/errors.js';
import { CQL_ROW_BYTES_MAX, LOG_RECORD_BYTES_MAX } from '../domain/limits.js';
import type { LogReader } from '../domain/write-ports.js';
import type { Log, LogFields } from '../server/log.js';
import { Retention } from '../write/retention.js';
import { openArchiveLog, requireLog } from './archive-log.js';
import { lagText, reportArchive } from './archive-report.js';
import { BrokerWatch } from './broker-watch.js';
import type { Invocation } from './command.js';
import { FailureLines } from './failure-lines.js';
import { loadRetention } from './load-retention.js';
import { logKindOf } from './open-log.js';
import { openExistingStores, openStores, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';

const PROGRESS_MS = 5_000;

export interface ArchiveRun {
  readonly group: string;
  /** undefined: the log. */
  readonly fromFile: string | undefined;
  readonly parkingFile: string;
  readonly untilEnd: boolean;
}

/** Where records come from. */
interface Source {
  readonly reader: LogReader | undefined;
  readonly log: ArchiverOptions['log'];
  /** What a progress line says of it. */
  readonly progress: (totals: ReturnType<Archiver['totals']>) => LogFields;
}

export async function runArchiver(
  invocation: Invocation,
  run: ArchiveRun,
  signal: AbortSignal,
): Promise<void> {
  const { settings, log: events } = invocation;
  const { fromFile, parkingFile } = run;
  const policies = loadRetention(settings, events, systemClock.epochMs());
  if (fromFile === undefined) requireLog(settings);
  else await requireRecordFile(fromFile);
  const parking = new ParkingFile(parkingFile);
  // A file or brokers may fill a new store; a log that lies in the store is not there before it is. A run that finds no
  // store makes no parking file, and one that can have no parking file makes no store.
  const isOwnLog = fromFile === undefined && logKindOf(settings) === 'embedded';
  if (!isOwnLog) await parking.prepare();
  const stores = await (isOwnLog ? openExistingStores : openStores)(settings, systemClock);
  try {
    if (isOwnLog) await parking.prepare();
    const source =
      fromFile === undefined
        ? logSource(await openArchiveLog(settings, stores.log))
        : fileSource(fromFile, stores, events);
    const logFailures = new FailureLines(events, 'log_failure');
    const archiver = new Archiver({
      log: source.log,
      group: run.group,
      messages: stores.messages,
      writes: stores.writes,
      retention: new Retention(policies, () => events.write('warn', 'retention_unknown')),
      clock: systemClock,
      parking,
      rowBytesMax: settings.store === 'cql' ? CQL_ROW_BYTES_MAX : LOG_RECORD_BYTES_MAX,
      sleep: (ms, waiting) => delay(ms, undefined, { signal: waiting }).catch(() => undefined),
      random: Math.random,
      onLogFailure: (error) => logFailures.add(error),
      onRetry: (code) => events.write('warn', 'archive_retry', { code }),
      onParkingFailure: (error) =>
        events.write('error', 'parking_failure', { file: parkingFile, errno: errnoOf(error) }),
      onParked: ({ entry, code, reason }) =>
        events.write('warn', 'archive_parked', {
          code,
          reason,
          partition: entry.partition,
          offset: String(entry.offset),
        }),
    });
    await watched(archiver, source, run, { invocation, logFailures, signal });
  } finally {
    await stores.close();
  }
}

/** Runs it with a line of progress now and then, and reports. */
async function watched(
  archiver: Archiver,
  { reader, progress }: Source,
  { untilEnd }: ArchiveRun,
  {
    invocation,
    logFailures,
    signal,
  }: {
    readonly invocation: Invocation;
    readonly logFailures: FailureLines;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const startedMs = systemClock.nowMs();
  const watch =
    reader && new BrokerWatch({ log: reader, onFailure: (error: unknown) => logFailures.add(error) });
  watch?.ask();
  let formerRecords = 0;
  const timer = setInterval(() => {
    const totals = archiver.totals();
    const { lag, ...counts } = totals;
    const perSecond = ((totals.records - formerRecords) * 1000) / PROGRESS_MS;
    logFailures.endPeriod();
    if (lag === undefined && totals.records === formerRecords) watch?.ask();
    formerRecords = totals.records;
    invocation.log.write('info', 'archive_progress', { ...counts, ...progress(totals), perSecond });
  }, PROGRESS_MS);
  let isDone = false;
  try {
    await archiver.run(signal, untilEnd ? await reader?.ends() : undefined);
    isDone = true;
  } finally {
    clearInterval(timer);
    watch?.stop();
    await reader?.close();
    const totals = archiver.totals();
    const elapsedMs = systemClock.nowMs() - startedMs;
    // A table of zeros would only hide the error.
    if (isDone || totals.records > 0)
      reportArchive(invocation, totals, { isFile: reader === undefined, elapsedMs });
  }
  // Who waits for the one pass must not take its beginning for all of it.
  if (signal.aborted && (untilEnd || reader === undefined)) {
    throw new MailjoinError('SHUTTING_DOWN', 'stopped before the end; the next run goes on there');
  }
}

function logSource(reader: LogReader): Source {
  return { reader, log: reader, progress: (totals) => ({ lag: lagText(totals) }) };
}

function fileSource(path: string, { writes }: Stores, events: Log): Source {
  let progress: LogFields = {};
  const log = new RecordFile({
    path,
    checkpoints: writes,
    clock: systemClock,
    onChecked: (checkedBytes, bytes) => {
      progress = { checked: percent(checkedBytes, bytes) };
    },
    onProgress: (doneBytes, bytes) => {
      progress = { done: percent(doneBytes, bytes) };
    },
    onAnew: () => events.write('warn', 'archive_file_changed', { file: path }),
  });
  return { reader: undefined, log, progress: () => progress };
}

function percent(part: number, whole: number): string {
  return `${Math.floor((part / whole) * 100)} %`;
}
