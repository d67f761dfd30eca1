/**
 * Compliance holds (R3.1, D20, S-5): placed and lifted by writing the whole row again, without TTL or with the policy's,
 * and its message_index row with it (D21). An update of one column would leave a ghost of the rest.
 *
 * The row is written as it was read, at the least revision above its own: above all former writes, and below every edit
 * or recall that somebody writes meanwhile, which therefore stay. Such a change may have carried the row's former TTL:
 * so the row is read back, and written again until its life is the right one. A row that has expired, or is in its last
 * second, is not brought back: MESSAGE_NOT_FOUND (B15). Repeatable; also fails with MESSAGE_MISMATCH, STORE_UNAVAILABLE.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ActivityId } from '../domain/ids.js';
import { ROW_ATTEMPTS_MAX } from '../domain/limits.js';
import { type MessageRecord, RetentionClass } from '../domain/message.js';
import type { Clock, MessageWriter } from '../domain/ports.js';
import type { WriteStore } from '../domain/write-ports.js';
import { COUNTER_PER_MICRO, conversationCheck, idOf, justAbove, revisionMicros } from './message-ids.js';
import type { Retention } from './retention.js';
import { contended, type MessageTarget, type ReadRow, readRow, readTarget, updateTtl } from './row-change.js';

/** The class that a lifted hold gives the row (back); the table does not remember the one before. */
export type LiftedClass = Exclude<
  (typeof RetentionClass)[keyof typeof RetentionClass],
  typeof RetentionClass.COMPLIANCE_HOLD
>;

export interface HoldKeeperOptions {
  readonly messages: Pick<MessageWriter, 'insertRecord'>;
  readonly writes: Pick<WriteStore, 'readRecord' | 'putIndex'>;
  readonly retention: Retention;
  readonly clock: Clock;
}

/** The only form of deletion that there is: what should have ended already ends a second from now (R3.2). */
const LAST_SECOND = 1;

export class HoldKeeper {
  readonly #with: HoldKeeperOptions;

  constructor(options: HoldKeeperOptions) {
    this.#with = options;
  }

  /** The row no longer expires, until the hold is lifted. */
  async placeHold(target: MessageTarget): Promise<void> {
    await this.#rewrite(target, RetentionClass.COMPLIANCE_HOLD);
  }

  /** The row expires by the policy of the class it is given; one whose time is over is gone within a second. */
  async liftHold(target: MessageTarget, retentionClass: LiftedClass): Promise<void> {
    await this.#rewrite(target, retentionClass);
  }

  async #rewrite(target: MessageTarget, retentionClass: number): Promise<void> {
    const { clock, writes } = this.#with;
    let row = await readTarget(writes, clock, target);
    for (let attempt = 0; attempt < ROW_ATTEMPTS_MAX; attempt++) {
      // The last look before the row is written whole: what ended meanwhile stays ended.
      if (updateTtl(row, clock) === 'expired') throw new MailjoinError('MESSAGE_NOT_FOUND');
      const ttlSeconds = await this.#write(target, row.record, retentionClass);
      const after: ReadRow | undefined = await readRow(writes, clock, target);
      if (after === undefined) {
        if (ttlSeconds !== undefined) return;
        throw new MailjoinError('MESSAGE_NOT_FOUND', 'it ended while its hold was placed');
      }
      const { record } = after;
      const isWhole = isLife(record.ttlSeconds, ttlSeconds) && record.lastsInPart !== true;
      if (record.retentionClass === retentionClass && isWhole) return;
      row = after;
    }
    throw contended();
  }

  /** Writes row and index; answers the TTL that they were given. */
  async #write(
    target: MessageTarget,
    former: MessageRecord,
    retentionClass: number,
  ): Promise<number | undefined> {
    const { messages, writes, retention, clock } = this.#with;
    const { tenantId, conversationId, seq, messageId } = target;
    // Fresh bytes of an id's length.
    // A microsecond above a lift of the same row, which may have failed and arrive late: the hold that was placed stays.
    const isHold = retentionClass === RetentionClass.COMPLIANCE_HOLD;
    const prefix = justAbove(former) + (isHold ? COUNTER_PER_MICRO : 0n);
    const lastActivityId = idOf(prefix, conversationCheck(conversationId)) as ActivityId;
    const record = { ...former, retentionClass, lastActivityId };
    const remaining = retention.ttlFor(tenantId, record, clock.epochMs());
    const ttlSeconds = remaining === 'expired' ? LAST_SECOND : remaining;
    const life = { ttlSeconds, timestampMicros: revisionMicros(lastActivityId) };
    await messages.insertRecord({ tenantId, conversationId, seq }, record, life);
    await writes.putIndex(tenantId, messageId, { conversationId, seq }, life);
    return ttlSeconds;
  }
}

/** Whether what remains of a row is what it was given, or less by the time since. */
function isLife(read: number | undefined, given: number | undefined): boolean {
  if (read === undefined || given === undefined) return read === given;
  return read <= given;
}
