/** The words of history pages (R4.1, D3, D4). The numbers are the wire contract's (proto/mailjoin.proto). */

export const HistoryDirection = {
  /** Highest seq first, below the anchor: the default and the hot path. */
  OLDER: 0,
  /** Lowest seq first, above the anchor: to fill in. */
  NEWER: 1,
} as const;
export type HistoryDirection = (typeof HistoryDirection)[keyof typeof HistoryDirection];

/** Why a page ended. */
export const HistoryStop = {
  /** The limit is reached and a further message exists. */
  LIMIT: 1,
  /** Nothing lies beyond: E, the first seq, or what is known to be newest. */
  END: 2,
  /** Too many empty buckets in a row (D4): there may be messages beyond. */
  HOLE: 3,
  /** The deadline came first: there may be messages beyond. */
  DEADLINE: 4,
} as const;
export type HistoryStop = (typeof HistoryStop)[keyof typeof HistoryStop];

const STOP_NAMES = ['UNSPECIFIED', 'LIMIT', 'END', 'HOLE', 'DEADLINE'] as const;
export type HistoryStopName = (typeof STOP_NAMES)[number];

/** The name of a stop; of one that this version does not know, UNSPECIFIED. */
export function historyStopName(stop: number): HistoryStopName {
  return STOP_NAMES[stop] ?? 'UNSPECIFIED';
}

/** A run of empty buckets that ended a page (D4, S-3). */
export interface HistoryHole {
  /** The first seq of the run in the page's direction: right behind the last message shown. */
  readonly beganAt: bigint;
  /** The exclusive anchor with which a caller may deliberately go on behind what was scanned. */
  readonly continueAnchor: bigint;
}
