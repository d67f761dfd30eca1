/**
 * Rows for tests of stores: random coordinates, so that tests on a shared real store never meet each other's rows.
 */
import { randomBytes } from 'node:crypto';
import type { ActivityId, ConversationId, MessageId, TenantId, UserId } from '../../src/domain/ids.js';
import type { Coordinates, DekId, MessageRecord, ReactionSummary } from '../../src/domain/message.js';
import { MessageState } from '../../src/domain/message.js';
import type { GroupRead, GroupRows, KeyStore, MessageStore, WriteLife } from '../../src/domain/ports.js';
import { bucketOf } from '../../src/domain/seq.js';
import type { ReadStatement } from '../../src/domain/statement.js';

/** What a store under test hands to the contract. */
export interface OpenedStore {
  readonly store: MessageStore;
  readonly keys: KeyStore;
  close(): Promise<void>;
}

/** Ids are branded byte strings; the casts below are the one place where tests brand them. */
export const tenant = (bytes: Uint8Array = randomBytes(16)): TenantId => bytes as TenantId;
export const conversation = (bytes: Uint8Array = randomBytes(16)): ConversationId => bytes as ConversationId;
export const message = (bytes: Uint8Array = randomBytes(16)): MessageId => bytes as MessageId;
export const activity = (bytes: Uint8Array = randomBytes(16)): ActivityId => bytes as ActivityId;
export const user = (bytes: Uint8Array = randomBytes(16)): UserId => bytes as UserId;

/** A fixed creation time: 2025-06-01, in the past of every test run. */
export const CREATED_AT_MS = 1_748_736_000_000n;

/** D14: the timestamp of an INSERT. */
export const INSERT_MICROS = CREATED_AT_MS * 1000n;

/** Coordinates in a conversation of their own. */
export function somewhere(seq = 1n): Coordinates {
  return { tenantId: tenant(), conversationId: conversation(), seq };
}

/** The same conversation at another seq. */
export function at(where: Coordinates, seq: bigint): Coordinates {
  return { ...where, seq };
}

/** A complete row with every column present; override what a test is about. */
export function fullRecord(seq: bigint, over: Partial<MessageRecord> = {}): MessageRecord {
  return {
    seq,
    messageId: message(),
    lastActivityId: activity(),
    senderId: user(),
    senderDeviceId: user(),
    clientMessageId: 'client-é-1',
    messageType: 1,
    customType: 'app.custom',
    schemaVersion: 3,
    payload: randomBytes(64),
    mediaMetadata: randomBytes(32),
    replyToSeq: 7n,
    mentionTargets: randomBytes(18),
    state: MessageState.NORMAL,
    recallEventSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs: CREATED_AT_MS,
    retentionClass: 0,
    dekId: { scope: 'conversation', id: 'k1', version: 1 },
    ttlSeconds: undefined,
    ...over,
  };
}

/** A row of the columns that every row has, all others absent. */
export function bareRecord(seq: bigint, over: Partial<MessageRecord> = {}): MessageRecord {
  return fullRecord(seq, {
    lastActivityId: undefined,
    senderId: undefined,
    senderDeviceId: undefined,
    clientMessageId: undefined,
    messageType: undefined,
    customType: undefined,
    schemaVersion: undefined,
    payload: undefined,
    mediaMetadata: undefined,
    replyToSeq: undefined,
    mentionTargets: undefined,
    retentionClass: undefined,
    dekId: undefined,
    ...over,
  });
}

export function dek(over: Partial<DekId> = {}): DekId {
  return { scope: `scope-${randomBytes(6).toString('hex')}`, id: 'k', version: 1, ...over };
}

export function summary(
  seq: bigint,
  version: bigint,
  counts: readonly (readonly [string, number])[],
  updatedAtMs: bigint = CREATED_AT_MS + version,
): ReactionSummary {
  return { seq, version, counts, updatedAtMs };
}

export function life(
  timestampMicros: bigint = INSERT_MICROS,
  ttlSeconds: number | undefined = undefined,
): WriteLife {
  return { timestampMicros, ttlSeconds };
}

/** The read of one bucket by the given statements. */
export function groupRead(where: Coordinates, statements: readonly ReadStatement[]): GroupRead {
  return {
    tenantId: where.tenantId,
    conversationId: where.conversationId,
    bucket: bucketOf(where.seq),
    statements,
  };
}

/** Reads the rows of from..to, all of one bucket. */
export function readRange(store: MessageStore, where: Coordinates, to = where.seq): Promise<GroupRows> {
  return store.readGroup(groupRead(where, [{ shape: 'range', from: where.seq, to }]));
}

/** The row at exactly these coordinates, or undefined. */
export async function readOne(store: MessageStore, where: Coordinates): Promise<MessageRecord | undefined> {
  const rows = await readRange(store, where);
  if (rows.records.length > 1) throw new Error('one coordinate answered with several rows');
  return rows.records[0];
}

/** The summary at exactly these coordinates, or undefined. */
export async function readSummary(
  store: MessageStore,
  where: Coordinates,
): Promise<ReactionSummary | undefined> {
  return (await readRange(store, where)).summaries[0];
}

/**
 * A row in a form that expect compares: bytes as hexadecimal, so that Buffer and Uint8Array are equal, and without
 * the remaining life, which reads add.
 */
export function plain(record: MessageRecord | undefined): unknown {
  if (record === undefined) return undefined;
  const { ttlSeconds: _, ...stored } = record;
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  );
}

/** The seqs of rows, ascending: a store may answer in any order. */
export function seqsOf(rows: readonly { readonly seq: bigint }[]): bigint[] {
  return rows.map((row) => row.seq).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Runs `task` for each item, at most `width` at once. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) await task(items[next++] as T);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** Inserts a row per seq in one conversation; returns the rows by seq. */
export async function insertMany(
  store: MessageStore,
  where: Coordinates,
  seqs: readonly bigint[],
  over: (seq: bigint) => Partial<MessageRecord> = () => ({}),
): Promise<Map<bigint, MessageRecord>> {
  const rows = new Map(seqs.map((seq) => [seq, fullRecord(seq, over(seq))]));
  await inParallel(seqs, 32, (seq) =>
    store.insertRecord(at(where, seq), rows.get(seq) as MessageRecord, life()),
  );
  return rows;
}

/** Asks `probe` again and again until it answers true; the poll itself is no proof, what it asks is. */
export async function until(probe: () => Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await probe())) {
    if (performance.now() > deadlineMs) throw new Error(`not reached within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
