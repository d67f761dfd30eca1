/** `mailjoin archive --to-file`: a copy of the log, which touches no store but the one that the log lies in. */
import { copyToFile } from '../archive/record-copy.js';
import { openArchiveLog, requireLog } from './archive-log.js';
import { type Invocation, JSON_OPTION } from './command.js';
import { logKindOf } from './open-log.js';
import { openExistingStores } from './stores.js';
import { systemClock } from './system-clock.js';

const PROGRESS_MS = 5_000;

export async function copyLog(invocation: Invocation, path: string, signal: AbortSignal): Promise<void> {
  const { settings, options, log: events, print } = invocation;
  requireLog(settings);
  const closers: (() => Promise<void>)[] = [];
  const open = async () => {
    const stores =
      logKindOf(settings) === 'embedded' ? await openExistingStores(settings, systemClock) : undefined;
    if (stores !== undefined) closers.unshift(() => stores.close());
    const log = await openArchiveLog(settings, stores?.log);
    closers.unshift(() => log.close());
    return log;
  };
  const startedMs = systemClock.nowMs();
  let toldMs = startedMs;
  try {
    const { records, bytes } = await copyToFile({
      log: open,
      path,
      signal,
      onProgress: ({ leftAtMost, ...done }) => {
        const nowMs = systemClock.nowMs();
        if (nowMs - toldMs < PROGRESS_MS) return;
        toldMs = nowMs;
        const perSecond = Math.round((done.records * 1000) / (nowMs - startedMs));
        events.write('info', 'copy_progress', { ...done, leftAtMost: leftAtMost.toString(), perSecond });
      },
    });
    const elapsedMs = Math.round(systemClock.nowMs() - startedMs);
    if (options.has(JSON_OPTION.flag)) print(JSON.stringify({ file: path, records, bytes, elapsedMs }));
    else print(`copied ${records} records to ${path}`);
  } finally {
    for (const close of closers) await close();
  }
}
