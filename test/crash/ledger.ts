/**
 * What the crash tests know of one conversation: every operation that was tried, every acknowledgement that was given,
 * by whichever process. What must be true of store and log in the end is in conversation-check.ts.
 */
import type { ConversationId, TenantId, UserId } from '../../src/domain/ids.js';
import { chat, hex } from '../write/write-fixtures.js';
import type { Place } from './places.js';
import { type Ack, type ChildRun, type Operation, runChild, type Task } from './run-child.js';

export type RecordMode = Task['record'];

/** Answers that end an operation: recalled already, or a row that no archiver has written yet. */
const REFUSALS: ReadonlySet<string> = new Set(['MESSAGE_RECALLED', 'MESSAGE_NOT_FOUND']);

/** An acknowledged recall or edit. */
export interface AckedEvent {
  readonly kind: 'recall' | 'edit';
  readonly of: string;
  readonly text: string | undefined;
  readonly eventSeq: bigint;
  readonly lastActivityId: string;
}

export class Ledger {
  readonly place: Place;
  readonly record: RecordMode;
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly senderId: UserId;
  /** Tried commits by name: their text. */
  readonly texts = new Map<string, string>();
  /** Acknowledgements of each name, as "seq messageId createdAtMs"; more than one of a name is a broken promise. */
  readonly acks = new Map<string, Set<string>>();
  readonly events: AckedEvent[] = [];
  readonly #known: Record<string, { seq: string; messageId: string }> = {};
  readonly #tried = new Map<string, Operation>();
  /** Processes that were started so far, each of which may have begun a window. */
  processes = 0;

  /** For the groups of its archivers. */
  get name(): string {
    return Buffer.from(this.conversationId).toString('hex');
  }

  constructor(place: Place, record: RecordMode) {
    this.place = place;
    this.record = record;
    const { tenantId, conversationId, senderId } = chat();
    this.tenantId = tenantId;
    this.conversationId = conversationId;
    this.senderId = senderId;
  }

  /** Runs one process on the conversation and takes down what it told. */
  async run(task: Partial<Task>, killAfterMs?: number): Promise<ChildRun> {
    this.processes++;
    for (const operation of task.operations ?? []) this.#try(operation);
    const run = await runChild(
      {
        place: this.place.json,
        kek: this.place.kek.toString('hex'),
        record: this.record,
        chat: {
          tenantId: hex(this.tenantId) ?? '',
          conversationId: hex(this.conversationId) ?? '',
          senderId: hex(this.senderId) ?? '',
        },
        known: this.#known,
        ...task,
      },
      killAfterMs,
    );
    for (const operation of run.begun) this.#try(operation);
    for (const ack of run.acks) this.#acknowledge(ack);
    for (const { fail, code } of run.fails) if (REFUSALS.has(code)) this.#tried.delete(fail);
    return run;
  }

  /** Commits, recalls and edits that were tried and neither acknowledged nor refused. */
  pending(): readonly Operation[] {
    return [...this.#tried.values()].map(({ stopAt: _, ...operation }) => operation);
  }

  /** A commit of every name again, as a client would that missed its acknowledgement. */
  repeatedCommits(): readonly Operation[] {
    return [...this.texts].map(([name, text]) => ({ id: `again ${name}`, kind: 'commit', name, text }));
  }

  #try(operation: Operation): void {
    if (operation.kind === 'commit') this.texts.set(operation.name, operation.text);
    if (operation.kind === 'commit' || operation.kind === 'edit' || operation.kind === 'recall') {
      this.#tried.set(operation.id, operation);
    }
  }

  #acknowledge(ack: Ack): void {
    const operation = this.#tried.get(ack.ack);
    this.#tried.delete(ack.ack);
    const { name, seq, messageId, createdAtMs, eventSeq, lastActivityId } = ack;
    if (name !== undefined && seq !== undefined && messageId !== undefined) {
      const acks = this.acks.get(name) ?? new Set();
      this.acks.set(name, acks.add(`${seq} ${messageId} ${createdAtMs}`));
      this.#known[name] = { seq, messageId };
    }
    if (operation === undefined || eventSeq === undefined || lastActivityId === undefined) return;
    if (operation.kind !== 'recall' && operation.kind !== 'edit') return;
    this.events.push({
      kind: operation.kind,
      of: operation.of,
      text: operation.kind === 'edit' ? operation.text : undefined,
      eventSeq: BigInt(eventSeq),
      lastActivityId,
    });
  }
}
