/**
 * `mailjoin archive`: the archiver on the log that the settings name, on a file of records, or a copy of the log into
 * such a file. Runs until it is stopped, or once with --until-end; a stop finishes the batch under way.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ArchiveTotals } from '../archive/archive-totals.js';
import { Archiver } from '../archive/archiver.js';
import { ParkingFile } from '../archive/parking-file.js';
import { copyToFile, RecordFile } from '../archive/record-file.js';
import { MailjoinError } from '../domain/errors.js';
import { CQL_ROW_BYTES_MAX, LOG_RECORD_BYTES_MAX } from '../domain/limits.js';
import type { LogReader } from '../domain/write-ports.js';
import { Retention } from '../write/retention.js';
import {
  BROKER_SETTINGS,
  type Command,
  CQL_SETTINGS,
  ExitCode,
  type Invocation,
  JSON_OPTION,
} from './command.js';
import { loadRetention } from './load-retention.js';
import { logKindOf, openLogReader } from './open-log.js';
import { type StopSignal, stopSignal } from './stop-signal.js';
import { openExistingStores, openStores, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';
import { textTable } from './text-table.js';
import { UsageError } from './usage-error.js';

const GROUP_DEFAULT = 'mailjoin-archive';
const PARKING_DEFAULT = 'mailjoin-parked.jsonl';
const PROGRESS_MS = 5_000;

export const archiveCommand: Command = {
  name: 'archive',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Write what the log says into message_record and message_index, until stopped.',
  settings: [
    'config',
    'logLevel',
    'store',
    'dataDir',
    ...CQL_SETTINGS,
    'log',
    ...BROKER_SETTINGS,
    'topic',
    'retentionFile',
  ],
  options: [
    {
      flag: 'group',
      placeholder: 'name',
      meaning: `The consumer group; its members share the work. Default: ${GROUP_DEFAULT}.`,
    },
    { flag: 'until-end', meaning: 'One pass: end when all that the log holds now is archived.' },
    {
      flag: 'from-file',
      placeholder: 'file',
      meaning: 'Archive a file of records instead of the log, from where the last run of the group stopped.',
    },
    {
      flag: 'to-file',
      placeholder: 'file',
      meaning: 'Copy the log as it is now into a new file of records, and write nothing to the store.',
    },
    {
      flag: 'parking-file',
      placeholder: 'file',
      meaning: `Where records that cannot be archived go, as lines of JSON with their reason. Default: ${PARKING_DEFAULT}.`,
    },
    JSON_OPTION,
  ],
  run: archive,
};

async function archive(invocation: Invocation): Promise<ExitCode> {
  const { settings, options } = invocation;
  const toFile = options.get('to-file');
  if (toFile !== undefined && options.has('from-file')) {
    throw new UsageError('--from-file and --to-file cannot be given together');
  }
  const stop = stopSignal();
  // A file or brokers may fill a new store; a log that lies in the store is not there before it is.
  const isOwnLog = !options.has('from-file') && logKindOf(settings) === 'embedded';
  const stores = await (isOwnLog ? openExistingStores : openStores)(settings, systemClock);
  try {
    if (toFile === undefined) await archiveInto(invocation, stores, stop);
    else await copy(invocation, stores, toFile, stop.signal);
    return ExitCode.OK;
  } finally {
    await stores.close();
    stop.release();
  }
}

async function copy(
  { settings, print }: Invocation,
  stores: Stores,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const log = requiredLog(await openLogReader(settings, stores.log, systemClock));
  try {
    print(`copied ${await copyToFile(log, path, signal)} records to ${path}`);
  } finally {
    await log.close();
  }
}

async function archiveInto(invocation: Invocation, stores: Stores, stop: StopSignal): Promise<void> {
  const { settings, options, log: events } = invocation;
  const policies = loadRetention(settings, events, systemClock.epochMs());
  const fromFile = options.get('from-file');
  const reader =
    fromFile === undefined ? requiredLog(await openLogReader(settings, stores.log, systemClock)) : undefined;
  let fileDone = 1;
  const source: Pick<LogReader, 'consume'> =
    reader ??
    new RecordFile({
      path: fromFile ?? '',
      checkpoints: stores.writes,
      clock: systemClock,
      onProgress: (doneBytes, bytes) => {
        fileDone = doneBytes / bytes;
      },
    });
  const archiver = new Archiver({
    log: source,
    group: options.get('group') ?? GROUP_DEFAULT,
    messages: stores.messages,
    writes: stores.writes,
    retention: new Retention(policies, () => events.write('warn', 'retention_unknown')),
    clock: systemClock,
    parking: new ParkingFile(options.get('parking-file') ?? PARKING_DEFAULT),
    rowBytesMax: settings.store === 'cql' ? CQL_ROW_BYTES_MAX : LOG_RECORD_BYTES_MAX,
    sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    onLogFailure: (error) =>
      events.write('warn', 'log_failure', { code: error instanceof MailjoinError ? error.code : 'INTERNAL' }),
    onRetry: (code) => events.write('warn', 'archive_retry', { code }),
    onParked: ({ entry, code, reason }) =>
      events.write('warn', 'archive_parked', {
        code,
        reason,
        partition: entry.partition,
        offset: String(entry.offset),
      }),
  });
  const startedMs = systemClock.nowMs();
  let formerRecords = 0;
  const timer = setInterval(() => {
    const { lag, ...totals } = archiver.totals();
    const perSecond = ((totals.records - formerRecords) * 1000) / PROGRESS_MS;
    formerRecords = totals.records;
    const progress = fromFile === undefined ? { lag: lag?.toString() } : { done: percent(fileDone) };
    events.write('info', 'archive_progress', { ...totals, ...progress, perSecond });
  }, PROGRESS_MS);
  try {
    const until = options.has('until-end') ? await reader?.ends() : undefined;
    await archiver.run(stop.signal, until);
  } finally {
    clearInterval(timer);
    await reader?.close();
    report(invocation, archiver.totals(), systemClock.nowMs() - startedMs);
  }
}

function report({ options, print }: Invocation, totals: ArchiveTotals, elapsedMs: number): void {
  const { lag, ...counts } = totals;
  const perSecond = elapsedMs > 0 ? Math.round((totals.records * 1000) / elapsedMs) : 0;
  if (options.has(JSON_OPTION.flag)) {
    print(JSON.stringify({ ...counts, lag: lag?.toString(), perSecond, elapsedMs: Math.round(elapsedMs) }));
    return;
  }
  print(
    textTable(
      ['archived', 'count', ''],
      [
        ['records', String(counts.records), `${perSecond} a second`],
        ['messages', String(counts.messages), 'rows written, repeated ones included'],
        ['events', String(counts.events), 'recalls and edits written'],
        ['shown', String(counts.shown), 'recalls and edits that their rows showed already'],
        ['expired', String(counts.expired), 'not written: their time was over'],
        ['passed', String(counts.passed), 'reactions, destroyed keys, unknown records'],
        [
          'parked',
          String(counts.parked),
          counts.unkept > 0 ? `${counts.unkept} found no room in the file` : '',
        ],
        ['retries', String(counts.retries), 'attempts that the store failed'],
        ['lag', lag === undefined ? '' : String(lag), 'records that the group has not archived'],
      ],
    ),
  );
}

function requiredLog(log: LogReader | undefined): LogReader {
  if (log !== undefined) return log;
  throw new MailjoinError('CONFIG_INVALID', 'log is none: archive needs --brokers, or --from-file');
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}
