/**
 * One message in detail (R4.5): its body by the join's way, and beside it one point read of message_reaction for what the
 * asking user reacted with. Fails with STORE_* when that read fails twice; what the join meets is the result.
 */
import type { DetailOutcome, DetailRequest } from '../codec/detail.js';
import type { JoinRequest } from '../codec/join-request.js';
import { EntryColumns, RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES } from '../domain/ids.js';
import { FLIGHT_ATTEMPTS_MAX, RESPONSE_BYTES_MAX } from '../domain/limits.js';
import { ResultCode } from '../domain/result.js';
import type { ReactionStore } from '../domain/write-ports.js';
import type { RowJoiner } from './history-reader.js';

export interface DetailReaderOptions {
  readonly joiner: RowJoiner;
  readonly reactions: Pick<ReactionStore, 'readReaction'>;
  /** Told of every read that failed: for logs and metrics. */
  readonly onFailure: (code: string, error: unknown) => void;
}

export class DetailReader {
  private readonly options: DetailReaderOptions;

  constructor(options: DetailReaderOptions) {
    this.options = options;
  }

  async detail(
    request: DetailRequest,
    decodeMicros = 0,
    mayHold?: (bytes: number) => boolean,
  ): Promise<DetailOutcome> {
    const [{ entries, bodies }, reactionKeys] = await Promise.all([
      this.options.joiner.join(joinRequestOf(request), decodeMicros, mayHold),
      this.reactionKeys(request),
    ]);
    const result = entries.code[0] as number;
    const isShown = result === ResultCode.OK || result === ResultCode.RECALLED;
    // A message that is not shown says nothing of its reactions either.
    return { result, body: bodies.views()[0], selfReactionKeys: isShown ? reactionKeys : [] };
  }

  private async reactionKeys({ userId, ...where }: DetailRequest): Promise<readonly string[]> {
    if (userId === undefined) return [];
    for (let attempt = 1; ; attempt++) {
      try {
        const reaction = await this.options.reactions.readReaction(where, userId);
        // An empty key was taken back (D19).
        return reaction === undefined || reaction.reactionKey === '' ? [] : [reaction.reactionKey];
      } catch (error) {
        const isOurs = error instanceof MailjoinError;
        this.options.onFailure(isOurs ? error.code : 'INTERNAL', error);
        if (attempt >= FLIGHT_ATTEMPTS_MAX || !isOurs || !error.retryable) throw error;
      }
    }
  }
}

function joinRequestOf({ tenantId, conversationId, messageId, seq, deadlineMs }: DetailRequest): JoinRequest {
  const bytes = new Uint8Array(2 * ID_BYTES);
  bytes.set(conversationId, 0);
  bytes.set(messageId, ID_BYTES);
  const entries = new EntryColumns(bytes, 1);
  entries.messageAt[0] = ID_BYTES;
  entries.seqHi[0] = Number(seq >> 32n);
  entries.seqLo[0] = Number(seq & 0xffff_ffffn);
  const kind = RequestKind.MAILBOX_BATCH;
  return { kind, tenantId, entries, deadlineMs, responseBytesMax: RESPONSE_BYTES_MAX, wantReceipt: false };
}
