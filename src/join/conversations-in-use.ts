/**
 * The conversations that joins on this node asked for lately: what is worth warming from the log. Bounded by number and
 * by time; the least recently used goes. Owned by the main thread.
 */
import { LRUCache } from 'lru-cache';
import { type ConversationId, idKeyAt, type TenantId } from '../domain/ids.js';
import { CONVERSATION_IN_USE_MS, CONVERSATIONS_IN_USE_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';

export class ConversationsInUse {
  readonly #used: LRUCache<string, true>;

  constructor(clock: Pick<Clock, 'nowMs'>, max = CONVERSATIONS_IN_USE_MAX, ttlMs = CONVERSATION_IN_USE_MS) {
    this.#used = new LRUCache({ max, ttl: ttlMs, ttlResolution: 0, perf: { now: () => clock.nowMs() } });
  }

  get size(): number {
    return this.#used.size;
  }

  /** A join asked for a message of it; its 16 bytes lie at an offset. */
  touch(tenantId: Uint8Array, bytes: Uint8Array, conversationAt: number): void {
    this.#used.set(idKeyAt(tenantId, 0) + idKeyAt(bytes, conversationAt), true);
  }

  /** Whether a join asked for it lately; asking here does not count as use. */
  has(tenantId: TenantId, conversationId: ConversationId): boolean {
    return this.#used.has(idKeyAt(tenantId, 0) + idKeyAt(conversationId, 0));
  }
}
