/**
 * Who reacted to a message, page by page (R4.5): bounded reads of message_reaction in the store's own order of users,
 * whose rows are shown or passed over (taken back, D19; another key than the one asked for, B46).
 *
 *     after ──▶ read ──▶ shown, shown, taken back, … ──▶ one more than the limit is shown: next = the last one shown
 *                 ▲                                  ├─▶ nothing lies behind:               no next
 *                 └──── rows are left, few shown ────┴─▶ rows or time are used up:          next = the last row looked at
 *
 * So every shown reactor stands on exactly one page, whatever limits a caller chooses, no page costs more than
 * REACTOR_ROWS_MAX rows, and each goes further than the one before it. Fails with STORE_* when a read fails twice, and
 * with PastDeadline when not even its first one was answered in time.
 */

import type { ReactorsQuestion } from '../codec/detail-request.js';
import type { ReactorsPage } from '../codec/detail-response.js';
import { REACTOR_READ_ROWS, REACTOR_ROWS_MAX } from '../domain/limits.js';
import type { Coordinates } from '../domain/message.js';
import { reactionKeyOf } from '../domain/reaction.js';
import type { Reaction, ReactionStore, ReactionsPage, ReactionsPart } from '../domain/write-ports.js';
import { type ReadGate, Turn } from '../join/read-gate.js';
import { PastDeadline, type ReadDeadline } from './read-deadline.js';
import { type OnFailure, repeatedOnce } from './repeated-once.js';

export interface ReactorPagesOptions {
  readonly reactions: Pick<ReactionStore, 'readReactionsPage'>;
  /** Of all reads of reactions. */
  readonly gate: ReadGate;
  readonly onFailure: OnFailure;
}

export class ReactorPages {
  private readonly options: ReactorPagesOptions;

  constructor(options: ReactorPagesOptions) {
    this.options = options;
  }

  /** One page, or what its reads brought before the deadline. */
  async page(where: Coordinates, question: ReactorsQuestion, deadline: ReadDeadline): Promise<ReactorsPage> {
    const { limit } = question;
    const wanted = question.reactionKey === undefined ? undefined : reactionKeyOf(question.reactionKey);
    const shown: Reaction[] = [];
    let { after } = question;
    let rowsLeft = REACTOR_ROWS_MAX;
    // Mostly few reactions were taken back, so the first read asks for no more than a page shows.
    let rows = wanted === undefined ? limit + 1 : REACTOR_READ_ROWS;
    while (rowsLeft > 0) {
      let read: ReactionsPage;
      try {
        read = await this.read(where, { after, limit: Math.min(rows, rowsLeft) }, deadline);
      } catch (error) {
        // A page that went nowhere would be asked for again and again.
        if (!(error instanceof PastDeadline) || rowsLeft === REACTOR_ROWS_MAX) throw error;
        break;
      }
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
    return { shown, next: after };
  }

  private read(where: Coordinates, part: ReactionsPart, deadline: ReadDeadline): Promise<ReactionsPage> {
    const { gate, reactions, onFailure } = this.options;
    const send = async () => {
      const read = await gate.run({
        turn: new Turn(false),
        isWanted: () => !deadline.isOver,
        send: () => reactions.readReactionsPage(where, part),
      });
      if (read === undefined) throw new PastDeadline();
      return read;
    };
    return repeatedOnce(send, deadline, onFailure);
  }
}
