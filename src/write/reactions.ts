/**
 * Reactions (R5.5, D19): one per user and message, and the message's summary of absolute counts.
 *
 *     read ─ reaction ─ summary ─ log
 *
 * **Why the counts end right** without locks, with any number of processes. Each operation first writes its own row of
 * message_reaction, then runs rounds: read the summary, choose a version above it, read all reactions, write their counts
 * under that version, read both again; only when the summary read shows exactly the counts of the reactions read (after
 * this operation's own write) does it end. Consider the last summary write of all, in time: its operation reads both
 * afterwards. Every reaction written by then is seen by it, and none can come later, because each is followed by a
 * summary write of its own. So if what it read did not agree it would have written again, and would not have been the last. A version
 * that two processes chose alike leaves a mix of both by the store's rules; the mix does not agree, and is written
 * again, higher. Versions rise: each is above the one read before it, and the store keeps the highest.
 *
 * A key that is gone is written as 0: those that the summary showed and those that this operation's users had before, so
 * that an older summary which arrives late does not bring them back. In one process the operations on a message share rounds:
 * whoever comes during a round joins the next one. A crash between row and summary leaves the summary behind until the
 * message's next reaction, or the caller's retry. Fails with REACTION_INVALID, REACTION_KEYS_FULL, MESSAGE_NOT_FOUND,
 * MESSAGE_MISMATCH, MESSAGE_RECALLED, OVERLOADED, STORE_UNAVAILABLE, LOG_UNAVAILABLE.
 */
import { encodeLogRecord } from '../codec/log-record.js';
import { MailjoinError } from '../domain/errors.js';
import { idKeyAt, type UserId } from '../domain/ids.js';
import { REACTION_KEYS_MAX, REACTION_ROUNDS_IN_FLIGHT_MAX, REACTION_ROUNDS_MAX } from '../domain/limits.js';
import { type Coordinates, effectiveState, MessageState, type ReactionSummary } from '../domain/message.js';
import type { Clock, MessageReader, MessageWriter } from '../domain/ports.js';
import { reactionKeyOf } from '../domain/reaction.js';
import { bucketOf } from '../domain/seq.js';
import type { Outbox, WriteStore } from '../domain/write-ports.js';
import { checkId } from './message-to-commit.js';
import { checkedReactionKey } from './reaction-key.js';
import { type MessageTarget, readTarget } from './row-change.js';
import { type ReactionStep, StepTimer, type StepWatcher } from './steps.js';

export interface ReactorOptions {
  readonly messages: Pick<MessageWriter, 'putSummary'> & MessageReader;
  readonly writes: Pick<WriteStore, 'readRecord' | 'putReaction' | 'readReactions' | 'readReaction'>;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly watchStep?: StepWatcher | undefined;
}

export interface ReactionRequest extends MessageTarget {
  readonly userId: UserId;
  /** undefined takes the user's reaction back. */
  readonly reactionKey: string | undefined;
}

/** The summary as it was left: at least as new as the operation. */
export interface ReactionAcknowledgement {
  /** A caller's floor. */
  readonly summaryVersion: bigint;
  readonly counts: readonly (readonly [string, number])[];
}

/** Keys whose count may have become 0, by the operations that share a round. */
type FormerKeys = Set<string>;

interface Rounds {
  /** Keys of the operations that the round under way does not know of; undefined while there are none. */
  next: { readonly formerKeys: FormerKeys; readonly done: Promise<ReactionSummary> } | undefined;
  running: Promise<ReactionSummary>;
}

const TAKEN_BACK = '';

export class Reactor {
  readonly #with: ReactorOptions;
  readonly #rounds = new Map<string, Rounds>();

  constructor(options: ReactorOptions) {
    this.#with = options;
  }

  async react(request: ReactionRequest): Promise<ReactionAcknowledgement> {
    const { clock, writes, watchStep } = this.#with;
    const steps = new StepTimer<ReactionStep>('react', clock, watchStep);
    checkId(request.messageId, 'message_id');
    checkId(request.userId, 'user_id');
    const key = request.reactionKey === undefined ? TAKEN_BACK : checkedReactionKey(request.reactionKey);
    const { record } = await readTarget(writes, clock, request);
    if (key !== TAKEN_BACK) {
      if (effectiveState(record) === MessageState.RECALLED) throw new MailjoinError('MESSAGE_RECALLED');
      await this.#checkRoom(request, key);
    }
    const former = await writes.readReaction(request, request.userId);
    await steps.done('read');

    const nowMs = BigInt(Math.floor(clock.epochMs()));
    // The later one wins, whatever the clock does between a user's two reactions.
    const createdAtMs = former !== undefined && former.createdAtMs >= nowMs ? former.createdAtMs + 1n : nowMs;
    await writes.putReaction(request, { userId: request.userId, reactionKey: key, createdAtMs });
    await steps.done('reaction');

    const summary = await this.#summarise(request, former?.reactionKey);
    await steps.done('summary');

    const { tenantId, conversationId, seq, messageId } = request;
    const value = encodeLogRecord({
      kind: 'reactions',
      tenantId,
      conversationId,
      appendedAtMs: BigInt(Math.floor(clock.epochMs())),
      target: { seq, messageId, createdAtMs: record.createdAtMs },
      summaryVersion: summary.version,
      counts: summary.counts,
      updatedAtMs: summary.updatedAtMs ?? nowMs,
    });
    await this.#with.outbox.append({ key: conversationId, value });
    await steps.done('log');
    const counts = summary.counts.filter(([, count]) => count > 0);
    return { summaryVersion: summary.version, counts };
  }

