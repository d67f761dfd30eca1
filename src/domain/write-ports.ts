/**
 * The ports of the write side (R1.1, R3, R5): what commit, recall, edit, reactions and the archiver need beside
 * MessageWriter. Both stores implement them and pass the same contract. All methods fail with STORE_UNAVAILABLE,
 * STORE_REFUSED or SEQ_RANGE (checked before anything is sent).
 */
import type { ActivityId, ConversationId, MessageId, TenantId, UserId } from './ids.js';
import type { Coordinates, MessageRecord } from './message.js';
import type { WriteLife } from './ports.js';

/** client_dedup.state (D9). */
export const DedupState = { RESERVED: 0, COMMITTED: 1 } as const;

/** A row of client_dedup: the ids that a retry replays (D16). */
export interface DedupEntry {
  readonly tenantId: TenantId;
  readonly senderId: UserId;
  readonly clientMessageId: string;
  readonly messageId: MessageId;
  readonly seq: bigint;
  readonly state: number;
  readonly createdAtMs: bigint;
}

/** The only port with lightweight transactions on R2's tables (R2.3). */
export interface DedupStore {
  /**
   * INSERT … IF NOT EXISTS with state RESERVED; undefined when it was inserted, else the row that was there. A row
   * left by this very call whose answer was lost is told by its ids.
   */
  reserve(entry: DedupEntry): Promise<DedupEntry | undefined>;
  /** Sets COMMITTED IF state = RESERVED, every column again (D7). False when it was not RESERVED (any more). */
  complete(entry: DedupEntry): Promise<boolean>;
  read(tenantId: TenantId, senderId: UserId, clientMessageId: string): Promise<DedupEntry | undefined>;
}

/** conversation_head as it is read (R2). */
export interface ConversationHead {
  readonly latestSeq: bigint | undefined;
  readonly earliestAvailableSeq: bigint | undefined;
  readonly lastMessageId: MessageId | undefined;
  readonly lastActivityId: ActivityId | undefined;
  readonly lastSenderId: UserId | undefined;
  /** Sealed, preceded by its dek_id and seq (D23). */
  readonly preview: Uint8Array | undefined;
  readonly memberCount: number | undefined;
  readonly updatedAtMs: bigint | undefined;
  readonly fencingEpoch: bigint | undefined;
  readonly headVersion: bigint | undefined;
}

/** One head write of the owner (D2); its timestamp is fencing_epoch · 2^40 + head_version. */
export interface HeadWrite {
  readonly latestSeq: bigint;
  readonly lastMessageId: MessageId;
  readonly lastActivityId: ActivityId;
  readonly lastSenderId: UserId | undefined;
  readonly preview: Uint8Array | undefined;
  readonly updatedAtMs: bigint;
  /** 0 ≤ epoch < 2^23. */
  readonly fencingEpoch: bigint;
  /** 1 ≤ version < 2^40. */
  readonly headVersion: bigint;
}

export interface HeadStore {
  /**
   * Blind; the store's last-write-wins is the fence (D2). Every column but E and member_count is written: an absent
   * sender or preview stands for "none". An epoch or version out of range is a bug of the caller and asserted.
   */
  writeHead(tenantId: TenantId, conversationId: ConversationId, write: HeadWrite): Promise<void>;
  /**
   * Writes fencing_epoch and head_version = 0 alone, at the epoch's lowest timestamp (D2): every owner of an earlier
   * epoch that reads the head back from now on learns that this one has taken over, and has not written yet.
   */
  claimHead(tenantId: TenantId, conversationId: ConversationId, fencingEpoch: bigint): Promise<void>;
  /** E alone, with its own value as timestamp, so that it never moves back (R3.5, D2). */
  advanceEarliest(tenantId: TenantId, conversationId: ConversationId, earliestSeq: bigint): Promise<void>;
  readHead(tenantId: TenantId, conversationId: ConversationId): Promise<ConversationHead | undefined>;
}

/** A window of sequence numbers that nobody else hands out. */
export interface SeqWindow {
  /** Inclusive. */
  readonly first: bigint;
  readonly count: number;
  /** Ids handed out under this window must lie above this time (milliseconds since 1970). */
  readonly idFloorMs: bigint;
}

export interface SequenceStore {
  /** Reserves the next `count` seqs of a conversation; never hands one out twice, whatever crashes (holes are normal). */
  reserveWindow(
    tenantId: TenantId,
    conversationId: ConversationId,
    count: number,
    nowEpochMs: bigint,
  ): Promise<SeqWindow>;
  /** Where the windows reserved so far end: the next one begins there or above; undefined = none was reserved. */
  reservedEnd(tenantId: TenantId, conversationId: ConversationId): Promise<bigint | undefined>;
}

/** One row of message_reaction. */
export interface Reaction {
  readonly userId: UserId;
  /** '' stands for "taken back" (D19). */
  readonly reactionKey: string;
  readonly createdAtMs: bigint;
}

export interface ReactionsPart {
  /** Only users behind this one in the store's order; undefined = from the first on. */
  readonly after: UserId | undefined;
  /** Rows at most, 1 … REACTOR_READ_ROWS. */
  readonly limit: number;
}

export interface ReactionsPage {
  /** Taken-back ones included. */
  readonly reactions: readonly Reaction[];
  /** The last user of this part; undefined exactly when no row lies behind it. */
  readonly next: UserId | undefined;
}

