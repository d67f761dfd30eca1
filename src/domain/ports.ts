/**
 * The ports: what join, write and history need from the outside, in their own words. Adapters implement them
 * (src/cql, src/embedded, src/cache, src/crypto, src/workers); src/cli wires the two together.
 *
 * Times named `…AtMs` here are monotonic (Clock.nowMs) unless they say 1970.
 */
import type { ActivityId, ConversationId, MessageId, TenantId } from './ids.js';
import type { Coordinates, DekId, MessageRecord, ReactionSummary } from './message.js';
import type { OpenJob } from './open-job.js';
import type { ReadStatement } from './statement.js';

/** Time, passed in so that tests own it. */
export interface Clock {
  /** Milliseconds on the machine's monotonic clock: comparable between processes of one node, never set back. */
  nowMs(): number;
  /** Milliseconds since 1970 UTC, for created_at and TTLs. */
  epochMs(): number;
}

// ---------------------------------------------------------------- reading the store

/** One visit to one partition pair: all statements belong to the same (tenant, conversation, bucket). */
export interface GroupRead {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly bucket: bigint;
  readonly statements: readonly ReadStatement[];
  /** Content bytes after which, or after half of the read's time, no further row is asked for: see GroupRows.unread. Absent: no bound. */
  readonly bytesMax?: number;
  /** The same read failed before, as one of very large rows does: it is made in small pages. */
  readonly isRepeated?: boolean;
}

/** What a group read cost, counted at the store's own level (S-1): a statement is one read, its further pages are counted apart. */
export interface ReadCost {
  recordStatements: number;
  summaryStatements: number;
  /** Pages beyond the first of each statement. */
  furtherPages: number;
  rows: number;
  /** Payload and metadata bytes of the rows, surplus included. */
  bytes: number;
}

/** The rows of one visit. Surplus rows of covering ranges are included; incomplete rows (B12, B15) are not. */
export interface GroupRows {
  readonly records: readonly MessageRecord[];
  readonly summaries: readonly ReactionSummary[];
  /** When the first statement was sent: TTLs count from here. */
  readonly sentAtMs: number;
  readonly cost: ReadCost;
  /** What is left of the statements, where bytes or time were used up before their end. Absent: nothing. */
  readonly unread?: readonly ReadStatement[];
}

export interface MessageReader {
  /**
   * Reads a group: each statement on message_record and, sent together with it, on message_reaction_summary (R4.4).
   * All pages are followed (B07), until `bytesMax` or half of the time is used up. Rows of a foreign bucket or more than 4,096 of them → STORE_CORRUPT (R4.2).
   * Fails with STORE_UNAVAILABLE, STORE_REFUSED or STORE_CORRUPT; never resolves with fewer rows than it says.
   */
  readGroup(read: GroupRead): Promise<GroupRows>;
}

// ---------------------------------------------------------------- writing the store

/** How long a row lives and which write wins: given with every write of message_record (D8, D14). */
export interface WriteLife {
  /** Whole seconds that remain, 1 … 20 years; undefined = no TTL. 0 is never bound: TTL_RANGE (D8). */
  readonly ttlSeconds: number | undefined;
  /** The write's timestamp in microseconds (D14). */
  readonly timestampMicros: bigint;
}

export interface EditOfRecord {
  readonly payload: Uint8Array;
  readonly dekId: DekId | undefined;
  readonly editedAtActivityId: ActivityId;
  readonly lastActivityId: ActivityId;
}

export interface RecallOfRecord {
  readonly recallEventSeq: bigint;
  readonly lastActivityId: ActivityId;
}

/** Single-row writes. Each is idempotent. seqs are checked before anything is sent: SEQ_RANGE (R1.1). */
export interface MessageWriter {
  /** A plain INSERT; absent fields are not written (D18). */
  insertRecord(where: Coordinates, record: MessageRecord, life: WriteLife): Promise<void>;
  /** payload, dek_id, state, edited_at and last_activity_id in one statement; recall_event is not touched (D14). */
  editRecord(where: Coordinates, edit: EditOfRecord, life: WriteLife): Promise<void>;
  /** state, recall_event_conversation_seq and last_activity_id in one statement (R5.4, D14). */
  recallRecord(where: Coordinates, recall: RecallOfRecord, life: WriteLife): Promise<void>;
  /** Absolute counts, key by key, with summary_version as the timestamp (D19); a count of 0 stands for "gone". */
  putSummary(where: Coordinates, summary: ReactionSummary): Promise<void>;
}

