/** What an archiver has done since it started, counted by record of the log. */
export interface ArchiveTotals {
  /** Records that were handed over, of every kind. */
  readonly records: number;
  readonly bytes: number;
  /** Messages whose INSERT was written, repeated ones included. */
  readonly messages: number;
  /** Recalls and edits that were written into their row. */
  readonly events: number;
  /** Recalls and edits that their row showed already. */
  readonly shown: number;
  /** Messages and events whose time was over. */
  readonly expired: number;
  /** Reactions, destroyed keys, records of later versions: not an archiver's. */
  readonly passed: number;
  readonly parked: number;
  /** Of the parked ones: those for which the parking file had no room. */
  readonly unkept: number;
  /** Attempts that the store failed and that were repeated. */
  readonly retries: number;
  /** Records not yet archived, as the log told last; undefined while it does not tell. */
  readonly lag: bigint | undefined;
}

export type MutableTotals = { -readonly [K in keyof ArchiveTotals]: ArchiveTotals[K] };

export function noTotals(): MutableTotals {
  return {
    records: 0,
    bytes: 0,
    messages: 0,
    events: 0,
    shown: 0,
    expired: 0,
    passed: 0,
    parked: 0,
    unkept: 0,
    retries: 0,
    lag: undefined,
  };
}
