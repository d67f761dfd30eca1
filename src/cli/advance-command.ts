/** `mailjoin advance`: one run of the advancer of earliest_available_conversation_seq (R3.5), for a scheduler to repeat. */
import { type AdvanceReport, Advancer } from '../archive/advancer.js';
import {
  ADVANCE_BUCKETS_MAX,
  ADVANCE_CONVERSATIONS_DEFAULT,
  ADVANCE_SETTLE_MS_DEFAULT,
} from '../domain/limits.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import { numberOption } from './number-option.js';
import { stopSignal } from './stop-signal.js';
import { openExistingStores } from './stores.js';
import { systemClock } from './system-clock.js';
import { textTable } from './text-table.js';

const PROGRESS_CONVERSATIONS = 10_000;

export const advanceCommand: Command = {
  name: 'advance',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Advance the earliest available seq of conversations whose oldest rows are gone.',
  settings: ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS],
  options: [
    {
      flag: 'conversations',
      placeholder: 'n',
      meaning: `How many conversations this run looks at; the next one goes on there. Default: ${ADVANCE_CONVERSATIONS_DEFAULT}.`,
    },
    {
      flag: 'settle-seconds',
      placeholder: 'n',
      meaning: `How old an absent seq must be to count as gone; longer than an archiver is ever behind, and than ten minutes. Default: ${ADVANCE_SETTLE_MS_DEFAULT / 1000}.`,
    },
    JSON_OPTION,
  ],
  run: advance,
};

async function advance(invocation: Invocation): Promise<ExitCode> {
  const { settings, options, log } = invocation;
  const conversationsMax = numberOption(options, 'conversations', ADVANCE_CONVERSATIONS_DEFAULT, {
    min: 1,
    max: 1e9,
  });
  const settleSeconds = numberOption(options, 'settle-seconds', ADVANCE_SETTLE_MS_DEFAULT / 1000, {
    min: 0,
    max: 1e9,
  });
  const stop = stopSignal();
  const stores = await openExistingStores(settings, systemClock);
  try {
    let told = 0;
    const advancer = new Advancer({
      writes: stores.writes,
      clock: systemClock,
      settleMs: settleSeconds * 1000,
      conversationsMax,
      bucketsMax: ADVANCE_BUCKETS_MAX,
      onProgress: (progress) => {
        if (progress.conversations - told < PROGRESS_CONVERSATIONS) return;
        told = progress.conversations;
        log.write('info', 'advance_progress', { ...progress });
      },
    });
    report(invocation, await advancer.run(stop.signal));
    return ExitCode.OK;
  } finally {
    await stores.close();
    stop.release();
  }
}

function report({ options, print }: Invocation, found: AdvanceReport): void {
  if (options.has(JSON_OPTION.flag)) {
    print(JSON.stringify(found));
    return;
  }
  const rows: [string, number, string][] = [
    ['looked at', found.conversations, found.atEnd ? 'to the last one' : 'the next run goes on from here'],
    ['advanced', found.advanced, ''],
    ['unchanged', found.unchanged, ''],
    ['unsettled', found.unsettled, 'what is absent may still arrive'],
    ['unfinished', found.unfinished, 'of these: more buckets than one run reads'],
    ['buckets read', found.bucketsRead, ''],
  ];
  print(
    textTable(
      ['conversations', 'count', ''],
      rows.map(([name, count, note]) => [name, String(count), note]),
    ),
  );
}
