/**
 * Writes one conversation's head as its owner (D2, D23).
 *
 *     taking over:  read ─ acquire ─ claim ─ read ─▶ owner        writing:  write ─ read back
 *
 * Ownership is an epoch. A process takes a conversation over with its first write, and its versions count up from 1.
 * Before it reads what it builds on, it claims the head: so whoever writes under an earlier epoch too late to be read
 * finds the claim, or what was written under it, on reading back (which it does after a write with nothing more to
 * come). Where that head lacks its change, or is a claim whose owner may not have read it, it takes over again; else it
 * is done. So of processes that write one conversation without knowing of each other the one with the highest epoch has
 * read all changes of the others, and no recall or newer message is undone by an owner that did not see it. A claim is
 * always followed by a write; one whose owner died costs the next owner a take-over. Fails with STORE_UNAVAILABLE when
 * others keep taking over, and with what its ports fail with; then nothing is known of the head, and the change can be
 * tried again.
 */
import { LRUCache } from 'lru-cache';
import { MailjoinError } from '../domain/errors.js';
import { claimOf, type HeadFence, isClaimed, isSuperseded } from '../domain/head.js';
import { type ConversationId, idKeyAt, type TenantId } from '../domain/ids.js';
import { HEAD_TAKE_OVERS_MAX, HEADS_OWNED_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { Sealer } from '../domain/sealing.js';
import type { HeadStore } from '../domain/write-ports.js';
import type { EpochSource } from './head-epochs.js';
import { contentAfter, type HeadChange, type HeadContent, type KnownHead, knownHead } from './head-state.js';

export interface HeadOwnerOptions {
  readonly store: Pick<HeadStore, 'claimHead' | 'writeHead' | 'readHead'>;
  readonly epochs: EpochSource;
  readonly sealer: Pick<Sealer, 'keyAt' | 'sealPreview'>;
  readonly clock: Pick<Clock, 'epochMs'>;
}

/** A head that this process owns, or believes to. */
interface OwnedHead {
  readonly epoch: bigint;
  /** Of the last write. */
  version: bigint;
  known: KnownHead | undefined;
}

/**
 * shown: the head shows the change already, or it is a revision of a message that is not the last. newer: the head has
 * a newer message (R5.2). superseded: written, then outdone by another owner. fenced: this process may not take over.
 */
export type HeadOutcome = 'written' | 'shown' | 'newer' | 'superseded' | 'fenced';

export class HeadOwner {
  readonly #with: HeadOwnerOptions;
  readonly #owned = new LRUCache<string, OwnedHead>({ max: HEADS_OWNED_MAX });

  constructor(options: HeadOwnerOptions) {
    this.#with = options;
  }

  /** The highest seq that this process has entered, where it remembers one. */
  latestSeq(key: string): bigint | undefined {
    return this.#owned.get(key)?.known?.latestSeq;
  }

  /**
   * Brings the head to show the change. `isOutdone`: a newer message follows at once, whose write says all of this one's
   * and is read back, so reading back can wait.
   */
  async write(
    tenantId: TenantId,
    conversationId: ConversationId,
    change: HeadChange,
    isOutdone: (latestSeq: bigint) => boolean,
  ): Promise<HeadOutcome> {
    const key = headKey(tenantId, conversationId);
    try {
      for (let attempt = 0; attempt < HEAD_TAKE_OVERS_MAX; attempt++) {
        const outcome = await this.#writeOnce(key, tenantId, conversationId, change, isOutdone);
        if (outcome !== 'retake') return outcome;
      }
      throw new MailjoinError('STORE_UNAVAILABLE', 'others keep taking over the same head');
    } catch (error) {
      // Whether the write arrived is not known, and a version is used once (D2): take over anew.
      this.#owned.delete(key);
      throw error;
    }
  }

  async #writeOnce(
    key: string,
    tenantId: TenantId,
    conversationId: ConversationId,
    change: HeadChange,
    isOutdone: (latestSeq: bigint) => boolean,
  ): Promise<HeadOutcome | 'retake'> {
    const owned = this.#owned.get(key) ?? (await this.#takeOver(key, tenantId, conversationId, change));
    if (typeof owned === 'string') return owned;
    const content = contentAfter(owned.known, change);
    if (content === undefined) return unwritten(owned.known, change);
    const preview = await this.#preview(tenantId, conversationId, content);
    const fence = await this.#writeAs(owned, tenantId, conversationId, content, preview);
    if (isOutdone(content.latestSeq)) return 'written';
    const head = await this.#with.store.readHead(tenantId, conversationId);
    if (!isSuperseded(head, fence)) return 'written';
    this.#owned.delete(key);
    return !isClaimed(head) && contentAfter(knownHead(head), change) === undefined ? 'superseded' : 'retake';
  }

  /** Takes the conversation over, unless its head shows the change already. */
  async #takeOver(
    key: string,
    tenantId: TenantId,
    conversationId: ConversationId,
    change: HeadChange,
  ): Promise<OwnedHead | 'shown' | 'newer' | 'fenced' | 'retake'> {
    const { store, epochs } = this.#with;
    const before = await store.readHead(tenantId, conversationId);
    const shown = knownHead(before);
    // Under a claim, what is shown may be about to be overwritten by an owner that did not read it.
    if (!isClaimed(before) && contentAfter(shown, change) === undefined) return unwritten(shown, change);
    const epoch = await epochs.acquire(tenantId, conversationId, before?.fencingEpoch);
    if (before?.fencingEpoch !== undefined && before.fencingEpoch >= epoch) return 'fenced';
    await store.claimHead(tenantId, conversationId, epoch);
    // Again: the owner before may have gone on until now. What it still writes is fenced, and it will read that.
    const head = await store.readHead(tenantId, conversationId);
    // Somebody who took over at the same time was given the higher epoch: look again, as after any other take-over.
    if (isSuperseded(head, claimOf(epoch))) return 'retake';
    const owned: OwnedHead = { epoch, version: 0n, known: knownHead(head) };
    if (owned.known !== undefined && contentAfter(owned.known, change) === undefined) {
      // Nothing to add; but a claim is followed by a write, which makes what was read safe from earlier epochs.
      const fence = await this.#writeAs(owned, tenantId, conversationId, owned.known, head?.preview);
      // Read back like every write with nothing more to come: who took over meanwhile may not have read what this repeats.
      if (isSuperseded(await store.readHead(tenantId, conversationId), fence)) return 'retake';
    }
    this.#owned.set(key, owned);
    return owned;
  }

  /** Writes under the owner's next version; `preview` is sealed. */
  async #writeAs(
    owned: OwnedHead,
    tenantId: TenantId,
    conversationId: ConversationId,
    content: KnownHead,
    preview: Uint8Array | undefined,
  ): Promise<HeadFence> {
    const { store, clock } = this.#with;
    const fence = { fencingEpoch: owned.epoch, headVersion: owned.version + 1n };
    const { latestSeq, lastMessageId, lastActivityId, lastSenderId } = content;
    const updatedAtMs = BigInt(Math.floor(clock.epochMs()));
    await store.writeHead(tenantId, conversationId, {
      latestSeq,
      lastMessageId,
      lastActivityId,
      lastSenderId,
      preview,
      updatedAtMs,
      ...fence,
    });
    owned.version = fence.headVersion;
    owned.known = content;
    return fence;
  }

  /** The sealed preview (D23); none where there is no text, no key, or the key is gone for ever. */
  async #preview(
    tenantId: TenantId,
    conversationId: ConversationId,
    content: HeadContent,
  ): Promise<Uint8Array | undefined> {
    if (content.preview === undefined) return undefined;
    const { sealer } = this.#with;
    try {
      const dekId = await sealer.keyAt(tenantId, conversationId, Number(content.keyAtMs));
      if (dekId === undefined) return undefined;
      const where = { tenantId, conversationId, seq: content.latestSeq };
      return await sealer.sealPreview(where, dekId, content.preview);
    } catch (error) {
      if (error instanceof MailjoinError && !error.retryable) return undefined;
      throw error;
    }
  }
}

/** Why a change needs no write. */
function unwritten(known: KnownHead | undefined, { message }: HeadChange): 'shown' | 'newer' {
  return message !== undefined && known !== undefined && known.latestSeq > message.seq ? 'newer' : 'shown';
}

/** A conversation's name among heads. */
export function headKey(tenantId: TenantId, conversationId: ConversationId): string {
  return idKeyAt(tenantId, 0) + idKeyAt(conversationId, 0);
}
