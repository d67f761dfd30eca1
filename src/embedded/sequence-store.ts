/**
 * Windows of sequence numbers in the file. The write transaction alone reads and moves the mark, also against other
 * processes; it is durable before the window is told, so a crash leaves a hole and never a number used twice.
 * Fails with STORE_UNAVAILABLE, or SEQ_RANGE when the numbers are used up.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { type ReservedWindows, windowAfter } from '../domain/seq-window.js';
import type { SequenceStore, SeqWindow } from '../domain/write-ports.js';
import type { Environment } from './environment.js';
import { decodeValue, encodeValue } from './row-codec.js';
import { conversationKey } from './row-key.js';

export class EmbeddedSequenceStore implements SequenceStore {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async reserveWindow(
    tenantId: TenantId,
    conversationId: ConversationId,
    count: number,
    nowEpochMs: bigint,
  ): Promise<SeqWindow> {
    const key = conversationKey(tenantId, conversationId);
    const { sequences } = this.#environment;
    return this.#environment.write(() => {
      const stored = sequences.get(key);
      const { window, mark } = windowAfter(stored && decodeMark(stored), count, nowEpochMs);
      // Inside a transaction a put is done when it returns.
      void sequences.put(key, encodeValue([mark.nextSeq, mark.reservedAtMs]));
      return window;
    });
  }

  async reservedEnd(tenantId: TenantId, conversationId: ConversationId): Promise<bigint | undefined> {
    const key = conversationKey(tenantId, conversationId);
    const stored = this.#environment.read(() => this.#environment.sequences.get(key));
    return stored && decodeMark(stored).nextSeq;
  }
}

function decodeMark(bytes: Uint8Array): ReservedWindows {
  const [nextSeq, reservedAtMs] = decodeValue(bytes);
  if (typeof nextSeq !== 'bigint' || typeof reservedAtMs !== 'bigint') {
    throw new MailjoinError('STORE_CORRUPT', 'a stored sequence has another shape');
  }
  return { nextSeq, reservedAtMs };
}
