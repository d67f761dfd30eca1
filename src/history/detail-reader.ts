/**
 * One message in detail (R4.5): its body by the join's way, and beside it one point read of message_reaction for what the
 * asking user reacted with, and a page of who reacted, each only where it was asked for. Fails with STORE_* when such a
 * read fails twice; what the join meets is the result.
 */
import type { DetailRequest } from '../codec/detail-request.js';
import type { DetailOutcome, ReactorsPage } from '../codec/detail-response.js';
import type { Clock } from '../domain/ports.js';
import { reactionKeyOf } from '../domain/reaction.js';
import { ResultCode } from '../domain/result.js';
import type { ReactionStore } from '../domain/write-ports.js';
import type { RowJoiner } from './history-reader.js';
import { ReactorPages } from './reactor-pages.js';
import { type OnFailure, repeatedOnce } from './repeated-once.js';
import { singleJoin } from './single-join.js';

export interface DetailReaderOptions {
  readonly joiner: RowJoiner;
  readonly reactions: Pick<ReactionStore, 'readReaction' | 'readReactionsPage'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly onFailure: OnFailure;
}

export class DetailReader {
  private readonly options: DetailReaderOptions;
  private readonly pages: ReactorPages;

  constructor(options: DetailReaderOptions) {
    this.options = options;
    this.pages = new ReactorPages(options);
  }

  async detail(
    request: DetailRequest,
    decodeMicros = 0,
    mayHold?: (bytes: number) => boolean,
  ): Promise<DetailOutcome> {
    const [{ entries, bodies }, reactionKeys, reactors] = await Promise.all([
      this.options.joiner.join(singleJoin(request), decodeMicros, mayHold),
      this.reactionKeys(request),
      this.reactors(request, decodeMicros),
    ]);
    const result = entries.code[0] as number;
    const isShown = result === ResultCode.OK || result === ResultCode.RECALLED;
    // A message that is not shown says nothing of its reactions either.
    return {
      result,
      body: bodies.views()[0],
      selfReactionKeys: isShown ? reactionKeys : [],
      reactors: isShown ? reactors : undefined,
    };
  }

  private async reactionKeys({ userId, ...where }: DetailRequest): Promise<readonly string[]> {
    if (userId === undefined) return [];
    const { reactions, onFailure } = this.options;
    const reaction = await repeatedOnce(() => reactions.readReaction(where, userId), onFailure);
    const key = reactionKeyOf(reaction?.reactionKey ?? '');
    // An empty key was taken back (D19).
    return key === '' ? [] : [key];
  }

  private async reactors(request: DetailRequest, decodeMicros: number): Promise<ReactorsPage | undefined> {
    const { reactors, deadlineMs, ...where } = request;
    if (reactors === undefined) return undefined;
    const deadlineAtMs = this.options.clock.nowMs() + deadlineMs - decodeMicros / 1000;
    return this.pages.page(where, reactors, deadlineAtMs);
  }
}
