/**
 * conversation_head: blind writes, no lightweight transaction. Each carries its fence as its timestamp, so that
 * last-write-wins is the fence (D2); E is written alone, with its own value as timestamp, so that it never moves back
 * (R3.5). Nothing is written as null (D18). Fails with STORE_UNAVAILABLE, STORE_REFUSED or SEQ_RANGE. Retries nothing.
 */
import { strict as assert } from 'node:assert';
import type { types } from 'cassandra-driver';
import {
  claimOf,
  claimTimestamp,
  headTimestamp,
  previewOf,
  senderOf,
  storedPreview,
  storedSender,
} from '../domain/head.js';
import {
  activityIdOf,
  type ConversationId,
  conversationIdOf,
  formatHex,
  messageIdOf,
  type TenantId,
  tenantIdOf,
} from '../domain/ids.js';
import { requireSeq } from '../domain/write-checks.js';
import type { ConversationHead, HeadListing, HeadStore, HeadWrite } from '../domain/write-ports.js';
import { quotedKeyspace } from './options.js';
import { bound, userOf } from './rows.js';
import { type CqlRow, type CqlSession, eachRow } from './session.js';
import type { CqlStatement, StatementShape } from './statement.js';

const TABLE = 'conversation_head';
const KEY = 'tenant_id = ? AND conversation_id = ?';
const TOKEN = 'token(tenant_id, conversation_id)';
const COLUMNS = [
  'latest_conversation_seq',
  'earliest_available_conversation_seq',
  'last_message_id',
  'last_activity_id',
  'last_sender_id',
  'preview_or_placeholder',
  'member_count',
  'updated_at',
  'fencing_epoch',
  'head_version',
].join(', ');

function statementsOf(keyspaceName: string) {
  const table = `${quotedKeyspace(keyspaceName)}.${TABLE}`;
  const statement = (cql: string, shape: StatementShape): CqlStatement => ({
    cql,
    table: TABLE,
    shape,
    access: shape === 'update' ? 'write' : 'read',
  });
  const update = (assignments: string): CqlStatement =>
    statement(`UPDATE ${table} USING TIMESTAMP ? SET ${assignments} WHERE ${KEY}`, 'update');
  const list = `SELECT tenant_id, conversation_id, ${TOKEN} AS head_token, ${COLUMNS} FROM ${table}`;
  return {
    writeHead: update(
      'latest_conversation_seq = ?, last_message_id = ?, last_activity_id = ?, last_sender_id = ?, updated_at = ?, preview_or_placeholder = ?, fencing_epoch = ?, head_version = ?',
    ),
    claimHead: update('fencing_epoch = ?, head_version = ?'),
    advanceEarliest: update('earliest_available_conversation_seq = ?'),
    read: statement(`SELECT ${COLUMNS} FROM ${table} WHERE ${KEY}`, 'select'),
    list: statement(list, 'select'),
    listFrom: statement(`${list} WHERE ${TOKEN} >= ?`, 'select'),
  };
}