  /** R2.4: dozens of keys. Those who come at the same moment may exceed it by their number. */
  async #checkRoom(where: Coordinates, key: string): Promise<void> {
    const { counts } = (await this.#readSummary(where)) ?? { counts: [] };
    if (counts.length < REACTION_KEYS_MAX) return;
    if (counts.some(([shown]) => reactionKeyOf(shown) === key)) return;
    throw new MailjoinError('REACTION_KEYS_FULL', `${REACTION_KEYS_MAX} at most`);
  }

  /** A summary that includes everything written before this call; shares rounds with others of this process. */
  #summarise(where: Coordinates, formerKey: string | undefined): Promise<ReactionSummary> {
    const name = messageName(where);
    const rounds = this.#rounds.get(name);
    if (rounds === undefined) {
      if (this.#rounds.size >= REACTION_ROUNDS_IN_FLIGHT_MAX) {
        return Promise.reject(
          new MailjoinError('OVERLOADED', 'too many messages’ reactions are being counted'),
        );
      }
      return this.#start(name, where, keysOf(formerKey));
    }
    if (rounds.next !== undefined) {
      if (formerKey) rounds.next.formerKeys.add(formerKey);
      return rounds.next.done;
    }
    const formerKeys = keysOf(formerKey);
    const done = rounds.running.then(
      () => this.#start(name, where, formerKeys),
      () => this.#start(name, where, formerKeys),
    );
    rounds.next = { formerKeys, done };
    return done;
  }

  #start(name: string, where: Coordinates, formerKeys: FormerKeys): Promise<ReactionSummary> {
    const rounds: Rounds = { next: undefined, running: this.#countUntilShown(where, formerKeys) };
    this.#rounds.set(name, rounds);
    // Those who came meanwhile start theirs in their own continuation and replace the entry.
    const end = (): void => {
      if (rounds.next === undefined && this.#rounds.get(name) === rounds) this.#rounds.delete(name);
    };
    rounds.running.then(end, end);
    return rounds.running;
  }

  async #countUntilShown(where: Coordinates, formerKeys: FormerKeys): Promise<ReactionSummary> {
    let shown = await this.#readSummary(where);
    for (let round = 0; round < REACTION_ROUNDS_MAX; round++) {
      const version = this.#versionAbove(shown?.version);
      const counted = await this.#count(where);
      const counts = new Map([...keysToClear(shown, formerKeys), ...counted]);
      const updatedAtMs = BigInt(Math.floor(this.#with.clock.epochMs()));
      const summary = { seq: where.seq, counts: [...counts], version, updatedAtMs };
      await this.#with.messages.putSummary(where, summary);
      const after = await this.#readSummary(where);
      if (after !== undefined && isSame(after.counts, await this.#count(where))) {
        // Another process's version may lie above ours; zeros stay for the log's readers.
        for (const key of counts.keys()) counts.set(key, 0);
        for (const [key, count] of after.counts) counts.set(key, count);
        return { ...summary, counts: [...counts], version: after.version };
      }
      shown = after;
    }
    throw new MailjoinError('STORE_UNAVAILABLE', 'others keep changing the same message’s reactions');
  }

  /** Near the clock, so that two processes rarely choose the same; above the one that was read, whatever the clock says. */
  #versionAbove(shown: bigint | undefined): bigint {
    const micros = BigInt(Math.floor(this.#with.clock.epochMs() * 1000 + Math.random() * 1000));
    return shown !== undefined && shown >= micros ? shown + 1n : micros;
  }

  async #count(where: Coordinates): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for await (const { reactionKey } of this.#with.writes.readReactions(where)) {
      const key = reactionKeyOf(reactionKey);
      if (key !== TAKEN_BACK) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }

  async #readSummary(where: Coordinates): Promise<ReactionSummary | undefined> {
    const { tenantId, conversationId, seq } = where;
    const rows = await this.#with.messages.readGroup({
      tenantId,
      conversationId,
      bucket: bucketOf(seq),
      statements: [{ shape: 'range', from: seq, to: seq }],
    });
    return rows.summaries[0];
  }
}

/** A count of 0 for every key that may be gone; those still counted are set again after. */
function keysToClear(shown: ReactionSummary | undefined, formerKeys: FormerKeys): [string, number][] {
  const keys = new Set(formerKeys);
  for (const [key] of shown?.counts ?? []) keys.add(key);
  return [...keys].map((key) => [key, 0]);
}

function keysOf(formerKey: string | undefined): FormerKeys {
  // A reaction that was taken back has no count.
  return new Set(formerKey ? [formerKey] : []);
}

function isSame(shown: ReactionSummary['counts'], counted: ReadonlyMap<string, number>): boolean {
  return shown.length === counted.size && shown.every(([key, count]) => counted.get(key) === count);
}

function messageName({ tenantId, conversationId, seq }: Coordinates): string {
  return `${idKeyAt(tenantId, 0)}${idKeyAt(conversationId, 0)}${seq}`;
}
