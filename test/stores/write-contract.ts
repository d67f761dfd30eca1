/**
 * What both adapters of the write side's ports must do alike: run for the embedded store and for a real Cassandra.
 * Only the ports are used. Rows lie in random tenants, so one store serves all tests; real time passes only where a
 * TTL must.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import type { ConversationId, TenantId } from '../../src/domain/ids.js';
import type { MessageStore } from '../../src/domain/ports.js';
import {
  type DedupEntry,
  DedupState,
  type HeadWrite,
  type WriteStore,
} from '../../src/domain/write-ports.js';
import { activity, CREATED_AT_MS, conversation, message, tenant, user } from './fixtures.js';
import { dedupContract } from './write-contract-dedup.js';
import { headContract } from './write-contract-heads.js';
import { indexContract } from './write-contract-index.js';
import { reactionContract } from './write-contract-reactions.js';
import { rowContract } from './write-contract-rows.js';
import { sequenceContract } from './write-contract-sequences.js';

export interface OpenedWrites {
  readonly messages: MessageStore;
  readonly writes: WriteStore;
  /** Another client of the same data: a session or an opened file of its own. */
  readonly second: WriteStore;
  close(): Promise<void>;
}

export type Opened = () => OpenedWrites;

export function writeStoreContract(name: string, open: () => Promise<OpenedWrites>): void {
  describe(`write store contract: ${name}`, () => {
    let opened: OpenedWrites | undefined;
    const get: Opened = () => {
      if (opened === undefined) throw new Error('the store did not open');
      return opened;
    };
    beforeAll(async () => {
      opened = await open();
    }, 180_000);
    afterAll(async () => {
      await opened?.close();
    }, 60_000);

    dedupContract(get);
    headContract(get);
    sequenceContract(get);
    reactionContract(get);
    indexContract(get);
    rowContract(get);
  });
}

/** Seqs that no column holds in order (R1.1). */
export const SEQS_REFUSED = [2n ** 63n, 2n ** 63n + 1n, 2n ** 64n - 1n, -1n] as const;
/** S-2: accepted and in order. */
export const SEQS_ACCEPTED = [2n ** 62n - 1n, 2n ** 62n, 2n ** 62n + 1n, 2n ** 63n - 1n] as const;
export const SEQ_REFUSED = { code: 'SEQ_RANGE' } as const;

/** A reservation of a client_message_id that nobody else uses. */
export function reservation(over: Partial<DedupEntry> = {}): DedupEntry {
  return {
    tenantId: tenant(),
    senderId: user(),
    clientMessageId: `c-${randomBytes(6).toString('hex')}`,
    messageId: message(),
    seq: 5n,
    state: DedupState.RESERVED,
    createdAtMs: CREATED_AT_MS,
    ...over,
  };
}

export function headWrite(over: Partial<HeadWrite> = {}): HeadWrite {
  return {
    latestSeq: 1n,
    lastMessageId: message(),
    lastActivityId: activity(),
    lastSenderId: user(),
    preview: randomBytes(40),
    updatedAtMs: CREATED_AT_MS,
    fencingEpoch: 1n,
    headVersion: 1n,
    ...over,
  };
}

export interface Place {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
}

export function place(): Place {
  return { tenantId: tenant(), conversationId: conversation() };
}

/** Any value with its bytes as hexadecimal, so that Buffer and Uint8Array compare as equal. */
export function plainValue(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainValue(each)]));
  }
  return value;
}
