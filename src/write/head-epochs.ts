/**
 * Fencing epochs (D2): which owner of a conversation's head is the later one. The port lets a deployment with its own
 * leadership give its epochs; the source that ships counts take-overs in the store's sequences, under a name that no
 * conversation has, so that every take-over by any process gets a number of its own, higher than all before.
 */
import { createHash } from 'node:crypto';
import { type ConversationId, ID_BYTES, type TenantId } from '../domain/ids.js';
import type { Clock } from '../domain/ports.js';
import type { SequenceStore } from '../domain/write-ports.js';

export interface EpochSource {
  /**
   * The epoch under which this process may write a head that stands at `above` (undefined = at none). Each call gives a
   * number that was never given before: a process that has failed, or has forgotten the conversation, asks again, and a
   * term of leadership would look like another owner's. An epoch that is not higher than `above` means that another
   * process owns the conversation now: this one's writes are dropped.
   */
  acquire(tenantId: TenantId, conversationId: ConversationId, above: bigint | undefined): Promise<bigint>;
}

const LABEL = 'mailjoin.head-epochs.v1';

export class CountedEpochs implements EpochSource {
  readonly #store: Pick<SequenceStore, 'reserveWindow'>;
  readonly #clock: Pick<Clock, 'epochMs'>;

  constructor(store: Pick<SequenceStore, 'reserveWindow'>, clock: Pick<Clock, 'epochMs'>) {
    this.#store = store;
    this.#clock = clock;
  }

  async acquire(
    tenantId: TenantId,
    conversationId: ConversationId,
    above: bigint | undefined,
  ): Promise<bigint> {
    const epoch = await this.#next(tenantId, conversationId, 1);
    if (above === undefined || epoch > above) return epoch;
    // The head was written under another source's epochs: pass them.
    return this.#next(tenantId, conversationId, Number(above - epoch) + 1);
  }

  /** The last of the next `count` numbers. */
  async #next(tenantId: TenantId, conversationId: ConversationId, count: number): Promise<bigint> {
    const nowMs = BigInt(Math.floor(this.#clock.epochMs()));
    const window = await this.#store.reserveWindow(tenantId, counterOf(conversationId), count, nowMs);
    return window.first + BigInt(window.count) - 1n;
  }
}

/** The name that a conversation's take-overs are counted under. */
function counterOf(conversationId: ConversationId): ConversationId {
  const hash = createHash('sha256').update(LABEL).update(conversationId).digest();
  // Exactly the bytes of an id.
  return hash.subarray(0, ID_BYTES) as Uint8Array as ConversationId;
}
