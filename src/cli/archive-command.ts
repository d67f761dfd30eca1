/**
 * `mailjoin archive`: the archiver on the log that the settings name, on a file of records, or a copy of the log into
 * such a file.
 */
import { LOG_GROUP_BYTES_MAX } from '../domain/limits.js';
import { copyLog } from './archive-copy.js';
import { runArchiver } from './archive-run.js';
import {
  BROKER_SETTINGS,
  type Command,
  CQL_SETTINGS,
  ExitCode,
  type Invocation,
  JSON_OPTION,
} from './command.js';
import { stopSignal } from './stop-signal.js';
import { UsageError } from './usage-error.js';

const GROUP_DEFAULT = 'mailjoin-archive';
const PARKING_DEFAULT = 'mailjoin-parked.jsonl';

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
  const { options } = invocation;
  const toFile = options.get('to-file');
  const fromFile = options.get('from-file');
  if (toFile !== undefined && fromFile !== undefined) {
    throw new UsageError('--from-file and --to-file cannot be given together');
  }
  const group = groupOf(options);
  const stop = stopSignal();
  try {
    if (toFile !== undefined) await copyLog(invocation, toFile, stop.signal);
    else {
      const parkingFile = options.get('parking-file') ?? PARKING_DEFAULT;
      const untilEnd = options.has('until-end');
      await runArchiver(invocation, { group, fromFile, parkingFile, untilEnd }, stop.signal);
    }
    return ExitCode.OK;
  } finally {
    stop.release();
  }
}

function groupOf(options: Invocation['options']): string {
  const group = options.get('group') ?? GROUP_DEFAULT;
  if (group.trim() === '' || Buffer.byteLength(group) > LOG_GROUP_BYTES_MAX || /\p{Cc}/u.test(group)) {
    throw new UsageError(
      `--group must be a name of 1 to ${LOG_GROUP_BYTES_MAX} bytes, not of spaces alone and without control characters`,
    );
  }
  return group;
}
