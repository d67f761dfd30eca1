/**
 * The embedded WriteStore: one object for the write side's ports, each kept by its own part on the same file, and the
 * few whole-row reads of message_record that recall, edit, holds and the advancer need. The file belongs to whoever
 * opened it and is not closed here. Fails with STORE_UNAVAILABLE, STORE_REFUSED, STORE_CORRUPT or SEQ_RANGE.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, MessageId, TenantId, UserId } from '../domain/ids.js';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import type { Coordinates, MessageRecord } from '../domain/message.js';
import type { Clock, WriteLife } from '../domain/ports.js';
import { assertSeq, bucketOf, SEQ_MAX } from '../domain/seq.js';
import { requireSeq } from '../domain/write-checks.js';
import type {
  ConversationHead,
  DedupEntry,
  HeadListing,
  HeadWrite,
  IndexEntry,
  Reaction,
  ReactionsPage,
  ReactionsPart,
  SeqWindow,
  WriteStore,
} from '../domain/write-ports.js';
import { EmbeddedDedupStore } from './dedup-store.js';
import type { Environment } from './environment.js';
import { EmbeddedHeadStore } from './head-store.js';
import { EmbeddedMessageIndexStore } from './message-index-store.js';
import { EmbeddedReactionStore } from './reaction-store.js';
import { readRecord } from './record-row.js';
import { decodeRow } from './row-codec.js';
import { name, rowKey, seqOfKey } from './row-key.js';
import { EmbeddedSequenceStore } from './sequence-store.js';

export class EmbeddedWriteStore implements WriteStore {
  readonly #environment: Environment;
  readonly #clock: Clock;
  readonly #dedup: EmbeddedDedupStore;
  readonly #heads: EmbeddedHeadStore;
  readonly #sequences: EmbeddedSequenceStore;
  readonly #reactions: EmbeddedReactionStore;
  readonly #index: EmbeddedMessageIndexStore;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
    this.#dedup = new EmbeddedDedupStore(environment, clock);
    this.#heads = new EmbeddedHeadStore(environment);
    this.#sequences = new EmbeddedSequenceStore(environment);
    this.#reactions = new EmbeddedReactionStore(environment, clock);
    this.#index = new EmbeddedMessageIndexStore(environment, clock);
  }

  reserve(entry: DedupEntry): Promise<DedupEntry | undefined> {
    return this.#dedup.reserve(entry);
  }

  complete(entry: DedupEntry): Promise<boolean> {
    return this.#dedup.complete(entry);
  }

  read(tenantId: TenantId, senderId: UserId, clientMessageId: string): Promise<DedupEntry | undefined> {
    return this.#dedup.read(tenantId, senderId, clientMessageId);
  }

  writeHead(tenantId: TenantId, conversationId: ConversationId, write: HeadWrite): Promise<void> {
    return this.#heads.writeHead(tenantId, conversationId, write);
  }

  claimHead(tenantId: TenantId, conversationId: ConversationId, fencingEpoch: bigint): Promise<void> {
    return this.#heads.claimHead(tenantId, conversationId, fencingEpoch);
  }

  advanceEarliest(tenantId: TenantId, conversationId: ConversationId, earliestSeq: bigint): Promise<void> {
    return this.#heads.advanceEarliest(tenantId, conversationId, earliestSeq);
  }

  readHead(tenantId: TenantId, conversationId: ConversationId): Promise<ConversationHead | undefined> {
    return this.#heads.readHead(tenantId, conversationId);
  }

  listHeads(from: string | undefined, limit: number): Promise<HeadListing> {
    return this.#heads.listHeads(from, limit);
  }

  reserveWindow(
    tenantId: TenantId,
    conversationId: ConversationId,
    count: number,
    nowEpochMs: bigint,
  ): Promise<SeqWindow> {
    return this.#sequences.reserveWindow(tenantId, conversationId, count, nowEpochMs);
  }

  reservedEnd(tenantId: TenantId, conversationId: ConversationId): Promise<bigint | undefined> {
    return this.#sequences.reservedEnd(tenantId, conversationId);
  }

  putReaction(where: Coordinates, reaction: Reaction): Promise<void> {
    return this.#reactions.putReaction(where, reaction);
  }

  readReactions(where: Coordinates): AsyncIterable<Reaction> {
    return this.#reactions.readReactions(where);
  }

  readReactionsPage(where: Coordinates, part: ReactionsPart): Promise<ReactionsPage> {
    return this.#reactions.readReactionsPage(where, part);
  }

  readReaction(where: Coordinates, userId: UserId): Promise<Reaction | undefined> {
    return this.#reactions.readReaction(where, userId);
  }

  putIndex(tenantId: TenantId, messageId: MessageId, entry: IndexEntry, life: WriteLife): Promise<void> {
    return this.#index.putIndex(tenantId, messageId, entry, life);
  }

  lookup(tenantId: TenantId, messageId: MessageId): Promise<IndexEntry | undefined> {
    return this.#index.lookup(tenantId, messageId);
  }

  async loadCheckpoint(checkpoint: string): Promise<string | undefined> {
    const key = name(checkpoint);
    return this.#environment.read(() => this.#environment.checkpoints.get(key))?.toString('utf8');
  }

  async saveCheckpoint(checkpoint: string, value: string): Promise<void> {
    const key = name(checkpoint);
    await this.#environment.write(() => {
      // Inside a transaction a put is done when it returns.
      void this.#environment.checkpoints.put(key, Buffer.from(value, 'utf8'));
    });
  }

  async readRecord(where: Coordinates): Promise<MessageRecord | undefined> {
    requireSeq(where.seq, 'conversation_seq');
    const { tenantId, conversationId, seq } = where;
    const key = rowKey(tenantId, conversationId, bucketOf(seq), seq);
    const stored = this.#environment.read(() => this.#environment.records.get(key));
    return stored && readRecord(seq, decodeRow(stored), this.#nowS());
  }

  async readBucket(
    tenantId: TenantId,
    conversationId: ConversationId,
    bucket: bigint,
  ): Promise<readonly MessageRecord[]> {
    assertSeq(bucket, 'seq_bucket');
    const start = rowKey(tenantId, conversationId, bucket, 0n);
    const end = rowKey(tenantId, conversationId, bucket, SEQ_MAX);
    const rows = this.#environment.read(() => [
      ...this.#environment.records.getRange({
        start,
        end,
        inclusiveEnd: true,
        limit: PARTITION_ROWS_MAX + 1,
      }),
    ]);
    if (rows.length > PARTITION_ROWS_MAX) {
      throw new MailjoinError('STORE_CORRUPT', 'more rows than a bucket holds (R4.2)');
    }
    const nowS = this.#nowS();
    const records: MessageRecord[] = [];
    for (const { key, value } of rows) {
      const seq = seqOfKey(key);
      if (bucketOf(seq) !== bucket) {
        throw new MailjoinError('STORE_CORRUPT', 'a row lies in a foreign bucket (R4.2)');
      }
      const record = readRecord(seq, decodeRow(value), nowS);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  #nowS(): number {
    return Math.floor(this.#clock.epochMs() / 1000);
  }
}
