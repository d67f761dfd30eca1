/**
 * A joiner over a store whose reads a test can hold, fail and count; everything else is the real thing.
 */
import { randomBytes } from 'node:crypto';
import type { JoinOutcome } from '../../src/codec/join-outcome.js';
import type { JoinRequest } from '../../src/codec/join-request.js';
import { decodeMessageBody, type MessageBody } from '../../src/codec/message-body.js';
import { openItems } from '../../src/crypto/open-items.js';
import { sealPayload } from '../../src/crypto/payload.js';
import { EntryColumns, RequestKind } from '../../src/domain/entries.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { ActivityId, ConversationId, MessageId, TenantId } from '../../src/domain/ids.js';
import { type DekId, dekKey, type MessageRecord, type ReactionSummary } from '../../src/domain/message.js';
import type { OpenJob } from '../../src/domain/open-job.js';
import type {
  BodyCache,
  Clock,
  GroupRead,
  GroupRows,
  Keyring,
  MessageReader,
  Unwrapped,
} from '../../src/domain/ports.js';
import { resultName } from '../../src/domain/result.js';
import { asksFor, type ReadStatement } from '../../src/domain/statement.js';
import { fixedAge } from '../../src/join/freshness.js';
import { Joiner, type JoinerOptions } from '../../src/join/joiner.js';
import { READ_COST_MODEL_DEFAULT } from '../../src/join/read-cost-model.js';
import { bareRecord } from '../stores/fixtures.js';
import { regionCache } from './region-cache.js';

export const TENANT = randomBytes(16) as unknown as TenantId;

export interface Reference {
  conversationId: ConversationId;
  seq: bigint;
  messageId: MessageId;
  floor?: { activityId?: ActivityId; summaryVersion?: bigint };
}

/** A request over these references, as a decoder would make it. */
export function requestFor(
  references: readonly Reference[],
  over: Partial<Omit<JoinRequest, 'entries'>> = {},
): JoinRequest {
  const bytes = new Uint8Array(references.length * 48);
  const entries = new EntryColumns(bytes, references.length);
  references.forEach(({ conversationId, seq, messageId, floor }, index) => {
    const at = index * 48;
    bytes.set(conversationId, at);
    bytes.set(messageId, at + 16);
    entries.conversationAt[index] = at;
    entries.messageAt[index] = at + 16;
    entries.seqHi[index] = Number(seq >> 32n);
    entries.seqLo[index] = Number(seq & 0xffff_ffffn);
    if (floor?.activityId) {
      bytes.set(floor.activityId, at + 32);
      entries.floorAt[index] = at + 32;
    }
    entries.floorVersion[index] = floor?.summaryVersion ?? 0n;
  });
  const defaults = { kind: RequestKind.MAILBOX_BATCH, tenantId: TENANT, deadlineMs: 10_000 };
  return { ...defaults, responseBytesMax: 16 * 1024 * 1024, wantReceipt: true, ...over, entries };
}

/** Rows in memory; its reads can be held, failed and counted. */
export class ScriptedStore implements MessageReader {
  readonly reads: GroupRead[] = [];
  readonly records = new Map<string, MessageRecord>();
  readonly summaries = new Map<string, ReactionSummary>();
  /** What a read leaves unread, as where its rows have reached their bytes. */
  unread: ((read: GroupRead) => readonly ReadStatement[] | undefined) | undefined;
  private failures: unknown[] = [];
  private gate: Promise<void> | undefined;
  private arrivals: (() => void)[] = [];

  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  put(conversationId: ConversationId, record: MessageRecord, summary?: ReactionSummary): void {
    this.records.set(placeOf(conversationId, record.seq), record);
    if (summary) this.summaries.set(placeOf(conversationId, record.seq), summary);
  }

  /** The next reads fail with these, one each. */
  failNext(...errors: unknown[]): void {
    this.failures.push(...errors);
  }

  /** Reads wait until the returned function is called; what they answer is decided after that. */
  hold(): () => void {
    let release!: () => void;
    this.gate = new Promise((resolve) => {
      release = () => {
        this.gate = undefined;
        resolve();
      };
    });
    return release;
  }

  /** Reads that come from now on do not wait; those that wait go on waiting. */
  pass(): void {
    this.gate = undefined;
  }

  /** Resolves when the next read has arrived. */
  arrival(): Promise<void> {
    return new Promise((resolve) => this.arrivals.push(resolve));
  }

  async readGroup(read: GroupRead): Promise<GroupRows> {
    this.reads.push(read);
    const sentAtMs = this.clock.nowMs();
    for (const arrived of this.arrivals.splice(0)) arrived();
    // What the store knows when the read is sent is what it answers, however late.
    const answer = this.answer(read, sentAtMs);
    await this.gate;
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    return answer;
  }

