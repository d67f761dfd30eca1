/** message_index in the file (R2.2): last-write-wins and TTLs as on Cassandra (D21). Fails with STORE_UNAVAILABLE. */
import { MailjoinError } from '../domain/errors.js';
import { conversationIdOf, type MessageId, type TenantId } from '../domain/ids.js';
import type { Clock, WriteLife } from '../domain/ports.js';
import { requireLife, requireSeq } from '../domain/write-checks.js';
import type { IndexEntry, MessageIndexStore } from '../domain/write-ports.js';
import { bigintAt, bytesAt, expiryOf, merge } from './cell.js';
import type { Environment } from './environment.js';
import { decodeRow, encodeRow } from './row-codec.js';
import { indexKey } from './row-key.js';
import { indexPurgeableAtS, moveSideExpiry, SideTable, sweepSide } from './side-expiry.js';
import { SWEEP_ROWS_PER_WRITE } from './sweep.js';

/** Part of the file's format. seq_bucket follows from the seq and is not stored. */
const Column = { CONVERSATION_ID: 0, SEQ: 1 } as const;

export class EmbeddedMessageIndexStore implements MessageIndexStore {
  readonly #environment: Environment;
  readonly #clock: Clock;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
  }

  async putIndex(
    tenantId: TenantId,
    messageId: MessageId,
    entry: IndexEntry,
    life: WriteLife,
  ): Promise<void> {
    requireSeq(entry.seq, 'conversation_seq');
    requireLife(life);
    const key = indexKey(tenantId, messageId);
    const environment = this.#environment;
    await environment.write(() => {
      const nowS = this.#nowS();
      const stored = environment.messageIndex.get(key);
      const former = stored && decodeRow(stored);
      const columns = [
        [Column.CONVERSATION_ID, entry.conversationId],
        [Column.SEQ, entry.seq],
      ] as const;
      const row = merge(former, columns, life.timestampMicros, expiryOf(life.ttlSeconds, nowS));
      // Inside a transaction a put is done when it returns.
      void environment.messageIndex.put(key, encodeRow(row));
      const [fromS, toS] = [indexPurgeableAtS(former), indexPurgeableAtS(row)];
      moveSideExpiry(environment, SideTable.MESSAGE_INDEX, key, fromS, toS);
      sweepSide(environment, nowS, SWEEP_ROWS_PER_WRITE);
    });
  }

  async lookup(tenantId: TenantId, messageId: MessageId): Promise<IndexEntry | undefined> {
    const key = indexKey(tenantId, messageId);
    const stored = this.#environment.read(() => this.#environment.messageIndex.get(key));
    if (stored === undefined) return undefined;
    const row = decodeRow(stored);
    const nowS = this.#nowS();
    const conversationBytes = bytesAt(row, Column.CONVERSATION_ID, nowS);
    const seq = bigintAt(row, Column.SEQ, nowS);
    if (conversationBytes === undefined || seq === undefined) return undefined;
    const conversationId = conversationIdOf(conversationBytes);
    if (conversationId === undefined) throw new MailjoinError('STORE_CORRUPT', 'an id is not 16 bytes long');
    return { conversationId, seq };
  }

  #nowS(): number {
    return Math.floor(this.#clock.epochMs() / 1000);
  }
}
