/**
 * Where a message_id lies (R2.2): one read of message_index, then the message itself by the join's way, so that an index
 * row whose message is gone, or is another one, says so through its result. For moderation, administration and
 * fault-finding only: nothing else reads that table, each look-up is counted, and few run at once, so that a tool which
 * asks for many never disturbs live delivery. Fails with OVERLOADED, STORE_*; nothing is repeated. At the deadline the
 * answer is STORE_UNAVAILABLE where the index has not answered, else what the join says (DEADLINE).
 */
import type { LookupOutcome, LookupRequest } from '../codec/lookup.js';
import { MailjoinError } from '../domain/errors.js';
import { LOOKUPS_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import type { IndexEntry, MessageIndexStore } from '../domain/write-ports.js';
import type { RowJoiner } from './history-reader.js';
import { asUnavailable, PastDeadline, ReadDeadline } from './read-deadline.js';
import type { OnFailure } from './repeated-once.js';
import { singleJoin } from './single-join.js';

/** What a read of message_index came to. */
export type IndexLookup = 'found' | 'missing' | 'failed';

export interface MessageLookupOptions {
  readonly index: Pick<MessageIndexStore, 'lookup'>;
  readonly joiner: RowJoiner;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Told of every read of message_index (R2.2). */
  readonly onLookup: (outcome: IndexLookup) => void;
  readonly onFailure: OnFailure;
}

export class MessageLookup {
  private readonly options: MessageLookupOptions;
  private underWay = 0;

  constructor(options: MessageLookupOptions) {
    this.options = options;
  }

  async lookup(
    request: LookupRequest,
    decodeMicros = 0,
    mayHold?: (bytes: number) => boolean,
  ): Promise<LookupOutcome> {
    if (this.underWay >= LOOKUPS_MAX) {
      throw new MailjoinError('OVERLOADED', `${LOOKUPS_MAX} look-ups by message_id are under way`);
    }
    this.underWay++;
    const leave = () => {
      this.underWay--;
    };
    const { clock, joiner } = this.options;
    const startedMs = clock.nowMs();
    const deadline = new ReadDeadline(request.deadlineMs - decodeMicros / 1000);
    const reading = this.readIndex(request);
    let isReading = false;
    try {
      const entry = await deadline.within(reading);
      if (entry === undefined) return { entry, result: ResultCode.NOT_FOUND, body: undefined };
      const deadlineMs = Math.max(0, request.deadlineMs - (clock.nowMs() - startedMs));
      const join = singleJoin({ ...request, ...entry, deadlineMs });
      const { entries, bodies } = await joiner.join(join, decodeMicros, mayHold);
      const body = request.wantBody ? bodies.views()[0] : undefined;
      return { entry, result: entries.code[0] as number, body };
    } catch (error) {
      isReading = error instanceof PastDeadline;
      throw asUnavailable(error);
    } finally {
      deadline.close();
      // A read that the store still works on keeps its place, or a slow store would be asked ever more.
      if (isReading) void reading.then(leave, leave);
      else leave();
    }
  }

  private async readIndex({ tenantId, messageId }: LookupRequest): Promise<IndexEntry | undefined> {
    const { index, onLookup, onFailure } = this.options;
    try {
      const entry = await index.lookup(tenantId, messageId);
      onLookup(entry === undefined ? 'missing' : 'found');
      return entry;
    } catch (error) {
      onLookup('failed');
      onFailure(error instanceof MailjoinError ? error.code : 'INTERNAL', error);
      throw error;
    }
  }
}
