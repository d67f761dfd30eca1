/**
 * A history reader over a real store, with a real join behind it, whose bucket reads are counted, and can be made to fail
 * or to wait. Payloads are unsealed and tell their seq.
 */

import { randomBytes } from 'node:crypto';
import type { HistoryOutcome } from '../../src/codec/history-outcome.js';
import { decodeMessageBody } from '../../src/codec/message-body.js';
import { openItems } from '../../src/crypto/open-items.js';
import { HistoryDirection } from '../../src/domain/history.js';
import type { BucketRead, BucketReader, BucketRows } from '../../src/domain/history-ports.js';
import type { ConversationId, MessageId, TenantId } from '../../src/domain/ids.js';
import { MessageState } from '../../src/domain/message.js';
import type { BodyCache, Clock, MessageStore } from '../../src/domain/ports.js';
import { resultName } from '../../src/domain/result.js';
import type { WriteStore } from '../../src/domain/write-ports.js';
import { HistoryReader } from '../../src/history/history-reader.js';
import { fixedAge } from '../../src/join/freshness.js';
import { Joiner } from '../../src/join/joiner.js';
import { READ_COST_MODEL_DEFAULT } from '../../src/join/read-cost-model.js';
import { ScriptedKeyring } from '../join/harness.js';
import { regionCache } from '../join/region-cache.js';
import {
  activity,
  conversation,
  fullRecord,
  inParallel,
  life,
  message,
  summary,
  tenant,
} from '../stores/fixtures.js';

/** The parts of a store that history reads, and those by which tests write. */
export interface HistoryStores {
  readonly messages: MessageStore;
  readonly writes: WriteStore;
  readonly buckets: BucketReader;
}

/** A conversation of a test's own, under a tenant of its own. */
export interface Place {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
}

export const newPlace = (): Place => ({ tenantId: tenant(), conversationId: conversation() });

/** Counts reads; the next ones fail, or wait for ever, as a test says. */
export class WatchedBuckets implements BucketReader {
  readonly reads: BucketRead[] = [];
  failures: unknown[] = [];
  /** From this read on (counted from 0) nothing is answered any more. */
  silentFrom = Number.POSITIVE_INFINITY;
  private readonly buckets: BucketReader;
  private fallSilent = (): void => undefined;

  constructor(buckets: BucketReader) {
    this.buckets = buckets;
  }

  /** Resolves when the next read is asked for that is not answered any more. */
  silence(): Promise<void> {
    return new Promise((resolve) => {
      this.fallSilent = resolve;
    });
  }

  async readBucketRows(read: BucketRead): Promise<BucketRows> {
    this.reads.push(read);
    if (this.reads.length > this.silentFrom) {
      this.fallSilent();
      await new Promise(() => undefined);
    }
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    return this.buckets.readBucketRows(read);
  }
}

export interface HistoryWorld {
  readonly reader: HistoryReader;
  readonly joiner: Joiner;
  readonly cache: BodyCache;
  readonly buckets: WatchedBuckets;
  readonly alerts: string[];
  readonly failures: string[];
  /** Group reads that the join sent to the store. */
  readonly joinReads: () => number;
  page(place: Place, ask?: Ask): Promise<Page>;
}

export interface Ask {
  readonly newer?: boolean;
  readonly anchor?: bigint | undefined;
  readonly limit?: number;
  readonly deadlineMs?: number;
  readonly responseBytesMax?: number;
}

/** A page in plain words. */
export interface Page {
  readonly seqs: bigint[];
  readonly results: string[];
  readonly hasMore: boolean;
  readonly nextAnchor: bigint | undefined;
  readonly stop: number;
  readonly hole: HistoryOutcome['hole'];
  readonly outcome: HistoryOutcome;
}

const clock: Clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

