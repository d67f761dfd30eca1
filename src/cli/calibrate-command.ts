/**
 * `mailjoin calibrate`: what a range, a covering range and an IN list cost on the user's own store (R7.3, D5). This file
 * is what it takes; what it does (calibrate.ts) is loaded with the libraries of its picture when it is run, and only then.
 */
import fs from 'node:fs';
import path from 'node:path';
import {
  CALIBRATE_ROUNDS_DEFAULT,
  CALIBRATE_ROUNDS_MAX,
  CALIBRATE_ROUNDS_MIN,
  CALIBRATE_ROW_BYTES_MAX,
  CALIBRATE_ROW_SIZES_MAX,
  CALIBRATE_SECONDS_DEFAULT,
  CALIBRATE_SECONDS_MAX,
  CALIBRATE_TTL_SECONDS,
  PARTITION_ROWS_MAX,
} from '../domain/limits.js';
import { type Command, CQL_SETTINGS, type Invocation, JSON_OPTION } from './command.js';
import { numberOption } from './number-option.js';
import { UsageError } from './usage-error.js';

/** The spec's estimate of a row (R7.2) first: the planner's constants are those of the first size. */
const ROW_BYTES_DEFAULT = [600, 200, 4_096];
const OUTPUT_DEFAULT = 'mailjoin-read-costs.json';
const SEED_MAX = 2 ** 32 - 1;
export const calibrateCommand: Command = {
  name: 'calibrate',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Measure what reads cost on this store, and write the constants that serve plans with.',
  settings: ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS],
  options: [
    {
      flag: 'existing',
      meaning: 'Measure on full buckets that are there, and write no rows.',
    },
    {
      flag: 'row-bytes',
      placeholder: 'bytes,…',
      meaning: `Payloads of the rows that are written: ${PARTITION_ROWS_MAX} of each size, in a tenant of their own, gone after ${CALIBRATE_TTL_SECONDS / 60} minutes by their TTL. The constants are those of the first. Default: ${ROW_BYTES_DEFAULT.join(',')}.`,
    },
    {
      flag: 'rounds',
      placeholder: 'n',
      meaning: `Times that every read is made. Default: ${CALIBRATE_ROUNDS_DEFAULT}.`,
    },
    {
      flag: 'seconds',
      placeholder: 'n',
      meaning: `How long it measures at most, if ${CALIBRATE_ROUNDS_MIN} rounds are done by then. Default: ${CALIBRATE_SECONDS_DEFAULT}.`,
    },
    {
      flag: 'seed',
      placeholder: 'n',
      meaning: 'Of the order and places of reads, to repeat a run. Unless given, a random one.',
    },
    {
      flag: 'output',
      placeholder: 'file',
      meaning: `The file for serve --read-costs; one that is there is replaced. Default: ${OUTPUT_DEFAULT}.`,
    },
    {
      flag: 'svg',
      placeholder: 'file',
      meaning: 'The picture. Unless given, beside the output, with the ending .svg.',
    },
    { ...JSON_OPTION, meaning: 'Print the file instead of tables.' },
  ],
  run: async (invocation) => {
    const request = requestOf(invocation.options);
    const { calibrate } = await import('./calibrate.js');
    return calibrate(request, invocation);
  },
};

/** What a run is asked for. */
export interface CalibrateRequest {
  readonly isExisting: boolean;
  readonly rowBytes: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly seed: number;
  readonly output: string;
  readonly svg: string;
}

function requestOf(options: Invocation['options']): CalibrateRequest {
  const output = options.get('output') ?? OUTPUT_DEFAULT;
  const { dir, name } = path.parse(output);
  const svg = options.get('svg') ?? path.join(dir, `${name}.svg`);
  const isExisting = options.has('existing');
  if (isExisting && options.has('row-bytes')) {
    throw new UsageError(
      '--existing and --row-bytes cannot be given together: rows that are there have their size',
    );
  }
  if (placeOf(svg) === placeOf(output)) {
    throw new UsageError('--output and --svg must be two files');
  }
  return {
    isExisting,
    rowBytes: rowBytesOf(options.get('row-bytes')),
    rounds: numberOption(options, 'rounds', CALIBRATE_ROUNDS_DEFAULT, {
      min: CALIBRATE_ROUNDS_MIN,
      max: CALIBRATE_ROUNDS_MAX,
    }),
    seconds: numberOption(options, 'seconds', CALIBRATE_SECONDS_DEFAULT, {
      min: 1,
      max: CALIBRATE_SECONDS_MAX,
    }),
    seed: numberOption(options, 'seed', Math.floor(Math.random() * SEED_MAX), { min: 0, max: SEED_MAX }),
    output,
    svg,
  };
}

function rowBytesOf(text: string | undefined): readonly number[] {
  if (text === undefined) return ROW_BYTES_DEFAULT;
  const sizes = text.split(',').map((part) => (/^[0-9]{1,6}$/.test(part) ? Number(part) : Number.NaN));
  const isTaken = sizes.every((bytes) => bytes >= 1 && bytes <= CALIBRATE_ROW_BYTES_MAX);
  if (isTaken && sizes.length <= CALIBRATE_ROW_SIZES_MAX && new Set(sizes).size === sizes.length)
    return sizes;
  throw new UsageError(
    `--row-bytes must be at most ${CALIBRATE_ROW_SIZES_MAX} different numbers of bytes from 1 to ${CALIBRATE_ROW_BYTES_MAX}, separated by commas`,
  );
}

/** Where a file lies, whatever links lead to its folder. */
function placeOf(file: string): string {
  try {
    return path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    // No such folder: found out, and said, when the place is taken.
    return path.resolve(file);
  }
}