export class CqlHeadStore implements HeadStore {
  readonly #session: CqlSession;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(session: CqlSession, keyspace: string) {
    this.#session = session;
    this.#statements = statementsOf(keyspace);
  }

  async writeHead(tenantId: TenantId, conversationId: ConversationId, write: HeadWrite): Promise<void> {
    requireSeq(write.latestSeq, 'latest_conversation_seq');
    await this.#session.execute(this.#statements.writeHead, [
      headTimestamp(write),
      write.latestSeq,
      bound(write.lastMessageId),
      bound(write.lastActivityId),
      bound(storedSender(write.lastSenderId)),
      write.updatedAtMs,
      bound(storedPreview(write.preview)),
      write.fencingEpoch,
      write.headVersion,
      bound(tenantId),
      bound(conversationId),
    ]);
  }

  async claimHead(tenantId: TenantId, conversationId: ConversationId, fencingEpoch: bigint): Promise<void> {
    await this.#session.execute(this.#statements.claimHead, [
      claimTimestamp(fencingEpoch),
      fencingEpoch,
      claimOf(fencingEpoch).headVersion,
      bound(tenantId),
      bound(conversationId),
    ]);
  }

  async advanceEarliest(
    tenantId: TenantId,
    conversationId: ConversationId,
    earliestSeq: bigint,
  ): Promise<void> {
    requireSeq(earliestSeq, 'earliest_available_conversation_seq');
    await this.#session.execute(this.#statements.advanceEarliest, [
      earliestSeq,
      earliestSeq,
      bound(tenantId),
      bound(conversationId),
    ]);
  }

  async readHead(tenantId: TenantId, conversationId: ConversationId): Promise<ConversationHead | undefined> {
    const values = [bound(tenantId), bound(conversationId)];
    const { rows } = await this.#session.execute(this.#statements.read, values);
    return rows[0] && headOf(rows[0]);
  }

  /** The store's order is that of the partitions' tokens, and of their keys' bytes where tokens are equal. */
  async listHeads(from: string | undefined, limit: number): Promise<HeadListing> {
    assert(Number.isSafeInteger(limit) && limit > 0, 'a listing has at least one head');
    const after = from === undefined ? undefined : parsePosition(from);
    const rows =
      after === undefined
        ? eachRow(this.#session, this.#statements.list, [])
        : eachRow(this.#session, this.#statements.listFrom, [after.token]);
    const heads: HeadListing['heads'][number][] = [];
    let last: Position | undefined;
    for await (const row of rows) {
      const place = placeOf(row);
      if (after !== undefined && place.token === after.token && place.key <= after.key) continue;
      if (heads.length === limit) return { heads, next: last && positionText(last) };
      const { tenantId, conversationId } = place;
      heads.push({ tenantId, conversationId, head: headOf(row) });
      last = place;
    }
    return { heads, next: undefined };
  }
}

/** Where a listing stands: behind this partition. */
interface Position {
  readonly token: bigint;
  /** The key's bytes in hexadecimal, which order as the bytes do. */
  readonly key: string;
}

const POSITION = /^(-?\d{1,19})\.([0-9a-f]{64})$/;

function positionText({ token, key }: Position): string {
  return `${token}.${key}`;
}

function parsePosition(text: string): Position {
  const [, token, key] = POSITION.exec(text) ?? [];
  assert(token !== undefined && key !== undefined, 'a position was made by an earlier listing');
  return { token: BigInt(token), key };
}

/** What a listing selects beside COLUMNS, as the driver decodes the types. */
interface PlaceRow {
  readonly tenant_id: types.Uuid;
  readonly conversation_id: types.Uuid;
  readonly head_token: bigint;
}

function placeOf(cqlRow: CqlRow): Position & { tenantId: TenantId; conversationId: ConversationId } {
  const row = cqlRow as unknown as PlaceRow; // the statement and the schema fix the types
  const tenantId = tenantIdOf(row.tenant_id.getBuffer());
  const conversationId = conversationIdOf(row.conversation_id.getBuffer());
  assert(tenantId !== undefined && conversationId !== undefined, 'a uuid has 16 bytes');
  return {
    token: row.head_token,
    key: formatHex(tenantId) + formatHex(conversationId),
    tenantId,
    conversationId,
  };
}

/** COLUMNS as the driver decodes their types. */
interface HeadRow {
  readonly latest_conversation_seq: bigint | null;
  readonly earliest_available_conversation_seq: bigint | null;
  readonly last_message_id: Buffer | null;
  readonly last_activity_id: Buffer | null;
  readonly last_sender_id: types.Uuid | null;
  readonly preview_or_placeholder: Buffer | null;
  readonly member_count: number | null;
  readonly updated_at: bigint | null;
  readonly fencing_epoch: bigint | null;
  readonly head_version: bigint | null;
}

function headOf(cqlRow: CqlRow): ConversationHead {
  const row = cqlRow as unknown as HeadRow; // the statements and the schema fix the types
  return {
    latestSeq: row.latest_conversation_seq ?? undefined,
    earliestAvailableSeq: row.earliest_available_conversation_seq ?? undefined,
    lastMessageId: row.last_message_id === null ? undefined : messageIdOf(row.last_message_id),
    lastActivityId: row.last_activity_id === null ? undefined : activityIdOf(row.last_activity_id),
    lastSenderId: senderOf(userOf(row.last_sender_id)),
    preview: previewOf(row.preview_or_placeholder ?? undefined),
    memberCount: row.member_count ?? undefined,
    updatedAtMs: row.updated_at ?? undefined,
    fencingEpoch: row.fencing_epoch ?? undefined,
    headVersion: row.head_version ?? undefined,
  };
}
