/**
 * client_dedup in the file (R2.3, D7, D16). What a lightweight transaction does on Cassandra a write transaction does
 * here: it alone reads and writes, also against other processes. Rows live for the table's TTL, counted anew by each
 * write as there. Fails with STORE_UNAVAILABLE, SEQ_RANGE, or STORE_REFUSED for a client_message_id too long.
 */
import { namesSameMessage, reservationAnswer } from '../domain/dedup.js';
import type { TenantId, UserId } from '../domain/ids.js';
import { DEDUP_TTL_SECONDS } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import { requireSeq } from '../domain/write-checks.js';
import { type DedupEntry, DedupState, type DedupStore } from '../domain/write-ports.js';
import { expiryOf, NEVER } from './cell.js';
import { type DedupRow, decodeDedup, encodeDedup } from './dedup-row.js';
import type { Environment } from './environment.js';
import { dedupKey } from './row-key.js';
import { moveSideExpiry, SideTable, sweepSide } from './side-expiry.js';
import { SWEEP_ROWS_PER_WRITE } from './sweep.js';

export class EmbeddedDedupStore implements DedupStore {
  readonly #environment: Environment;
  readonly #clock: Clock;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
  }

  async reserve(entry: DedupEntry): Promise<DedupEntry | undefined> {
    requireSeq(entry.seq, 'conversation_seq');
    const key = keyOf(entry);
    return this.#environment.write(() => {
      const nowS = this.#nowS();
      const former = this.#stored(key);
      if (former !== undefined && nowS < former.expiresAtS) {
        return reservationAnswer(entryOf(entry, former), entry);
      }
      this.#put(key, former, entry, DedupState.RESERVED, nowS);
      return undefined;
    });
  }

  async complete(entry: DedupEntry): Promise<boolean> {
    requireSeq(entry.seq, 'conversation_seq');
    const key = keyOf(entry);
    return this.#environment.write(() => {
      const nowS = this.#nowS();
      const former = this.#stored(key);
      if (former === undefined || nowS >= former.expiresAtS) return false;
      if (former.state !== DedupState.RESERVED || !namesSameMessage(entryOf(entry, former), entry)) {
        return false;
      }
      this.#put(key, former, entry, DedupState.COMMITTED, nowS);
      return true;
    });
  }

  async read(tenantId: TenantId, senderId: UserId, clientMessageId: string): Promise<DedupEntry | undefined> {
    const key = dedupKey(tenantId, senderId, clientMessageId);
    const row = this.#environment.read(() => this.#stored(key));
    if (row === undefined || this.#nowS() >= row.expiresAtS) return undefined;
    return entryOf({ tenantId, senderId, clientMessageId }, row);
  }

  #stored(key: Buffer): DedupRow | undefined {
    const stored = this.#environment.dedup.get(key);
    return stored && decodeDedup(stored);
  }

  #put(key: Buffer, former: DedupRow | undefined, entry: DedupEntry, state: number, nowS: number): void {
    const { messageId, seq, createdAtMs } = entry;
    const expiresAtS = expiryOf(DEDUP_TTL_SECONDS, nowS);
    // Inside a transaction a put is done when it returns.
    void this.#environment.dedup.put(key, encodeDedup({ messageId, seq, state, createdAtMs, expiresAtS }));
    moveSideExpiry(this.#environment, SideTable.DEDUP, key, former?.expiresAtS ?? NEVER, expiresAtS);
    sweepSide(this.#environment, nowS, SWEEP_ROWS_PER_WRITE);
  }

  #nowS(): number {
    return Math.floor(this.#clock.epochMs() / 1000);
  }
}

type DedupKey = Pick<DedupEntry, 'tenantId' | 'senderId' | 'clientMessageId'>;

function keyOf({ tenantId, senderId, clientMessageId }: DedupKey): Buffer {
  return dedupKey(tenantId, senderId, clientMessageId);
}

function entryOf({ tenantId, senderId, clientMessageId }: DedupKey, row: DedupRow): DedupEntry {
  const { messageId, seq, state, createdAtMs } = row;
  return { tenantId, senderId, clientMessageId, messageId, seq, state, createdAtMs };
}