  private answer(read: GroupRead, sentAtMs: number): GroupRows {
    const isOurs = Buffer.compare(read.tenantId, TENANT) === 0;
    const seqs = read.statements.flatMap((statement) => {
      if (statement.shape === 'in') return statement.seqs;
      const count = Number(statement.to - statement.from) + 1;
      return Array.from({ length: count }, (_, offset) => statement.from + BigInt(offset));
    });
    const places = seqs.map((seq) => placeOf(read.conversationId, seq));
    const records = places.flatMap((place) => (isOurs && this.records.get(place)) || []);
    const summaries = places.flatMap((place) => this.summaries.get(place) ?? []);
    const statements = read.statements.length;
    const cost = {
      recordStatements: statements,
      summaryStatements: statements,
      furtherPages: 0,
      rows: 0,
      bytes: 0,
    };
    const unread = this.unread?.(read);
    const isRead = ({ seq }: { readonly seq: bigint }): boolean =>
      unread?.every((statement) => !asksFor(statement, seq)) ?? true;
    return {
      records: records.filter(isRead),
      summaries,
      sentAtMs,
      cost,
      ...(unread !== undefined && { unread }),
    };
  }
}

/** The key of a row in a ScriptedStore. */
export function placeOf(conversationId: Uint8Array, seq: bigint): string {
  return `${Buffer.from(conversationId).toString('hex')}/${seq}`;
}

/** Keys that a test names; everything else is unknown. */
export class ScriptedKeyring implements Keyring {
  readonly answers = new Map<string, Unwrapped>();

  /** Keys are copies: the asker zeroes them. */
  peek(id: DekId): Unwrapped | undefined {
    const answer = this.answers.get(dekKey(id));
    return answer?.status === 'ok' ? { status: 'ok', key: Uint8Array.from(answer.key) } : answer;
  }

  isDestroyed(id: DekId): boolean {
    return this.answers.get(dekKey(id))?.status === 'destroyed';
  }

  async resolve(ids: readonly DekId[]): Promise<readonly Unwrapped[]> {
    return ids.map((id) => this.peek(id) ?? { status: 'unknown' });
  }
}

export interface World {
  joiner: Joiner;
  store: ScriptedStore;
  keyring: ScriptedKeyring;
  cache: BodyCache;
  clock: { now: number } & Clock;
  failures: string[];
  dekId: DekId;
  /** Stores a sealed message; returns its reference. */
  add(conversationId: ConversationId, seq: bigint, text: string, over?: Partial<MessageRecord>): Reference;
  join(references: readonly Reference[], over?: Partial<Omit<JoinRequest, 'entries'>>): Promise<JoinOutcome>;
}

export function makeWorld(over: Partial<JoinerOptions> = {}): World {
  const clock = { now: 1_000_000, nowMs: () => clock.now, epochMs: () => Date.now() };
  const store = new ScriptedStore(over.clock ?? clock);
  const keyring = new ScriptedKeyring();
  const { cache, regionBytes } = regionCache(clock.now);
  const failures: string[] = [];
  const dekId = { scope: 'test', id: 'k', version: 1 };
  const dek = randomBytes(32);
  keyring.answers.set(dekKey(dekId), { status: 'ok', key: dek });
  const opener = { open: async (job: OpenJob) => openItems(job, regionBytes) };
  const onFailure = (code: string) => failures.push(code);
  const joiner = new Joiner({
    store,
    cache,
    keyring,
    opener,
    clock,
    costs: READ_COST_MODEL_DEFAULT,
    allowUnsealed: false,
    freshness: fixedAge(60_000),
    onFailure,
    ...over,
  });
  const add = (
    conversationId: ConversationId,
    seq: bigint,
    text: string,
    fields: Partial<MessageRecord> = {},
  ) => {
    const messageId = fields.messageId ?? (randomBytes(16) as unknown as MessageId);
    const payload = sealPayload({
      tenantId: TENANT,
      conversationId,
      seq,
      dek,
      dekId,
      plaintext: Buffer.from(text),
    });
    store.put(conversationId, bareRecord(seq, { messageId, payload, dekId, ...fields }));
    return { conversationId, seq, messageId };
  };
  const join: World['join'] = (references, fields) => joiner.join(requestFor(references, fields));
  return { joiner, store, keyring, cache, clock, failures, dekId, add, join };
}

export function newConversation(): ConversationId {
  return randomBytes(16) as unknown as ConversationId;
}

/** A rising revision: 16 bytes big-endian. */
export function revision(value: number): ActivityId {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(value, 12);
  return bytes as unknown as ActivityId;
}

export function names(outcome: JoinOutcome): string[] {
  return [...outcome.entries.code].map(resultName);
}

/** The body of an entry, decoded, or undefined. */
export function bodyOf(outcome: JoinOutcome, index: number): MessageBody | undefined {
  const position = outcome.entries.body[index] as number;
  return position === 0 ? undefined : decodeMessageBody(outcome.bodies.views()[position - 1] as Buffer);
}

/** The payload of an entry's body as text, or undefined. */
export function textOf(outcome: JoinOutcome, index: number): string | undefined {
  const payload = bodyOf(outcome, index)?.payload;
  return payload && Buffer.from(payload).toString();
}

export const unavailable = (): MailjoinError => new MailjoinError('STORE_UNAVAILABLE');