export interface ReactionStore {
  /** One row per user and message (R5.5); the later createdAtMs wins. */
  putReaction(where: Coordinates, reaction: Reaction): Promise<void>;
  /** Every user's row of a message, all pages, taken-back ones included. */
  readReactions(where: Coordinates): AsyncIterable<Reaction>;
  /**
   * A part of them for a message's detail view (R4.5): one bounded read, in the store's own order of users, which is the
   * same for every call. Rows without key or time, of foreign writers, are left out but count against the limit.
   */
  readReactionsPage(where: Coordinates, part: ReactionsPart): Promise<ReactionsPage>;
  /** One user's row (R4.5). */
  readReaction(where: Coordinates, userId: UserId): Promise<Reaction | undefined>;
}

/** Where a message_id lies (R2.2). */
export interface IndexEntry {
  readonly conversationId: ConversationId;
  readonly seq: bigint;
}

export interface MessageIndexStore {
  /** A plain INSERT with the message's remaining TTL (D21). */
  putIndex(tenantId: TenantId, messageId: MessageId, entry: IndexEntry, life: WriteLife): Promise<void>;
  /** Administration only (R2.2). */
  lookup(tenantId: TenantId, messageId: MessageId): Promise<IndexEntry | undefined>;
}

/** Small named values that survive a restart: recovery and advancer checkpoints. */
export interface CheckpointStore {
  loadCheckpoint(name: string): Promise<string | undefined>;
  saveCheckpoint(name: string, value: string): Promise<void>;
}

/** Everything that the write side asks of a store. */
export interface WriteStore
  extends DedupStore,
    HeadStore,
    SequenceStore,
    ReactionStore,
    MessageIndexStore,
    CheckpointStore {
  /** One row whole, for recall, edit and holds (not a batch path). Undefined when absent or incomplete. */
  readRecord(where: Coordinates): Promise<MessageRecord | undefined>;
  /** Every row of a conversation's bucket, ascending: for holds, the advancer and capacity. */
  readBucket(
    tenantId: TenantId,
    conversationId: ConversationId,
    bucket: bigint,
  ): Promise<readonly MessageRecord[]>;
  /** Conversations that have a head, in the store's order, from a position on: for the advancer. */
  listHeads(from: string | undefined, limit: number): Promise<HeadListing>;
}

/** A part of the conversations that have a head. */
export interface HeadListing {
  readonly heads: readonly {
    readonly tenantId: TenantId;
    readonly conversationId: ConversationId;
    readonly head: ConversationHead;
  }[];
  /** Where to go on; undefined at the end. */
  readonly next: string | undefined;
}

// ---------------------------------------------------------------- the log

/** A place in the log: partition and offset. Offsets rise by one within a partition, gaps allowed. */
export interface LogPosition {
  readonly partition: number;
  readonly offset: bigint;
}

/** A record as it is appended: bytes, already encoded (proto/log.proto). */
export interface LogAppend {
  /** Keeps a conversation's order: equal keys go to one partition. */
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface LogEntry extends LogPosition {
  readonly value: Uint8Array;
  /** When the log took it, milliseconds since 1970. */
  readonly appendedAtMs: number;
}

/** The outbox (R5.1 step 4). */
export interface Outbox {
  /**
   * Appends durably (acks = all) and in call order per key; resolves with the record's place. One request is in flight
   * at a time and carries all that wait. A record above `recordBytesMax` is refused alone, before it is queued:
   * RECORD_TOO_LARGE. Fails with LOG_UNAVAILABLE.
   */
  append(record: LogAppend): Promise<LogPosition>;
  readonly recordBytesMax: number;
  close(): Promise<void>;
}

/** Reads the log. Fails with LOG_UNAVAILABLE; a follower reconnects by itself. */
export interface LogReader {
  /** Next offset of each partition (the end of the log). */
  ends(): Promise<readonly LogPosition[]>;
  /**
   * Every record from the given positions on (partitions not named: from their beginning), in order within a
   * partition, until `signal` aborts; with `until`, resolves when all of it up to those ends was handed over. The
   * handler is awaited, so it is also the backpressure.
   */
  read(options: {
    readonly from: readonly LogPosition[];
    readonly until?: readonly LogPosition[];
    readonly onEntries: (entries: readonly LogEntry[]) => Promise<void>;
    /** Told where it goes on when that is not behind a record: offsets that have none (any more). */
    readonly onPosition?: ((position: LogPosition) => void) | undefined;
    /** Told of every attempt that failed and is made again. */
    readonly onFailure?: ((error: unknown) => void) | undefined;
    readonly signal: AbortSignal;
  }): Promise<void>;
  /** The same as a member of a consumer group: partitions are shared, offsets are committed after the handler. */
  consume(options: {
    readonly group: string;
    readonly onEntries: (entries: readonly LogEntry[]) => Promise<void>;
    /** Records not yet handed over, in all; told at least every few seconds, undefined while nobody can tell. */
    readonly onLag?: (lag: bigint | undefined) => void;
    /** Told of every membership that failed and is begun anew. */
    readonly onFailure?: ((error: unknown) => void) | undefined;
    readonly signal: AbortSignal;
  }): Promise<void>;
  close(): Promise<void>;
}
