/**
 * Who reacted to a message, page by page (R4.5): bounded reads of message_reaction in the store's own order of users,
 * whose rows are shown or passed over (taken back, D19; another key than the one asked for, B46).
 *
 *     after ──▶ read ──▶ shown, shown, taken back, … ──▶ one more than the limit is shown: next = the last one shown
 *                 ▲                                  ├─▶ nothing lies behind:               no next
 *                 └──── rows are left, few shown ────┴─▶ rows or time are used up:          next = the last row looked at
 *
 * So every shown reactor stands on exactly one page, whatever limits a caller chooses, and no page costs more than
 * REACTOR_ROWS_MAX rows. Fails with STORE_* when a read fails twice.
 */

import type { ReactorsQuestion } from '../codec/detail-request.js';
import type { ReactorsPage } from '../codec/detail-response.js';
import { MailjoinError } from '../domain/errors.js';
import type { UserId } from '../domain/ids.js';
import { REACTOR_READ_ROWS, REACTOR_READS_MAX, REACTOR_ROWS_MAX } from '../domain/limits.js';
import type { Coordinates } from '../domain/message.js';
import type { Clock } from '../domain/ports.js';
import { reactionKeyOf } from '../domain/reaction.js';
import type { Reaction, ReactionStore, ReactionsPage } from '../domain/write-ports.js';
import { ReadGate, Turn } from '../join/read-gate.js';
import { type OnFailure, repeatedOnce } from './repeated-once.js';

export interface ReactorPagesOptions {
  readonly reactions: Pick<ReactionStore, 'readReactionsPage'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly onFailure: OnFailure;
}

export class ReactorPages {
  private readonly options: ReactorPagesOptions;
  private readonly gate = new ReadGate(REACTOR_READS_MAX, 0);

  constructor(options: ReactorPagesOptions) {
    this.options = options;
  }

  /** One page; after `deadlineAtMs` no further read is sent. STORE_UNAVAILABLE when not even the first one was. */
  async page(where: Coordinates, question: ReactorsQuestion, deadlineAtMs: number): Promise<ReactorsPage> {
    const { limit } = question;
    const wanted = question.reactionKey === undefined ? undefined : reactionKeyOf(question.reactionKey);
    const shown: Reaction[] = [];
    let { after } = question;
    let rowsLeft = REACTOR_ROWS_MAX;
    // Mostly few reactions were taken back, so the first read asks for no more than a page shows.
    let rows = wanted === undefined ? limit + 1 : REACTOR_READ_ROWS;
    while (rowsLeft > 0) {
      const read = await this.read(where, after, Math.min(rows, rowsLeft), deadlineAtMs);
      if (read === undefined) break;
      for (const reaction of read.reactions) {
        const reactionKey = reactionKeyOf(reaction.reactionKey);
        if (reactionKey === '' || (wanted !== undefined && reactionKey !== wanted)) continue;
        if (shown.length === limit) return { shown, next: shown.at(-1)?.userId };
        shown.push({ ...reaction, reactionKey });
      }
      if (read.next === undefined) return { shown, next: undefined };
      after = read.next;
      rowsLeft -= rows;
      rows = REACTOR_READ_ROWS;
    }
    if (after === undefined) throw new MailjoinError('STORE_UNAVAILABLE', 'no answer within the deadline');
    return { shown, next: after };
  }

  /** Undefined when its turn came after the deadline. */
  private read(
    where: Coordinates,
    after: UserId | undefined,
    limit: number,
    deadlineAtMs: number,
  ): Promise<ReactionsPage | undefined> {
    const { clock, reactions, onFailure } = this.options;
    const send = () =>
      this.gate.run({
        turn: new Turn(false),
        isWanted: () => clock.nowMs() < deadlineAtMs,
        send: () => reactions.readReactionsPage(where, { after, limit }),
      });
    return repeatedOnce(send, onFailure);
  }
}
