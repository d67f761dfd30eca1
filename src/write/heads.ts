/**
 * Head updates (R5.1 step 7, R5.2): queued, written asynchronously, tried again with backoff, never in an operation's
 * way. One conversation has one write under way; what arrives meanwhile is merged, so a fast conversation costs one write
 * per round trip. An update that would move latest_conversation_seq back is dropped and raises an alert. Bounds: at
 * most HEADS_PENDING_MAX conversations wait; beyond that an update is dropped and raises an alert, and the head lags until the
 * conversation's next. Never rejects.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConversationId, TenantId } from '../domain/ids.js';
import {
  HEAD_ALERT_ATTEMPTS,
  HEAD_RETRY_MS,
  HEADS_IN_FLIGHT_MAX,
  HEADS_PENDING_MAX,
} from '../domain/limits.js';
import type { AlertListener } from './alerts.js';
import { HeadOwner, type HeadOwnerOptions, headKey } from './head-owner.js';
import { type HeadChange, type HeadRevision, type HeadUpdate, mergeChanges } from './head-state.js';

/** Waits so long, or until the signal aborts; never rejects. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

export interface HeadWriterOptions extends HeadOwnerOptions {
  readonly onAlert: AlertListener;
  readonly pause?: Pause;
  readonly pendingMax?: number;
}

export interface HeadWriterStats {
  /** Conversations whose head waits or is being written. */
  readonly pending: number;
  readonly written: number;
  /** Updates dropped because the head was newer (R5.2). */
  readonly backward: number;
  /** Updates dropped for other reasons: too many waited, closed, fenced. */
  readonly dropped: number;
  readonly failures: number;
}

type AttemptListener = (isFailed: boolean) => void;

interface Waiting {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  /** undefined while nothing more than what is being written waits. */
  change: HeadChange | undefined;
  attempts: number;
  /** Told when the attempt that includes their change has ended, and whether it failed. */
  readonly attempted: AttemptListener[];
}

export class HeadWriter {
  readonly #owner: HeadOwner;
  readonly #onAlert: AlertListener;
  readonly #pause: Pause;
  readonly #pendingMax: number;
  readonly #waiting = new Map<string, Waiting>();
  /** Keys of `#waiting` that no write is under way for, in order. */
  readonly #ready: string[] = [];
  readonly #stop = new AbortController();
  readonly #idle: (() => void)[] = [];
  #inFlight = 0;
  #isClosing = false;
  #written = 0;
  #backward = 0;
  #dropped = 0;
  #failures = 0;

  constructor(options: HeadWriterOptions) {
    this.#owner = new HeadOwner(options);
    this.#onAlert = options.onAlert;
    this.#pause = options.pause ?? pauseOf;
    this.#pendingMax = options.pendingMax ?? HEADS_PENDING_MAX;
  }

  /** A message was committed. */
  update(update: HeadUpdate): void {
    const key = headKey(update.tenantId, update.conversationId);
    const known = this.#waiting.get(key)?.change?.message?.seq ?? this.#owner.latestSeq(key);
    if (known !== undefined && update.seq <= known) {
      if (!update.isRepeated) this.#dropBackward();
      return;
    }
    this.#enqueue(key, update, { message: update, revision: undefined }, undefined);
  }

  /**
   * A message was recalled or edited: resolves when the first attempt to say so in the head has ended. False where it
   * failed (it is made again) or was dropped.
   */
  revise(revision: HeadRevision): Promise<boolean> {
    const key = headKey(revision.tenantId, revision.conversationId);
    return new Promise((resolve) => {
      this.#enqueue(key, revision, { message: undefined, revision }, (isFailed) => resolve(!isFailed));
    });
  }

  /** Resolves when nothing waits. */
  idle(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Takes no more, waits for what is pending at most so long, and resolves to how many heads were left unwritten. */
  async close(withinMs: number): Promise<number> {
    this.#isClosing = true;
    await Promise.race([this.idle(), this.#pause(withinMs, this.#stop.signal)]);
    const left = this.#waiting.size;
    this.#stop.abort();
    this.#ready.length = 0;
    for (const waiting of this.#waiting.values()) {
      this.#drop();
      for (const tell of waiting.attempted.splice(0)) tell(true);
    }
    return left;
  }

  stats(): HeadWriterStats {
    return {
      pending: this.#waiting.size,
      written: this.#written,
      backward: this.#backward,
      dropped: this.#dropped,
      failures: this.#failures,
    };
  }

  #enqueue(
    key: string,
    { tenantId, conversationId }: Pick<Waiting, 'tenantId' | 'conversationId'>,
    change: HeadChange,
    attempted: AttemptListener | undefined,
  ): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.change = waiting.change === undefined ? change : mergeChanges(waiting.change, change);
      if (attempted !== undefined) waiting.attempted.push(attempted);
      return;
    }
    if (this.#isClosing || this.#waiting.size >= this.#pendingMax) {
      this.#drop();
      attempted?.(true);
      return;
    }
    const told = attempted === undefined ? [] : [attempted];
    this.#waiting.set(key, { tenantId, conversationId, change, attempts: 0, attempted: told });
    this.#ready.push(key);
    this.#pump();
  }

  #pump(): void {
    while (this.#inFlight < HEADS_IN_FLIGHT_MAX) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) continue;
      this.#inFlight++;
      void this.#attempt(key, waiting);
    }
  }

  /** One attempt for one conversation; never rejects. */
  async #attempt(key: string, waiting: Waiting): Promise<void> {
    const { tenantId, conversationId, change } = waiting;
    const told = waiting.attempted.splice(0);
    waiting.change = undefined;
    let failed = false;
    let fenced = false;
    try {
      if (change !== undefined) {
        // Only a newer message's write says all that this one's does: after anything else this one must be read back.
        const isOutdone = (latestSeq: bigint): boolean => (waiting.change?.message?.seq ?? -1n) > latestSeq;
        const outcome = await this.#owner.write(tenantId, conversationId, change, isOutdone);
        fenced = outcome === 'fenced';
        if (outcome === 'written') this.#written++;
        else if (fenced) this.#drop();
        else if (outcome === 'newer' && change.message?.isRepeated === false) this.#dropBackward();
      }
    } catch {
      failed = true;
      this.#failures++;
      // What was not written waits on, below what has arrived since.
      if (change !== undefined) {
        waiting.change = waiting.change === undefined ? change : mergeChanges(change, waiting.change);
      }
    }
    this.#inFlight--;
    for (const tell of told) tell(failed || fenced);
    if (failed) void this.#retryLater(key, waiting);
    else this.#settle(key, waiting);
    this.#pump();
  }

  #settle(key: string, waiting: Waiting): void {
    waiting.attempts = 0;
    if (waiting.change !== undefined) {
      this.#ready.push(key);
      return;
    }
    this.#waiting.delete(key);
    if (this.#waiting.size === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  async #retryLater(key: string, waiting: Waiting): Promise<void> {
    waiting.attempts++;
    if (waiting.attempts === HEAD_ALERT_ATTEMPTS) this.#onAlert('HEAD_DELAYED');
    const backoffMs = HEAD_RETRY_MS.first * 2 ** (waiting.attempts - 1);
    await this.#pause(Math.min(backoffMs, HEAD_RETRY_MS.max), this.#stop.signal);
    if (this.#stop.signal.aborted) return;
    this.#ready.push(key);
    this.#pump();
  }

  #drop(): void {
    this.#dropped++;
    this.#onAlert('HEAD_DROPPED');
  }

  #dropBackward(): void {
    this.#backward++;
    this.#onAlert('HEAD_BACKWARD');
  }
}

async function pauseOf(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