/** A message store as a whole. */
export interface MessageStore extends MessageReader, MessageWriter {
  /** Resolves when a read can be answered now; else rejects with the reason. For /readyz. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- keys

/** A key as the store keeps it: wrapped by the KEK, or the marker that it was destroyed (D12). */
export interface StoredKey {
  readonly dekId: DekId;
  /** The KEK-wrapped DEK; undefined once destroyed. */
  readonly wrapped: Uint8Array | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly createdAtEpochMs: number;
  readonly destroyedAtEpochMs: number | undefined;
}

/** Where wrapped keys lie; both stores implement it. Fails with STORE_UNAVAILABLE. */
export interface KeyStore {
  /** As many answers as ids, in their order; undefined = never existed. */
  fetch(ids: readonly DekId[]): Promise<readonly (StoredKey | undefined)[]>;
  /** False when the id exists already, destroyed or not; nothing is written then. */
  insert(key: StoredKey): Promise<boolean>;
  /** Removes the wrapped bytes and leaves the marker. False when the key never existed. Repeatable. */
  destroy(dekId: DekId, epochMs: number): Promise<boolean>;
  /** Every key, or those of one scope, or one id's versions. */
  list(scope?: string, id?: string): AsyncIterable<StoredKey>;
  /** Keys whose destruction was recorded at or after this time (1970). May repeat what was told before. */
  destroyedSince(epochMs: number): Promise<readonly DekId[]>;
  /** What tells the store's own KEK from another one (crypto/kek-check.ts); undefined while nothing is recorded. */
  kekCheckValue(): Promise<Uint8Array | undefined>;
  /** Records it unless one is recorded, once for all; resolves to the one that is recorded then. */
  recordKekCheckValue(value: Uint8Array): Promise<Uint8Array>;
}

/** One answer of a key provider. A failure is one key's, never its neighbours'. */
export type Unwrapped =
  | { readonly status: 'ok'; readonly key: Uint8Array }
  | { readonly status: 'destroyed' }
  | { readonly status: 'unknown' }
  | { readonly status: 'failed'; readonly cause: unknown };

/** The port behind which a KMS fits. */
export interface KeyProvider {
  /** As many answers as ids, in their order; at most UNWRAP_BATCH_MAX ids. A rejection counts as 'failed' for all. */
  unwrap(ids: readonly DekId[]): Promise<readonly Unwrapped[]>;
}

/** Opened keys, cached (R6.2): what join asks. */
export interface Keyring {
  /** The cached key, without waiting; undefined when it must be resolved. A key in an answer is the asker's copy, to zero. */
  peek(id: DekId): Unwrapped | undefined;
  /** True when the key is known to be destroyed. */
  isDestroyed(id: DekId): boolean;
  /** As many answers as ids, keys as copies. Single-flight per key; failures are not cached (B36). Never rejects. */
  resolve(ids: readonly DekId[]): Promise<readonly Unwrapped[]>;
}

/** Opens groups of payloads (src/workers). */
export interface PayloadOpener {
  /**
   * Opens every item in place (see open-job.ts) and answers one OpenOutcome per item. Answers at once for small
   * groups. A worker's death is repeated inside; rejects only when no worker can be had at all (→ UNAVAILABLE).
   */
  open(job: OpenJob): Uint8Array | Promise<Uint8Array>;
}

// ---------------------------------------------------------------- the shared cache

/** Where one reference lies inside a request's columns: offsets, so that a lookup allocates nothing. Reused by its owner. */
export interface MessageAt {
  tenantId: Uint8Array;
  bytes: Uint8Array;
  conversationAt: number;
  messageAt: number;
  seqHi: number;
  seqLo: number;
}

/** A body's identity and revisions, for reserving its slot. */
export interface BodyIdentity extends Coordinates {
  readonly messageId: MessageId;
  /** last_activity_id of the row; 16 zero bytes where the row has none. */
  readonly revision: ActivityId;
  /** 0 where there is no summary. */
  readonly summaryVersion: bigint;
  /** ResultCode.OK or ResultCode.RECALLED. */
  readonly code: number;
  /** Bytes of block A (everything but the summary) and of block A || block B. */
  readonly blockABytes: number;
  readonly bodyBytes: number;
  /** The DEK that sealed it; undefined for unsealed rows. */
  readonly dekId: DekId | undefined;
}

/** A place that one flight may fill: inside the region, or private memory of the same shape. */
export interface BodySlot {
  /** The buffer that holds it; for the region the whole region. */
  readonly bytes: Uint8Array;
  /** Offset of the body's first byte in `bytes`. */
  readonly at: number;
  readonly bodyBytes: number;
  /** True when the slot lies in the shared region (OpenItem.bufferIndex 0). */
  readonly shared: boolean;
}

/** Handle of a published body, valid only in the tick that got it. */
export type BodyHandle = number;
export const NO_BODY: BodyHandle = -1;

export const PublishOutcome = {
  PUBLISHED: 0,
  /** Below an installed floor, expired meanwhile, or caching is paused: serve it subject to the floor, uncached. */
  NOT_CACHED: 1,
  /** The DEK's generation moved since the slot was reserved: ask the keyring again before serving it. */
  KEY_CHANGED: 2,
} as const;
export type PublishOutcome = (typeof PublishOutcome)[keyof typeof PublishOutcome];

/** A revision below which a message must not be served any more. */
export interface Floor {
  readonly activityId: ActivityId | undefined;
  readonly summaryVersion: bigint;
  /** A recall's: a body with content lies below it whatever its revision, since an edit's may be higher (D14). */
  readonly recalled?: boolean | undefined;
}

/** The node's shared LRU of encoded bodies. One writer: the main thread. Synchronous throughout. */
export interface BodyCache {
  /** 32-bit hash of (tenant, message_id), seeded; also for a batch's own deduplication. */
  hash(at: MessageAt): number;
  /**
   * The published body of exactly this (tenant, conversation, seq, message_id), or NO_BODY: absent, expired, key
   * destroyed, or below an installed floor. Coordinates that differ are NO_BODY too, so that MISMATCH never depends
   * on hit or miss. Marks the body as used.
   */
  find(at: MessageAt, nowMs: number): BodyHandle;
  bodyBytes(body: BodyHandle): number;
  /** ResultCode.OK or ResultCode.RECALLED. */
  codeOf(body: BodyHandle): number;
  /** True when the body is at or above a caller's floor: floorAt −1 = no revision floor, version 0 = none. */
  meetsFloor(body: BodyHandle, floorBytes: Uint8Array, floorAt: number, summaryVersion: bigint): boolean;
  /** Copies the body to `target` at `targetAt`. */
  copyBody(body: BodyHandle, target: Uint8Array, targetAt: number): void;
  /**
   * Copies block A of the cached body to `target` when it has exactly this revision and DEK, so that a changed
   * summary does not open the payload again; false when there is none.
   */
  copyBlockA(identity: BodyIdentity, target: Uint8Array, targetAt: number, nowMs: number): boolean;
  /** A slot for exactly this body, or undefined: too large, caching paused, or no segment free. */
  reserve(identity: BodyIdentity): BodySlot | undefined;
  /**
   * Makes a reserved slot visible, replacing what the key held. Unless the outcome is PUBLISHED the slot stays its
   * flight's, untouched, to be released by it.
   */
  publish(slot: BodySlot, expiresAtMs: number, nowMs: number): PublishOutcome;
  /** Gives a reserved slot up unseen, zeroing it: it may hold plaintext. */
  release(slot: BodySlot): void;
  /** Drops what is cached of a message. */
  remove(tenantId: TenantId, messageId: MessageId): void;
  /**
   * Installs a floor, keeping the higher one; then drops what is cached below it. It lasts for the cache's own age of
   * floors, and for `ageMsMin` while no body at or above it is published.
   */
  raiseFloor(tenantId: TenantId, messageId: MessageId, floor: Floor, nowMs: number, ageMsMin?: number): void;
  /**
   * Gives the cached body of exactly this message a later reaction summary, from its own bytes and without opening its
   * payload; `blockB` is the summary encoded. False, and nothing done, when none is cached, the cached one is not
   * older, or there is no room.
   */
  replaceSummary(
    where: Coordinates,
    messageId: MessageId,
    summaryVersion: bigint,
    blockB: Uint8Array,
    nowMs: number,
  ): boolean;
  /** The installed floor of a message, or undefined. */
  floorOf(tenantId: TenantId, messageId: MessageId): Floor | undefined;
  /** How often a key was destroyed. */
  readonly keysDestroyed: number;
  /** Raises the DEK's generation and zeroes every slot that it sealed; returns how many. */
  destroyKey(dekId: DekId): number;
  /** Drops everything, zeroing it. */
  clear(): void;
  stats(): BodyCacheStats;
}

export interface BodyCacheStats {
  readonly regionBytes: number;
  /** Bytes of published bodies with their headers. */
  readonly usedBytes: number;
  readonly bodies: number;
  readonly reserved: number;
  readonly hits: number;
  readonly misses: number;
  readonly published: number;
  readonly evicted: number;
  readonly expired: number;
  readonly removed: number;
  readonly refused: number;
  readonly floors: number;
  readonly paused: boolean;
}
