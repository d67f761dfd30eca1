/**
 * conversation_head in the file: blind writes whose timestamp is the fence, reconciled cell by cell as on Cassandra
 * (D2). Fails with STORE_UNAVAILABLE or SEQ_RANGE.
 */
import { MailjoinError } from '../domain/errors.js';
import { claimOf, claimTimestamp, headTimestamp } from '../domain/head.js';
import {
  type ConversationId,
  conversationIdOf,
  formatHex,
  ID_BYTES,
  type TenantId,
  tenantIdOf,
} from '../domain/ids.js';
import { requireSeq } from '../domain/write-checks.js';
import type { ConversationHead, HeadListing, HeadStore, HeadWrite } from '../domain/write-ports.js';
import { type CellValue, merge, NEVER } from './cell.js';
import type { Environment } from './environment.js';
import { earliestColumns, fenceColumns, headColumns, readHeadRow } from './head-row.js';
import { decodeRow, encodeRow } from './row-codec.js';
import { conversationKey } from './row-key.js';

export class EmbeddedHeadStore implements HeadStore {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async writeHead(tenantId: TenantId, conversationId: ConversationId, write: HeadWrite): Promise<void> {
    requireSeq(write.latestSeq, 'latest_conversation_seq');
    await this.#merge(conversationKey(tenantId, conversationId), headColumns(write), headTimestamp(write));
  }

  async claimHead(tenantId: TenantId, conversationId: ConversationId, fencingEpoch: bigint): Promise<void> {
    const key = conversationKey(tenantId, conversationId);
    await this.#merge(key, fenceColumns(claimOf(fencingEpoch)), claimTimestamp(fencingEpoch));
  }

  async advanceEarliest(
    tenantId: TenantId,
    conversationId: ConversationId,
    earliestSeq: bigint,
  ): Promise<void> {
    requireSeq(earliestSeq, 'earliest_available_conversation_seq');
    await this.#merge(conversationKey(tenantId, conversationId), earliestColumns(earliestSeq), earliestSeq);
  }

  async readHead(tenantId: TenantId, conversationId: ConversationId): Promise<ConversationHead | undefined> {
    const key = conversationKey(tenantId, conversationId);
    const stored = this.#environment.read(() => this.#environment.heads.get(key));
    return stored && readHeadRow(decodeRow(stored));
  }

  /** A position is the key of the last head told, in hexadecimal; the order is the keys'. */
  async listHeads(from: string | undefined, limit: number): Promise<HeadListing> {
    const start = from === undefined ? Buffer.alloc(0) : leastAbove(Buffer.from(from, 'hex'));
    const page = this.#environment.read(() => [
      ...this.#environment.heads.getRange({ start, limit: limit + 1 }),
    ]);
    const told = page.slice(0, limit);
    const last = told.at(-1);
    return {
      heads: told.map(({ key, value }) => ({ ...conversationOf(key), head: readHeadRow(decodeRow(value)) })),
      next: page.length > limit && last !== undefined ? formatHex(last.key) : undefined,
    };
  }

  async #merge(
    key: Buffer,
    columns: readonly (readonly [number, CellValue])[],
    timestamp: bigint,
  ): Promise<void> {
    const { heads } = this.#environment;
    await this.#environment.write(() => {
      const stored = heads.get(key);
      // Inside a transaction a put is done when it returns.
      void heads.put(key, encodeRow(merge(stored && decodeRow(stored), columns, timestamp, NEVER)));
    });
  }
}

/** The least key above this one. */
function leastAbove(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.alloc(1)]);
}

function conversationOf(key: Buffer): { tenantId: TenantId; conversationId: ConversationId } {
  const tenantId = tenantIdOf(key.subarray(0, ID_BYTES));
  const conversationId = conversationIdOf(key.subarray(ID_BYTES));
  if (tenantId === undefined || conversationId === undefined) {
    throw new MailjoinError('STORE_CORRUPT', 'the key of a head has another length');
  }
  return { tenantId, conversationId };
}
