/**
 * Sequence numbers and ids of messages and events (R5.1 step 2): the port, and the allocator that ships.
 *
 * It reserves windows of 4,096 seqs per conversation in the store and hands them out from memory. The next window is
 * reserved while the last quarter of the current one lasts, so a commit rarely waits; one reservation per conversation
 * is under way at a time. What a crash, a stop or an eviction leaves of a window is a hole; nothing is handed out twice.
 * A window that was left alone for a while, in which another process has reserved one above it, is a hole, too: what
 * came out of it now would stand before messages that are much older, or below E (R3.5), where nobody sees it.
 * Seq, message_id and last_activity_id of one message are assigned in one synchronous step: ids rise with the seqs,
 * also where the clock is set back or another owner's clock was ahead. Owned by one thread. Fails with what
 * SequenceStore fails with, with OVERLOADED when too many wait, with STORE_CORRUPT for a window that was used before.
 */
import { strict as assert } from 'node:assert';
import { LRUCache } from 'lru-cache';
import { MailjoinError } from '../domain/errors.js';
import {
  type ActivityId,
  type ConversationId,
  idKeyAt,
  type MessageId,
  type TenantId,
} from '../domain/ids.js';
import {
  ALLOCATION_WAITERS_MAX,
  ALLOCATOR_CONVERSATIONS_MAX,
  SEQ_WINDOW,
  SEQ_WINDOW_IDLE_MS,
} from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import { assertSeq } from '../domain/seq.js';
import type { SequenceStore, SeqWindow } from '../domain/write-ports.js';
import {
  conversationCheck,
  drawnBehindMs,
  EVENT_STEP,
  eventPrefix,
  type FormerRevision,
  IdGenerator,
  type IdPrefix,
  idOf,
} from './message-ids.js';

/** What a new message is called. Its first revision is its message_id, so that a retry needs to know the one only. */
export interface AllocatedMessage {
  readonly seq: bigint;
  readonly messageId: MessageId;
  readonly lastActivityId: ActivityId;
}

/** A CONTROL event's own seq, and the revision that it gives the message it changes. */
export interface AllocatedEvent {
  readonly seq: bigint;
  readonly lastActivityId: ActivityId;
}

export interface SequenceAllocator {
  allocateMessage(tenantId: TenantId, conversationId: ConversationId): Promise<AllocatedMessage>;
  /** The revision lies strictly above the row's former one and above its created_at (D14). */
  allocateEvent(
    tenantId: TenantId,
    conversationId: ConversationId,
    former: FormerRevision,
  ): Promise<AllocatedEvent>;
}

export interface WindowAllocatorOptions {
  readonly store: SequenceStore;
  readonly clock: Pick<Clock, 'epochMs'>;
  /** Conversations kept; the least recently used leaves the rest of its window as a hole. */
  readonly conversationsMax?: number;
  /** Seqs reserved at once; fewer, and none ahead, where the process ends soon and would leave them as holes. */
  readonly windowSeqs?: number;
}

/** What is left of a conversation's windows. */
interface Conversation {
  /** Ascending; the first one is in use. */
  readonly windows: { next: bigint; end: bigint }[];
  readonly check: number;
  /** Behind the last seq of all windows so far. */
  end: bigint;
  /** When a seq was taken last, or a window came. */
  usedAtMs: number;
  /** The next id's prefix lies above it. */
  lastPrefix: IdPrefix;
}

interface Waiter {
  serve(conversation: Conversation): void;
  fail(error: unknown): void;
}

export class WindowAllocator implements SequenceAllocator {
  readonly #store: SequenceStore;
  readonly #clock: Pick<Clock, 'epochMs'>;
  readonly #ids: IdGenerator;
  readonly #conversations: LRUCache<string, Conversation>;
  readonly #windowSeqs: number;
  /** Seqs left at which the next window is reserved; negative: never ahead. */
  readonly #aheadSeqs: bigint;
  /** Reservations under way, with those who wait for them. */
  readonly #flights = new Map<string, Waiter[]>();

