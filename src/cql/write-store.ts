/**
 * The WriteStore on Cassandra or ScyllaDB: one object for the write side's ports, each kept by its own part on the same
 * session. The session belongs to whoever opened it and is not closed here. Fails as its parts say.
 */
import type { ConversationId, MessageId, TenantId, UserId } from '../domain/ids.js';
import type { Coordinates, MessageRecord } from '../domain/message.js';
import type { WriteLife } from '../domain/ports.js';
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
import { CqlCheckpointStore } from './checkpoint-store.js';
import { CqlDedupStore } from './dedup-store.js';
import { CqlHeadStore } from './head-store.js';
import { CqlMessageIndexStore } from './message-index-store.js';
import { CqlReactionStore } from './reaction-store.js';
import { RecordReads } from './record-reads.js';
import { CqlSequenceStore } from './sequence-store.js';
import type { CqlSession } from './session.js';

export class CqlWriteStore implements WriteStore {
  readonly #dedup: CqlDedupStore;
  readonly #heads: CqlHeadStore;
  readonly #sequences: CqlSequenceStore;
  readonly #reactions: CqlReactionStore;
  readonly #index: CqlMessageIndexStore;
  readonly #checkpoints: CqlCheckpointStore;
  readonly #records: RecordReads;

  constructor(session: CqlSession, keyspace: string) {
    this.#dedup = new CqlDedupStore(session, keyspace);
    this.#heads = new CqlHeadStore(session, keyspace);
    this.#sequences = new CqlSequenceStore(session, keyspace);
    this.#reactions = new CqlReactionStore(session, keyspace);
    this.#index = new CqlMessageIndexStore(session, keyspace);
    this.#checkpoints = new CqlCheckpointStore(session, keyspace);
    this.#records = new RecordReads(session, keyspace);
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

  loadCheckpoint(name: string): Promise<string | undefined> {
    return this.#checkpoints.loadCheckpoint(name);
  }

  saveCheckpoint(name: string, value: string): Promise<void> {
    return this.#checkpoints.saveCheckpoint(name, value);
  }

  readRecord(where: Coordinates): Promise<MessageRecord | undefined> {
    return this.#records.readRecord(where);
  }

  readBucket(
    tenantId: TenantId,
    conversationId: ConversationId,
    bucket: bigint,
  ): Promise<readonly MessageRecord[]> {
    return this.#records.readBucket(tenantId, conversationId, bucket);
  }
}
