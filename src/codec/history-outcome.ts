/**
 * What a history page hands to the response encoders: a join's outcome whose entries are the page's messages in its
 * order, and where the page ended. Codecs read it; nothing in it changes any more.
 */
import type { HistoryHole, HistoryStop } from '../domain/history.js';
import type { JoinOutcome } from './join-outcome.js';

export interface HistoryOutcome extends JoinOutcome {
  /** Exact, but for DEADLINE, where it is true because nobody knows (D3). */
  readonly hasMore: boolean;
  /** The exclusive anchor of the next page in this direction, another one than was asked for; exactly with hasMore. */
  readonly nextAnchor: bigint | undefined;
  readonly stop: HistoryStop;
  /** Only with HOLE. */
  readonly hole: HistoryHole | undefined;
}