export function historyWorld(stores: HistoryStores): HistoryWorld {
  const { cache, regionBytes } = regionCache(clock.nowMs());
  const failures: string[] = [];
  const alerts: string[] = [];
  let joinReads = 0;
  const joiner = new Joiner({
    store: {
      readGroup: (read) => {
        joinReads++;
        return stores.messages.readGroup(read);
      },
    },
    cache,
    keyring: new ScriptedKeyring(),
    opener: { open: async (job) => openItems(job, regionBytes) },
    clock,
    costs: READ_COST_MODEL_DEFAULT,
    allowUnsealed: true,
    freshness: fixedAge(60_000),
    onFailure: (code) => failures.push(code),
  });
  const buckets = new WatchedBuckets(stores.buckets);
  const reader = new HistoryReader({
    buckets,
    heads: stores.writes,
    joiner,
    clock,
    onAlert: (alert) => alerts.push(alert),
    onFailure: (code) => failures.push(code),
  });
  return {
    reader,
    joiner,
    cache,
    buckets,
    alerts,
    failures,
    joinReads: () => joinReads,
    page: async (place, ask = {}) => plainPage(await reader.page(requestOf(place, ask))),
  };
}

function requestOf(place: Place, ask: Ask) {
  return {
    ...place,
    direction: ask.newer === true ? HistoryDirection.NEWER : HistoryDirection.OLDER,
    anchor: ask.anchor,
    limit: ask.limit ?? 50,
    deadlineMs: ask.deadlineMs ?? 20_000,
    responseBytesMax: ask.responseBytesMax ?? 16 * 1024 * 1024,
  };
}

/** Bodies are held against their entries on the way. */
function plainPage(outcome: HistoryOutcome): Page {
  const { entries, hasMore, nextAnchor, stop, hole } = outcome;
  const views = outcome.bodies.views();
  const seqs: bigint[] = [];
  for (let index = 0; index < entries.count; index++) {
    const seq = entries.seq(index);
    seqs.push(seq);
    const position = entries.body[index] as number;
    if (position === 0) continue;
    const body = decodeMessageBody(views[position - 1] as Buffer);
    if (body.conversationSeq !== seq) throw new Error('the body of another message');
    if (body.payload !== undefined && Buffer.from(body.payload).toString() !== String(seq)) {
      throw new Error('another payload');
    }
  }
  return { seqs, results: [...entries.code].map(resultName), hasMore, nextAnchor, stop, hole, outcome };
}

/** Writes messages at these seqs; `state` as a test says. Every third one has reactions. */
export async function putMessages(
  { messages }: HistoryStores,
  place: Place,
  seqs: readonly bigint[],
  stateOf: (seq: bigint) => number = () => MessageState.NORMAL,
  mediaBytes = 0,
): Promise<ReadonlyMap<bigint, MessageId>> {
  const ids = new Map<bigint, MessageId>();
  await inParallel(seqs, 32, async (seq) => {
    const messageId = message();
    ids.set(seq, messageId);
    const fields = {
      messageId,
      lastActivityId: activity(),
      payload: Buffer.from(String(seq)),
      dekId: undefined,
      mediaMetadata: mediaBytes === 0 ? undefined : randomBytes(mediaBytes),
      mentionTargets: undefined,
      state: stateOf(seq),
    };
    await messages.insertRecord({ ...place, seq }, fullRecord(seq, fields), life());
    if (seq % 3n === 0n) await messages.putSummary({ ...place, seq }, summary(seq, 5n, [['+1', 2]]));
  });
  return ids;
}

/** Sets H, and E where it is given. */
export async function putHead(
  { writes }: HistoryStores,
  { tenantId, conversationId }: Place,
  latestSeq: bigint,
  earliestSeq?: bigint,
): Promise<void> {
  await writes.writeHead(tenantId, conversationId, {
    latestSeq,
    lastMessageId: message(),
    lastActivityId: activity(),
    lastSenderId: undefined,
    preview: undefined,
    updatedAtMs: BigInt(Date.now()),
    fencingEpoch: 1n,
    headVersion: 1n,
  });
  if (earliestSeq !== undefined) await writes.advanceEarliest(tenantId, conversationId, earliestSeq);
}

/** All seqs from a to b. */
export function span(a: bigint, b: bigint): bigint[] {
  return Array.from({ length: Number(b - a) + 1 }, (_, index) => a + BigInt(index));
}
