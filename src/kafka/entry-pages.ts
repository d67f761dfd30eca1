/** Cuts entries into what a handler gets at once: at most LOG_PAGE_RECORDS_MAX of them, in order. Pure. */
import { LOG_PAGE_RECORDS_MAX } from '../domain/limits.js';
import type { LogEntry } from '../domain/write-ports.js';

export function* pagesOf(entries: readonly LogEntry[]): Generator<readonly LogEntry[]> {
  for (let at = 0; at < entries.length; at += LOG_PAGE_RECORDS_MAX) {
    yield entries.slice(at, at + LOG_PAGE_RECORDS_MAX);
  }
}
