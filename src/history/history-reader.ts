/**
 * History pages (R4.1): the walk finds a page's rows, the join's way turns them into bodies.
 *
 * Each message is asked for with its row's revision as a floor: a cached body at or above it is used, a row above what is
 * cached is opened and published, and events of the log count as for any join. So a page mixes cached and read messages
 * and never shows less than it has read. Which messages a page has is decided by the rows alone: none is skipped or
 * repeated at a seam. Owner: the main thread. Fails as a whole with what the store fails with, and with STORE_UNAVAILABLE
 * where the deadline came before it got anywhere: so whoever goes from page to page always goes on.
 */
import { strict as assert } from 'node:assert';
import type { HistoryOutcome } from '../codec/history-outcome.js';
import type { HistoryRequest } from '../codec/history-request.js';
import type { JoinOutcome } from '../codec/join-outcome.js';
import type { JoinRequest } from '../codec/join-request.js';
import { EntryColumns, RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import { HistoryDirection, HistoryStop } from '../domain/history.js';
import { ID_BYTES } from '../domain/ids.js';
import { HISTORY_LIMIT_MAX, HISTORY_READS_MAX } from '../domain/limits.js';
import type { MessageRecord } from '../domain/message.js';
import type { Clock, GroupRows } from '../domain/ports.js';
import { isSeq } from '../domain/seq.js';
import type { GivenRows } from '../join/joiner.js';
import { ReadGate } from '../join/read-gate.js';
import { type HistoryAlert, type WalkEnd, walk } from './bucket-walk.js';
import { type PageContext, PageReads } from './page-reads.js';
import { asUnavailable } from './read-deadline.js';

/** What turns rows into bodies; src/join's Joiner. */
export interface RowJoiner {
  join(
    request: JoinRequest,
    decodeMicros?: number,
    mayHold?: (bytes: number) => boolean,
    given?: GivenRows,
  ): Promise<JoinOutcome>;
}

export interface HistoryReaderOptions extends Omit<PageContext, 'gate'> {
  readonly joiner: RowJoiner;
  readonly clock: Clock;
  /** Told of what an operator has to hear of (S-3). */
  readonly onAlert: (alert: HistoryAlert) => void;
}

/** What `page` is asked for; a decoded HistoryRequest is one. */
export type HistoryPageRequest = Omit<HistoryRequest, 'wantReceipt'> & { readonly wantReceipt?: boolean };

export class HistoryReader {
  private readonly options: HistoryReaderOptions;
  private readonly context: PageContext;

  constructor(options: HistoryReaderOptions) {
    this.options = options;
    this.context = { ...options, gate: new ReadGate(HISTORY_READS_MAX, 0) };
  }

  /**
   * One page. Rejects with STORE_UNAVAILABLE, STORE_REFUSED or STORE_CORRUPT; what keys or workers fail at becomes the
   * results of the messages concerned. `decodeMicros` and `mayHold`: see Joiner.join. Once `isWanted` says no, nothing more is
   * read.
   */
  async page(
    request: HistoryPageRequest,
    decodeMicros = 0,
    mayHold?: (bytes: number) => boolean,
    isWanted: () => boolean = () => true,
  ): Promise<HistoryOutcome> {
    assert(request.limit >= 1 && request.limit <= HISTORY_LIMIT_MAX, 'codecs lower the limit');
    const { clock, joiner, onAlert } = this.options;
    const startedMs = clock.nowMs();
    const reads = new PageReads(
      this.context,
      { ...request, isWanted },
      request.deadlineMs - decodeMicros / 1000,
    );
    let end: WalkEnd;
    try {
      end = await walk(reads, await reads.readHead(), onAlert);
    } catch (error) {
      throw asUnavailable(error);
    } finally {
      reads.close();
    }
    const readMs = clock.nowMs() - startedMs;
    const { shown } = reads;
    const place = placeOf(request, shown, end);
    if (end.stop === HistoryStop.DEADLINE && !hasGoneOn(request, reads, place)) {
      throw new MailjoinError('STORE_UNAVAILABLE', 'the store has brought nothing within the deadline');
    }
    const outcome = await joiner.join(
      joinRequestOf(request, shown, reads.rows, Math.max(0, request.deadlineMs - readMs)),
      decodeMicros,
      mayHold,
      reads.rows,
    );
    const { receipt } = outcome;
    receipt.rangeStatements += reads.cost.recordStatements;
    receipt.summaryStatements += reads.cost.summaryStatements;
    receipt.furtherPages += reads.cost.furtherPages;
    receipt.rows += reads.cost.rows;
    receipt.rowBytes += reads.cost.bytes;
    receipt.readMicros += readMs * 1000;
    receipt.totalMicros += readMs * 1000;
    return { ...outcome, ...place };
  }
}

type Place = Pick<HistoryOutcome, 'hasMore' | 'nextAnchor' | 'stop' | 'hole'>;

/** Whether a page that its deadline cut short has looked at anything, and the next one begins elsewhere. */
function hasGoneOn(
  request: HistoryPageRequest,
  { visible, cost }: PageReads,
  { nextAnchor }: Place,
): boolean {
  if (visible.length > 0) return true;
  return cost.recordStatements > 0 && nextAnchor !== undefined && nextAnchor !== request.anchor;
}

function placeOf(
  { direction }: HistoryPageRequest,
  shown: readonly MessageRecord[],
  { stop, hole, reached }: WalkEnd,
): Place {
  if (stop === HistoryStop.LIMIT) return { hasMore: true, nextAnchor: shown.at(-1)?.seq, stop, hole };
  if (stop !== HistoryStop.DEADLINE) return { hasMore: false, nextAnchor: undefined, stop, hole };
  if (reached === undefined) return { hasMore: true, nextAnchor: undefined, stop, hole };
  // An anchor is exclusive: the page that goes on begins with the first seq that was not looked at.
  const anchor = direction === HistoryDirection.OLDER ? reached + 1n : reached - 1n;
  return { hasMore: true, nextAnchor: isSeq(anchor) ? anchor : undefined, stop, hole };
}

/** The page's messages as a join asks for them. */
function joinRequestOf(
  request: HistoryPageRequest,
  shown: readonly MessageRecord[],
  rows: ReadonlyMap<bigint, GroupRows>,
  deadlineMs: number,
): JoinRequest {
  const { tenantId, conversationId, responseBytesMax } = request;
  const bytes = new Uint8Array(ID_BYTES * (1 + 2 * shown.length));
  bytes.set(conversationId, 0);
  const entries = new EntryColumns(bytes, shown.length);
  const versions = summaryVersions(rows);
  shown.forEach(({ seq, messageId, lastActivityId }, index) => {
    const at = ID_BYTES * (1 + 2 * index);
    bytes.set(messageId, at);
    entries.messageAt[index] = at;
    entries.seqHi[index] = Number(seq >> 32n);
    entries.seqLo[index] = Number(seq & 0xffff_ffffn);
    if (lastActivityId !== undefined) {
      bytes.set(lastActivityId, at + ID_BYTES);
      entries.floorAt[index] = at + ID_BYTES;
    }
    entries.floorVersion[index] = versions.get(seq) ?? 0n;
  });
  const kind = RequestKind.MAILBOX_BATCH;
  const wantReceipt = request.wantReceipt === true;
  return { kind, tenantId, entries, deadlineMs, responseBytesMax, wantReceipt };
}

function summaryVersions(rows: ReadonlyMap<bigint, GroupRows>): ReadonlyMap<bigint, bigint> {
  const versions = new Map<bigint, bigint>();
  for (const { summaries } of rows.values()) {
    for (const { seq, version } of summaries) versions.set(seq, version);
  }
  return versions;
}
