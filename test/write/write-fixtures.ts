/**
 * A writing process on the embedded store, as tests need it: real store, real log, real sealing, a clock that the test
 * sets, every alert counted, and a step at which it "crashes". Several can share one directory: several processes.
 */
import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { decodeLogRecord, type LogRecord } from '../../src/codec/log-record.js';
import { ConversationSealer } from '../../src/crypto/conversation-sealer.js';
import { DekCache } from '../../src/crypto/dek-cache.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { openPayload } from '../../src/crypto/payload.js';
import { openPreview, parsePreview } from '../../src/crypto/preview.js';
import type { ConversationId, TenantId, UserId } from '../../src/domain/ids.js';
import type { Coordinates, MessageRecord } from '../../src/domain/message.js';
import type { LogReader } from '../../src/domain/write-ports.js';
import type { OpenedEmbedded } from '../../src/embedded/open-embedded.js';
import type { WriteAlert } from '../../src/write/alerts.js';
import type { AllocatedMessage, SequenceAllocator } from '../../src/write/allocator.js';
import type { Acknowledgement } from '../../src/write/commit.js';
import type { MessageToCommit } from '../../src/write/message-to-commit.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import type { MessageTarget } from '../../src/write/row-change.js';
import type { Operation, Step } from '../../src/write/steps.js';
import { Writer, type WriterOptions } from '../../src/write/writer.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { activity, conversation, message, tenant, user } from '../stores/fixtures.js';

/** What a step throws to end an operation there. */
export class Crash extends Error {}

/** Processes of tests share one key-encryption key. */
const KEK = randomBytes(32);

export interface WritingProcess {
  readonly clock: SetClock;
  readonly opened: OpenedEmbedded;
  readonly writer: Writer;
  readonly keys: KeyAdmin;
  readonly keyring: DekCache;
  readonly sealer: ConversationSealer;
  readonly alerts: WriteAlert[];
  /** Steps that were done, as "operation step". */
  readonly steps: string[];
  /** Crashes once, after this step. */
  crashAfter(operation: Operation, step: Step): void;
  /** Runs once after this step. */
  after(operation: Operation, step: Step, run: () => Promise<void>): void;
}

/** A process on a directory: a new one unless given. It shares the clock of `others`. */
export async function writingProcess(
  over: Partial<Omit<WriterOptions, 'clock'>> & { directory?: string; clock?: SetClock } = {},
): Promise<WritingProcess> {
  const { directory = temporaryDirectory(), clock = new SetClock(), ...options } = over;
  const opened = await openFor(directory, clock);
  const keys = new KeyAdmin(opened.keys, KEK, clock);
  const keyring = new DekCache({ provider: new LocalKeyProvider(opened.keys, KEK), clock });
  onTestFinished(() => keyring.close());
  const sealer = new ConversationSealer({ keys, keyring, clock });
  const alerts: WriteAlert[] = [];
  const steps: string[] = [];
  const planned = new Map<string, () => Promise<void>>();
  const writer = new Writer({
    messages: opened.store,
    writes: opened.writes,
    outbox: opened.log,
    sealer,
    retention: NO_POLICIES,
    clock,
    onAlert: (alert) => alerts.push(alert),
    watchStep: async (operation, step) => {
      const name = `${operation} ${step}`;
      steps.push(name);
      const run = planned.get(name);
      planned.delete(name);
      await run?.();
    },
    ...options,
  });
  onTestFinished(async () => void (await writer.close(1000)));
  return {
    clock,
    opened,
    writer,
    keys,
    keyring,
    sealer,
    alerts,
    steps,
    crashAfter: (operation, step) =>
      planned.set(`${operation} ${step}`, () => Promise.reject(new Crash(`after ${operation} ${step}`))),
    after: (operation, step, run) => planned.set(`${operation} ${step}`, run),
  };
}

/** Two processes on one store. */
export async function twoProcesses(
  over: Partial<Omit<WriterOptions, 'clock'>> = {},
): Promise<readonly [WritingProcess, WritingProcess]> {
  const shared = { directory: temporaryDirectory(), clock: new SetClock(), ...over };
  return [await writingProcess(shared), await writingProcess(shared)];
}

export interface Chat {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly senderId: UserId;
}

export function chat(): Chat {
  return { tenantId: tenant(), conversationId: conversation(), senderId: user() };
}

let clientIds = 0;

/** A message with a client_message_id of its own. */
export function messageIn(where: Chat, over: Partial<MessageToCommit> = {}): MessageToCommit {
  return { ...where, clientMessageId: `client-${++clientIds}`, payload: bytes('hello'), ...over };
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The target of a message that was committed. */
export function targetOf(where: Chat, { seq, messageId }: Acknowledgement): MessageTarget {
  const { tenantId, conversationId } = where;
  return { tenantId, conversationId, seq, messageId };
}

/** Commits a message and names it. */
export async function committed(
  { writer }: WritingProcess,
  where: Chat,
  over: Partial<MessageToCommit> = {},
): Promise<MessageTarget> {
  return targetOf(where, await writer.commit(messageIn(where, over)));
}

export function rowOf(process: WritingProcess, where: Coordinates): Promise<MessageRecord | undefined> {
  return process.opened.writes.readRecord(where);
}

/** The plaintext of a row's payload. */
export async function textOf(process: WritingProcess, where: Coordinates): Promise<string> {
  const record = await rowOf(process, where);
  if (record?.payload === undefined || record.dekId === undefined) throw new Error('no sealed payload');
  const [answer] = await process.keyring.resolve([record.dekId]);
  if (answer?.status !== 'ok') throw new Error('no key');
  const opened = openPayload({ ...where, dek: answer.key, dekId: record.dekId, envelope: record.payload });
  if (opened === undefined) throw new Error('does not open');
  return new TextDecoder().decode(opened);
}

/** The plaintext of a head's preview; undefined = it shows none. */
export async function previewText(process: WritingProcess, where: Chat): Promise<string | undefined> {
  const head = await process.opened.writes.readHead(where.tenantId, where.conversationId);
  if (head?.preview === undefined) return undefined;
  const preview = parsePreview(head.preview);
  if (preview === undefined) throw new Error('no preview');
  const [answer] = await process.keyring.resolve([preview.dekId]);
  if (answer?.status !== 'ok') throw new Error('no key');
  const opened = openPreview(where.tenantId, where.conversationId, answer.key, preview);
  if (opened === undefined) throw new Error('does not open');
  return new TextDecoder().decode(opened);
}

/** Every record of the log, in order. */
export async function logged(log: Pick<LogReader, 'ends' | 'read'>): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  await log.read({
    from: [],
    until: await log.ends(),
    signal: new AbortController().signal,
    onEntries: async (entries) => {
      for (const { value } of entries) {
        const record = decodeLogRecord(value);
        if (record !== undefined) records.push(record);
      }
    },
  });
  return records;
}

export function hex(value: Uint8Array | undefined): string | undefined {
  return value && Buffer.from(value).toString('hex');
}

/** An allocator that gives exactly these seqs. */
export function allocatorOf(...seqs: bigint[]): SequenceAllocator {
  const next = (): bigint => seqs.shift() ?? 0n;
  return {
    allocateMessage: async (): Promise<AllocatedMessage> => {
      const messageId = message(randomBytes(16));
      return { seq: next(), messageId, lastActivityId: activity(messageId) };
    },
    allocateEvent: async () => ({ seq: next(), lastActivityId: activity() }),
  };
}