  constructor(options: WindowAllocatorOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#ids = new IdGenerator(options.clock);
    this.#windowSeqs = options.windowSeqs ?? SEQ_WINDOW;
    this.#aheadSeqs = options.windowSeqs === undefined ? BigInt(SEQ_WINDOW / 4) : -1n;
    this.#conversations = new LRUCache({
      max: options.conversationsMax ?? ALLOCATOR_CONVERSATIONS_MAX,
      // A forgotten conversation's ids must still rise when it comes back.
      dispose: (conversation, _key, reason) => {
        if (reason === 'evict') this.#ids.raise(conversation.lastPrefix);
      },
    });
  }

  allocateMessage(tenantId: TenantId, conversationId: ConversationId): Promise<AllocatedMessage> {
    return this.#allocate(tenantId, conversationId, (conversation, seq) => {
      conversation.lastPrefix = this.#ids.nextPrefix(conversation.lastPrefix);
      const id = idOf(conversation.lastPrefix, conversation.check);
      // Fresh bytes of an id's length; the two names are one value on purpose (see AllocatedMessage).
      return { seq, messageId: id as MessageId, lastActivityId: id as ActivityId };
    });
  }

  allocateEvent(
    tenantId: TenantId,
    conversationId: ConversationId,
    former: FormerRevision,
  ): Promise<AllocatedEvent> {
    return this.#allocate(tenantId, conversationId, (conversation, seq) => {
      conversation.lastPrefix = this.#ids.nextPrefix(conversation.lastPrefix + EVENT_STEP);
      // A row whose revision lies in the future (a clock that was ahead) does not drag the conversation along.
      const prefix = eventPrefix(conversation.lastPrefix, former);
      // Fresh bytes of an id's length.
      return { seq, lastActivityId: idOf(prefix, conversation.check) as ActivityId };
    });
  }

  async #allocate<T>(
    tenantId: TenantId,
    conversationId: ConversationId,
    assign: (conversation: Conversation, seq: bigint) => T,
  ): Promise<T> {
    const key = idKeyAt(tenantId, 0) + idKeyAt(conversationId, 0);
    const conversation = this.#conversations.get(key);
    if (conversation !== undefined && left(conversation) > 0n && !this.#isIdle(conversation)) {
      conversation.usedAtMs = this.#clock.epochMs();
      const assigned = assign(conversation, takeSeq(conversation));
      if (left(conversation) <= this.#aheadSeqs) this.#reserve(key, tenantId, conversationId);
      return assigned;
    }
    const waiters = this.#reserve(key, tenantId, conversationId);
    if (waiters.length >= ALLOCATION_WAITERS_MAX) {
      throw new MailjoinError('OVERLOADED', 'too many messages wait for seqs of one conversation');
    }
    return new Promise<T>((resolve, fail) => {
      const serve = (served: Conversation): void => {
        try {
          resolve(assign(served, takeSeq(served)));
        } catch (error) {
          fail(error);
        }
      };
      waiters.push({ serve, fail });
    });
  }

  /** Starts a reservation unless one is under way; returns those who wait for it. */
  #reserve(key: string, tenantId: TenantId, conversationId: ConversationId): Waiter[] {
    const running = this.#flights.get(key);
    if (running !== undefined) return running;
    const waiters: Waiter[] = [];
    this.#flights.set(key, waiters);
    this.#window(key, tenantId, conversationId).then(
      (window) => this.#land(key, tenantId, conversationId, window),
      (error: unknown) => this.#fail(key, error),
    );
    return waiters;
  }

  /** A new window, or undefined when one that was left alone is still the last that anybody reserved. */
  async #window(
    key: string,
    tenantId: TenantId,
    conversationId: ConversationId,
  ): Promise<SeqWindow | undefined> {
    const known = this.#conversations.get(key);
    if (known !== undefined && left(known) > 0n && this.#isIdle(known)) {
      const end = await this.#store.reservedEnd(tenantId, conversationId);
      if (end === known.end) {
        leaveBelowOthers(known);
        // Whatever was evicted meanwhile: its seqs are still nobody else's.
        this.#conversations.set(key, known);
        return undefined;
      }
      known.windows.length = 0;
    }
    const nowMs = BigInt(Math.floor(this.#clock.epochMs()));
    return this.#store.reserveWindow(tenantId, conversationId, this.#windowSeqs, nowMs);
  }

  #isIdle({ usedAtMs }: Conversation): boolean {
    return this.#clock.epochMs() - usedAtMs > SEQ_WINDOW_IDLE_MS;
  }

  /** Adds the window and serves the waiters in one tick: nobody else can use it up or evict it before them. */
  #land(
    key: string,
    tenantId: TenantId,
    conversationId: ConversationId,
    window: SeqWindow | undefined,
  ): void {
    let conversation: Conversation | undefined;
    try {
      conversation =
        window === undefined ? this.#conversations.get(key) : this.#add(key, conversationId, window);
      assert(conversation !== undefined, 'a conversation whose window goes on is known');
    } catch (error) {
      this.#fail(key, error);
      return;
    }
    const waiters = this.#flights.get(key) ?? [];
    this.#flights.delete(key);
    conversation.usedAtMs = this.#clock.epochMs();
    for (const waiter of waiters.splice(0, Number(left(conversation)))) waiter.serve(conversation);
    if (waiters.length > 0 || left(conversation) <= this.#aheadSeqs) {
      this.#reserve(key, tenantId, conversationId).push(...waiters);
    }
  }

  /** A reservation ahead that fails has no waiters: whoever finds the window used up asks, and hears, again. */
  #fail(key: string, error: unknown): void {
    const waiters = this.#flights.get(key) ?? [];
    this.#flights.delete(key);
    for (const waiter of waiters) waiter.fail(error);
  }

  #add(key: string, conversationId: ConversationId, window: SeqWindow): Conversation {
    const { first, count, idFloorMs } = window;
    const end = first + BigInt(count);
    assertSeq(first, 'the first seq of a window');
    assertSeq(end - 1n, 'the last seq of a window');
    const floor = drawnBehindMs(idFloorMs);
    const conversation = this.#conversations.get(key) ?? {
      windows: [],
      check: conversationCheck(conversationId),
      end: first,
      usedAtMs: this.#clock.epochMs(),
      lastPrefix: floor,
    };
    if (first < conversation.end) throw new MailjoinError('STORE_CORRUPT', 'a window was reserved before');
    conversation.windows.push({ next: first, end });
    conversation.end = end;
    if (floor > conversation.lastPrefix) conversation.lastPrefix = floor;
    this.#conversations.set(key, conversation);
    return conversation;
  }
}

function left({ windows }: Conversation): bigint {
  return windows.reduce((sum, { next, end }) => sum + end - next, 0n);
}

/** Where two windows do not meet, another process has reserved between them: what is left below that is a hole. */
function leaveBelowOthers({ windows }: Conversation): void {
  const from = windows.findLastIndex(({ next }, index) => index > 0 && windows[index - 1]?.end !== next);
  if (from > 0) windows.splice(0, from);
}

/** The next seq of a conversation that has one left. */
function takeSeq(conversation: Conversation): bigint {
  const { windows } = conversation;
  // left() > 0 was checked, so there is a window with a seq.
  const window = windows[0] as { next: bigint; end: bigint };
  const seq = window.next++;
  if (window.next === window.end) windows.shift();
  return seq;
}
