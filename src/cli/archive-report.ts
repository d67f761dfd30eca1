/** What an archiver has done, at its end. */
import type { ArchiveTotals } from '../archive/archive-totals.js';
import { type Invocation, JSON_OPTION } from './command.js';
import { textTable } from './text-table.js';

const LAG_UNKNOWN = 'unknown';

/** For log lines. A file of records has no lag, and a log does not always tell. */
export function lagText({ lag }: ArchiveTotals): string {
  return lag === undefined ? LAG_UNKNOWN : lag.toString();
}

export function reportArchive(
  { options, print }: Pick<Invocation, 'options' | 'print'>,
  totals: ArchiveTotals,
  { isFile, elapsedMs }: { readonly isFile: boolean; readonly elapsedMs: number },
): void {
  const { lag, ...counts } = totals;
  const perSecond = elapsedMs > 0 ? Math.round((totals.records * 1000) / elapsedMs) : 0;
  if (options.has(JSON_OPTION.flag)) {
    const behind = isFile ? {} : { lag: lag?.toString() ?? null };
    print(JSON.stringify({ ...counts, ...behind, perSecond, elapsedMs: Math.round(elapsedMs) }));
    return;
  }
  const rows = [
    ['records', String(counts.records), `${perSecond} a second`],
    ['messages', String(counts.messages), 'rows written, repeated ones included'],
    ['events', String(counts.events), 'recalls and edits written'],
    ['shown', String(counts.shown), 'recalls and edits that their rows showed already'],
    ['expired', String(counts.expired), 'not written: their time was over'],
    ['passed', String(counts.passed), 'reactions, destroyed keys, unknown records'],
    ['parked', String(counts.parked), counts.unkept > 0 ? `${counts.unkept} found no room in the file` : ''],
    ['retries', String(counts.retries), 'attempts that the store failed'],
  ];
  if (!isFile) rows.push(['lag', lagText(totals), 'records that the group has not archived']);
  print(textTable(['archived', 'count', ''], rows));
}
