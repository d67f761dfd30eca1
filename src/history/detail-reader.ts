/**
 * One message in detail (R4.5): its body by the join's way, and beside it one point read of message_reaction for what the
 * asking user reacted with, and a page of who reacted, each only where it was asked for.
 *
 * What the join meets is the result, and of a message that is not shown nothing else is waited for. Of one that is, an
 * answer without its reactions would say that there are none: so the request fails with STORE_* when such a read fails
 * twice, and with STORE_UNAVAILABLE when the deadline comes before it is answered. Nothing is waited for beyond that.
 */
import type { DetailRequest } from '../codec/detail-request.js';
import type { DetailOutcome, ReactorsPage } from '../codec/detail-response.js';
import { REACTOR_READS_MAX } from '../domain/limits.js';
import { reactionKeyOf } from '../domain/reaction.js';
import { ResultCode } from '../domain/result.js';
import type { ReactionStore } from '../domain/write-ports.js';
import { ReadGate, Turn } from '../join/read-gate.js';
import type { RowJoiner } from './history-reader.js';
import { ReactorPages } from './reactor-pages.js';
import { asUnavailable, PastDeadline, ReadDeadline } from './read-deadline.js';
import { type OnFailure, repeatedOnce } from './repeated-once.js';
import { singleJoin } from './single-join.js';

export interface DetailReaderOptions {
  readonly joiner: RowJoiner;
  readonly reactions: Pick<ReactionStore, 'readReaction' | 'readReactionsPage'>;
  readonly onFailure: OnFailure;
}

export class DetailReader {
  private readonly options: DetailReaderOptions;
  private readonly gate = new ReadGate(REACTOR_READS_MAX, 0);
  private readonly pages: ReactorPages;

  constructor(options: DetailReaderOptions) {
    this.options = options;
    this.pages = new ReactorPages({ ...options, gate: this.gate });
  }

  async detail(
    request: DetailRequest,
    decodeMicros = 0,
    mayHold?: (bytes: number) => boolean,
  ): Promise<DetailOutcome> {
    const startedMs = performance.now();
    const deadline = new ReadDeadline(request.deadlineMs - decodeMicros / 1000);
    const reads = Promise.all([this.reactionKeys(request, deadline), this.reactors(request, deadline)]);
    // Nobody waits for them where the message is not shown.
    reads.catch(() => undefined);
    try {
      // The join keeps the deadline by itself.
      const first = await this.shown(request, request.deadlineMs, decodeMicros, mayHold);
      if (!isShown(first.result) || (request.userId === undefined && request.reactors === undefined)) {
        return { ...first, selfReactionKeys: [], reactors: undefined };
      }
      const [selfReactionKeys, reactors] = await reads;
      // What an event or a destroyed key has outdated while the reactions were read does not leave (S-7); else it is a hit.
      const leftMs = Math.max(0, request.deadlineMs - (performance.now() - startedMs));
      const shown = await this.shown(request, leftMs, decodeMicros, mayHold);
      if (!isShown(shown.result)) return { ...shown, selfReactionKeys: [], reactors: undefined };
      return { ...shown, selfReactionKeys, reactors };
    } catch (error) {
      throw asUnavailable(error);
    } finally {
      deadline.close();
    }
  }

  private async shown(
    request: DetailRequest,
    deadlineMs: number,
    decodeMicros: number,
    mayHold?: (bytes: number) => boolean,
  ): Promise<Pick<DetailOutcome, 'result' | 'body'>> {
    const join = singleJoin({ ...request, deadlineMs });
    const { entries, bodies } = await this.options.joiner.join(join, decodeMicros, mayHold);
    return { result: entries.code[0] as number, body: bodies.views()[0] };
  }

  private async reactionKeys(
    { userId, ...where }: DetailRequest,
    deadline: ReadDeadline,
  ): Promise<readonly string[]> {
    if (userId === undefined) return [];
    const { reactions, onFailure } = this.options;
    const send = async () => {
      const read = await this.gate.run({
        turn: new Turn(false),
        isWanted: () => !deadline.isOver,
        send: async () => ({ reaction: await reactions.readReaction(where, userId) }),
      });
      if (read === undefined) throw new PastDeadline();
      return read.reaction;
    };
    const reaction = await repeatedOnce(send, deadline, onFailure);
    const key = reactionKeyOf(reaction?.reactionKey ?? '');
    // An empty key was taken back (D19).
    return key === '' ? [] : [key];
  }

  private async reactors(
    { reactors, ...where }: DetailRequest,
    deadline: ReadDeadline,
  ): Promise<ReactorsPage | undefined> {
    return reactors && this.pages.page(where, reactors, deadline);
  }
}

function isShown(result: number): boolean {
  return result === ResultCode.OK || result === ResultCode.RECALLED;
}
