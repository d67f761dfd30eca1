/**
 * The crash tests' scenarios, the same for every place: processes that are killed one after another, and what fresh
 * ones make good afterwards.
 */
import { expect } from 'vitest';
import { encodeLogRecord } from '../../src/codec/log-record.js';
import {
  checkAll,
  checkEdits,
  checkRecalls,
  checkRows,
  rowsOf,
  type Seen,
  see,
} from './conversation-check.js';
import type { Ledger } from './ledger.js';
import type { Point } from './points.js';
import { type ChildRun, commit, type Operation } from './run-child.js';

function expectKilled(run: ChildRun, at: string): void {
  expect(run.isKilled, `a process was killed at: ${at}`).toBe(true);
}

/** One process after another on one conversation, each killed at the next point, after what that needs. */
export async function killAtEach(ledger: Ledger, points: readonly Point[]): Promise<void> {
  for (const [index, { kind, at }] of points.entries()) {
    const op = `${index}: ${kind}, ${at}`;
    const operations = [...preparations(kind, op), killed(kind, op, groupOf(ledger))];
    // A dead archiver's place in its group is free for a clock that is far enough ahead.
    const clockAheadMs = kind === 'archive' ? (index + 1) * ledger.place.leaseMs : 0;
    expectKilled(await ledger.run({ operations, kill: { op, at }, clockAheadMs }), op);
  }
}

/** What is there before: messages, and for those that read the log events that were logged only. */
function preparations(kind: Point['kind'], op: string): Operation[] {
  const [edited, recalled] = [`${op}: edited`, `${op}: recalled`];
  switch (kind) {
    case 'commit':
    case 'edit':
    case 'recall':
      // Both kinds of event need a row, which a writer with record = archive does not insert.
      return [commit(`${op}: first`, 'sync')];
    case 'recover':
    case 'archive':
      return [
        commit(edited, 'sync'),
        commit(recalled, 'sync'),
        { id: `edit ${edited}`, kind: 'edit', of: edited, text: `edit ${op}`, stopAt: 'log' },
        { id: `recall ${recalled}`, kind: 'recall', of: recalled, stopAt: 'log' },
        ...(kind === 'archive' ? [commit(`${op}: archived`, 'archive')] : []),
      ];
  }
}

function killed(kind: Point['kind'], op: string, group: string): Operation {
  switch (kind) {
    case 'commit':
      return commit(op);
    case 'edit':
      return { id: op, kind, of: `${op}: first`, text: op };
    case 'recall':
      return { id: op, kind, of: `${op}: first` };
    case 'recover':
      return { id: op, kind };
    case 'archive':
      return { id: op, kind, group };
  }
}

/** Topics of one broker need groups of different names. */
function groupOf({ name }: Ledger): string {
  return `${name} archive`;
}

const RECOVER: Operation = { id: 'recovery', kind: 'recover' };

/** With record = archive the rows are an archiver's to write. */
function archiveOf({ record }: Ledger, id: string): Operation[] {
  return record === 'archive' ? [{ id, kind: 'archive', group: id }] : [];
}

/**
 * What fresh processes do after the last crash: recovery, then every operation that was not acknowledged once more. What
 * recovery alone must have brought about is checked before the retries.
 */
export async function makeGood(ledger: Ledger): Promise<Seen> {
  const { name } = ledger;
  await ledger.run({ operations: [...archiveOf(ledger, `${name} first`), RECOVER] });
  const recovered = await see(ledger);
  checkRecalls(ledger, recovered);
  await checkEdits(ledger, recovered);

  const commits = ledger.pending().filter(({ kind }) => kind === 'commit');
  const events = ledger.pending().filter(({ kind }) => kind !== 'commit');
  await ledger.run({ operations: [...commits, ...archiveOf(ledger, `${name} second`), ...events] });
  // An event of a message that the last process did not know the seq of.
  if (ledger.pending().length > 0) await ledger.run({ operations: ledger.pending() });
  expect(ledger.pending()).toEqual([]);
  const seen = await checkAll(ledger);
  expect([...seen.rows.keys()].sort()).toEqual([...ledger.texts.keys()].sort());
  return seen;
}

/** What an archiver's group does after its last crash: the next member finishes. */
export async function finishArchive(ledger: Ledger, crashes: number): Promise<Seen> {
  const operations: Operation[] = [{ id: 'archive', kind: 'archive', group: groupOf(ledger) }];
  const clockAheadMs = (crashes + 1) * ledger.place.leaseMs;
  const { acks } = await ledger.run({ operations, clockAheadMs });
  expect(acks[0]).toMatchObject({ ack: 'archive', parked: 0 });
  return checkRows(ledger);
}

/** Nothing more changes: not by commits retried once more, nor by an archiver's replay, nor by events told again. */
export async function expectRest(ledger: Ledger, clockAheadMs = 0): Promise<void> {
  const { place, conversationId } = ledger;
  const seen = await see(ledger);
  const before = await rowsOf(ledger, seen);
  await Promise.all(
    [...seen.recalls, ...seen.edits].map((event) =>
      place.log.append({ key: conversationId, value: encodeLogRecord(event) }),
    ),
  );
  const replay: Operation = { id: 'replay', kind: 'archive', group: `${ledger.name} replay` };
  const operations = [...ledger.repeatedCommits(), RECOVER, replay];
  const { acks, fails } = await ledger.run({ operations, clockAheadMs });
  expect(fails).toEqual([]);
  expect(acks.at(-1)).toMatchObject({ ack: 'replay', parked: 0 });
  expect(await rowsOf(ledger, await checkAll(ledger))).toEqual(before);
}

export interface RaceOptions {
  readonly rounds: number;
  /** When a process is killed, counted from its first line. */
  readonly afterMs: () => number;
  readonly seed: () => number;
  readonly beside: (round: number) => readonly Operation[];
}

/** Two processes write one conversation, a third recovers and archives beside them; all are killed at random moments. */
export async function race(ledger: Ledger, options: RaceOptions): Promise<void> {
  for (let round = 0; round < options.rounds; round++) {
    const writer = (which: string): Promise<ChildRun> => {
      const endless = { seed: options.seed(), prefix: `${which}${round}`, lanes: 3 };
      return ledger.run({ endless }, options.afterMs());
    };
    const beside = ledger.run({ operations: options.beside(round) }, options.afterMs());
    const runs = await Promise.all([writer('a'), writer('b')]);
    await beside;
    for (const run of runs) expectKilled(run, 'a random moment');
  }
}
