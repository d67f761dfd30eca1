/** The log that `mailjoin archive` reads: one there must be, and that is known before anything is opened or made. */
import { MailjoinError } from '../domain/errors.js';
import type { LogReader } from '../domain/write-ports.js';
import { logKindOf, openLogReader } from './open-log.js';
import type { Settings } from './settings.js';
import { systemClock } from './system-clock.js';

export function requireLog(settings: Settings): void {
  if (logKindOf(settings) === 'none') throw noLog();
}

/** `embedded` is the log of an opened store. Fails as openLogReader does, or with CONFIG_INVALID. */
export async function openArchiveLog(
  settings: Settings,
  embedded: LogReader | undefined,
): Promise<LogReader> {
  const log = await openLogReader(settings, embedded, systemClock);
  if (log === undefined) throw noLog();
  return log;
}

function noLog(): MailjoinError {
  return new MailjoinError('CONFIG_INVALID', 'log is none: archive needs --brokers, or --from-file');
}
