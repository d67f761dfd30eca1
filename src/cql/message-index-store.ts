/**
 * message_index: where a message_id lies, for moderation, administration and fault-finding only. Every look-up is a
 * statement that the session's observer is told of: their rate beside the messages' is a metric (R2.2). Rows have
 * their message's remaining TTL (D21). Fails with STORE_UNAVAILABLE, STORE_REFUSED, STORE_CORRUPT, SEQ_RANGE or TTL_RANGE.
 */
import type { types } from 'cassandra-driver';
import { MailjoinError } from '../domain/errors.js';
import { conversationIdOf, type MessageId, type TenantId } from '../domain/ids.js';
import type { WriteLife } from '../domain/ports.js';
import { bucketOf, isSeq } from '../domain/seq.js';
import { requireLife, requireSeq } from '../domain/write-checks.js';
import type { IndexEntry, MessageIndexStore } from '../domain/write-ports.js';
import type { WriteStatements } from './message-statements.js';
import { quotedKeyspace } from './options.js';
import { bound } from './rows.js';
import type { CqlSession } from './session.js';
import type { CqlStatement } from './statement.js';

const TABLE = 'message_index';

interface IndexStatements {
  readonly put: WriteStatements;
  readonly lookup: CqlStatement;
}

function statementsOf(keyspaceName: string): IndexStatements {
  const table = `${quotedKeyspace(keyspaceName)}.${TABLE}`;
  const insert = (using: string): CqlStatement => ({
    cql: `INSERT INTO ${table} (tenant_id, message_id, conversation_id, conversation_seq, seq_bucket) VALUES (?, ?, ?, ?, ?) USING ${using}`,
    table: TABLE,
    shape: 'insert',
    access: 'write',
  });
  return {
    put: { expiring: insert('TTL ? AND TIMESTAMP ?'), lasting: insert('TIMESTAMP ?') },
    lookup: {
      cql: `SELECT conversation_id, conversation_seq FROM ${table} WHERE tenant_id = ? AND message_id = ?`,
      table: TABLE,
      shape: 'select',
      access: 'read',
    },
  };
}

/** What a look-up selects, as the driver decodes the types; null where the row expires just now (B12). */
interface IndexRow {
  readonly conversation_id: types.Uuid | null;
  readonly conversation_seq: bigint | null;
}

export class CqlMessageIndexStore implements MessageIndexStore {
  readonly #session: CqlSession;
  readonly #statements: IndexStatements;

  constructor(session: CqlSession, keyspace: string) {
    this.#session = session;
    this.#statements = statementsOf(keyspace);
  }

  async putIndex(
    tenantId: TenantId,
    messageId: MessageId,
    entry: IndexEntry,
    life: WriteLife,
  ): Promise<void> {
    requireSeq(entry.seq, 'conversation_seq');
    requireLife(life);
    const { conversationId, seq } = entry;
    const values = [bound(tenantId), bound(messageId), bound(conversationId), seq, bucketOf(seq)];
    const { expiring, lasting } = this.#statements.put;
    if (life.ttlSeconds === undefined) {
      await this.#session.execute(lasting, [...values, life.timestampMicros]);
    } else {
      await this.#session.execute(expiring, [...values, life.ttlSeconds, life.timestampMicros]);
    }
  }

  async lookup(tenantId: TenantId, messageId: MessageId): Promise<IndexEntry | undefined> {
    const values = [bound(tenantId), bound(messageId)];
    const { rows } = await this.#session.execute(this.#statements.lookup, values);
    const row = rows[0] as unknown as IndexRow | undefined; // the statement and the schema fix the types
    if (!row || row.conversation_id === null || row.conversation_seq === null) return undefined;
    if (!isSeq(row.conversation_seq)) {
      throw new MailjoinError('STORE_CORRUPT', 'message_index names a seq with bit 63 set (R1.1)');
    }
    const conversationId = conversationIdOf(row.conversation_id.getBuffer());
    return conversationId && { conversationId, seq: row.conversation_seq };
  }
}
