/**
 * What a join hands to the response encoders: the request's columns with every entry settled, the bodies, and the
 * receipt when it was asked for. Codecs read it; nothing in it changes any more.
 */
import type { EntryColumns } from '../domain/entries.js';
import type { BodyList } from './body-list.js';
import type { Receipt } from './receipt.js';

export interface JoinOutcome {
  readonly entries: EntryColumns;
  readonly bodies: BodyList;
  /** Always measured; sent only when `wantReceipt`. */
  readonly receipt: Receipt;
  readonly wantReceipt: boolean;
}
