/**
 * What a join hands to the response encoders: the request's columns with every entry settled, the bodies, and the
 * receipt when it was asked for. Codecs read it; nothing in it changes any more.
 */
import type { EntryColumns } from '../domain/entries.js';
import type { BodyList } from './body-list.js';

/** Counts and stage times of one batch (proto: Receipt). Times are microseconds; stages of concurrent groups overlap. */
export interface Receipt {
  entries: number;
  messages: number;
  cacheHits: number;
  flightsJoined: number;
  groups: number;
  rangeStatements: number;
  coveringStatements: number;
  inStatements: number;
  summaryStatements: number;
  furtherPages: number;
  rows: number;
  rowBytes: number;
  bodyBytes: number;
  decodeMicros: number;
  planMicros: number;
  readMicros: number;
  keyMicros: number;
  openMicros: number;
  totalMicros: number;
}

export function emptyReceipt(): Receipt {
  return {
    entries: 0,
    messages: 0,
    cacheHits: 0,
    flightsJoined: 0,
    groups: 0,
    rangeStatements: 0,
    coveringStatements: 0,
    inStatements: 0,
    summaryStatements: 0,
    furtherPages: 0,
    rows: 0,
    rowBytes: 0,
    bodyBytes: 0,
    decodeMicros: 0,
    planMicros: 0,
    readMicros: 0,
    keyMicros: 0,
    openMicros: 0,
    totalMicros: 0,
  };
}

export interface JoinOutcome {
  readonly entries: EntryColumns;
  readonly bodies: BodyList;
  /** Always measured; sent only when `wantReceipt`. */
  readonly receipt: Receipt;
  readonly wantReceipt: boolean;
}
