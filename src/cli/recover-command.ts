/** `mailjoin recover`: one recovery run (D17), from the checkpoint to the end of the log as it is now. */
import { HEADS_CLOSE_MS } from '../domain/limits.js';
import type { RecoveryReport } from '../write/recovery.js';
import { type Command, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import { WRITER_SETTINGS } from './item-command.js';
import { openWriter } from './open-writer.js';
import { stopSignal } from './stop-signal.js';
import { textTable } from './text-table.js';

const MEANINGS: Readonly<Record<keyof RecoveryReport, string>> = {
  records: 'read from the log, of every kind',
  recalls: '',
  edits: '',
  shown: 'events that their rows show',
  applied: 'events that a crash left to this run: announced again and written',
  absent: 'events whose message is gone',
  undecodable: 'records that cannot be read',
};

export const recoverCommand: Command = {
  name: 'recover',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Apply the recalls and edits that are in the log and not in their rows.',
  settings: WRITER_SETTINGS,
  options: [JSON_OPTION],
  run: recover,
};

async function recover({ settings, log, options, print }: Invocation): Promise<ExitCode> {
  const opened = await openWriter(settings, log, { windowSeqs: 1, needsStore: true });
  const stop = stopSignal();
  try {
    const report = await opened.writer.recover(opened.log, stop.signal);
    if (report.undecodable > 0) log.write('warn', 'records_undecodable', { records: report.undecodable });
    if (options.has(JSON_OPTION.flag)) print(JSON.stringify(report));
    else {
      const names = Object.keys(MEANINGS) as (keyof RecoveryReport)[];
      const rows = names.map((name) => [name, String(report[name]), MEANINGS[name]]);
      print(textTable(['recovery', 'count', ''], rows));
    }
    // A stopped run has done a part, and the next one goes on there.
    return stop.signal.aborted ? ExitCode.FAILED : ExitCode.OK;
  } finally {
    await opened.close(HEADS_CLOSE_MS);
    stop.release();
  }
}
