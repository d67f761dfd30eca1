/** `mailjoin capacity`: b_row measured on a sample of the user's own rows, and the formulas of R7 with it. */
import {
  type CapacityInput,
  type Measured,
  measure,
  partitionBytes,
  residentBytes,
} from '../archive/capacity.js';
import { SAMPLE_ROWS_DEFAULT, SAMPLE_ROWS_MAX } from '../domain/limits.js';
import { Retention } from '../write/retention.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import { loadRetention } from './load-retention.js';
import { numberOption } from './number-option.js';
import { openExistingStores } from './stores.js';
import { systemClock } from './system-clock.js';
import { textTable } from './text-table.js';

/** R7.1's start tier. */
const INPUT_DEFAULT: CapacityInput = {
  messagesPerDay: 2e7,
  replicas: 3,
  days: 365,
  spaceAmplification: 1.2,
};

export const capacityCommand: Command = {
  name: 'capacity',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Measure a row on a sample of the store, and what a year of messages takes with it.',
  settings: ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS, 'retentionFile'],
  options: [
    {
      flag: 'messages-per-day',
      placeholder: 'n',
      meaning: `Default: ${INPUT_DEFAULT.messagesPerDay}.`,
    },
    {
      flag: 'replicas',
      placeholder: 'n',
      meaning: `Copies of each row. Default: ${INPUT_DEFAULT.replicas}.`,
    },
    {
      flag: 'days',
      placeholder: 'n',
      meaning: `How long messages are kept. Default: ${INPUT_DEFAULT.days}.`,
    },
    {
      flag: 'space-amplification',
      placeholder: 'x',
      meaning: `What compaction adds on disk. Default: ${INPUT_DEFAULT.spaceAmplification}.`,
    },
    {
      flag: 'rows',
      placeholder: 'n',
      meaning: `Rows of the sample. Default: ${SAMPLE_ROWS_DEFAULT}, at most ${SAMPLE_ROWS_MAX}.`,
    },
    JSON_OPTION,
  ],
  run: capacity,
};

async function capacity(invocation: Invocation): Promise<ExitCode> {
  const { settings, options, log, print } = invocation;
  const input: CapacityInput = {
    messagesPerDay: numberOption(options, 'messages-per-day', INPUT_DEFAULT.messagesPerDay, {
      min: 0,
      max: 1e15,
    }),
    replicas: numberOption(options, 'replicas', INPUT_DEFAULT.replicas, { min: 1, max: 100 }),
    days: numberOption(options, 'days', INPUT_DEFAULT.days, { min: 0, max: 36_500, whole: false }),
    spaceAmplification: numberOption(options, 'space-amplification', INPUT_DEFAULT.spaceAmplification, {
      min: 1,
      max: 100,
      whole: false,
    }),
  };
  const rowsMax = numberOption(options, 'rows', SAMPLE_ROWS_DEFAULT, { min: 1, max: SAMPLE_ROWS_MAX });
  const policies = loadRetention(settings, log, systemClock.epochMs());
  const stores = await openExistingStores(settings, systemClock);
  try {
    const retention = new Retention(policies, () => log.write('warn', 'retention_unknown'));
    const sample = await stores.sampler.sampleRows(rowsMax, Math.random);
    const measured = measure(sample, retention, systemClock.epochMs());
    if (measured === undefined) {
      print(options.has(JSON_OPTION.flag) ? JSON.stringify({ rows: 0 }) : `${stores.place} holds no rows`);
    } else if (options.has(JSON_OPTION.flag)) print(json(input, measured));
    else print(table(input, measured));
    return ExitCode.OK;
  } finally {
    await stores.close();
  }
}

function json(input: CapacityInput, measured: Measured): string {
  return JSON.stringify({
    ...measured,
    input,
    residentBytes: residentBytes(input, measured.bRow),
    partitionBytes: partitionBytes(measured.bRow),
  });
}

function table(input: CapacityInput, measured: Measured): string {
  const { wire, disk, rows } = measured;
  const share = (count: number): string => `${((100 * count) / rows).toFixed(1)} %`;
  const { messagesPerDay, replicas, days, spaceAmplification } = input;
  return textTable(
    ['measured', 'value', ''],
    [
      ['rows sampled', String(rows), ''],
      [
        'b_row on the wire',
        bytesText(wire.mean),
        `median ${bytesText(wire.median)}, 99 % ${bytesText(wire.p99)}, largest ${bytesText(wire.max)}`,
      ],
      disk === undefined
        ? [
            'b_row on disk',
            'not known',
            measured.isDiskOfParts
              ? 'the server’s estimate is of the parts that files have of a partition; below, the wire’s is used'
              : 'the server has no estimate of the table yet; below, the wire’s is used',
          ]
        : ['b_row on disk', bytesText(disk.bytesPerRow), disk.basis],
      [
        'resident (R7.1)',
        bytesText(residentBytes(input, measured.bRow)),
        `${messagesPerDay} messages a day × b_row × ${spaceAmplification} × ${replicas} copies × ${days} days`,
      ],
      ['full partition (R7.2)', bytesText(partitionBytes(measured.bRow)), '4,096 rows'],
      ['rows without TTL', share(measured.lasting), 'holds, unknown policies'],
      ['longer than their policy', share(measured.longerThanPolicy), ''],
      ['changed in a later window', share(measured.changedInLaterWindow), 'edits and recalls, 7 days'],
      ['keep files from being dropped', share(measured.keepingFiles), 'any of these (D21)'],
    ],
  );
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** Powers of 1000, as R7.1 counts. */
function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toPrecision(3)} ${UNITS[power]}`;
}
