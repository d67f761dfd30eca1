/**
 * message_reaction: one row per user and message, plain INSERTs whose timestamp is their createdAtMs (R5.5, D19).
 * Fails with STORE_UNAVAILABLE, STORE_REFUSED or SEQ_RANGE. Retries nothing.
 */

import { strict as assert } from 'node:assert';
import type { types } from 'cassandra-driver';
import type { UserId } from '../domain/ids.js';
import { REACTOR_READ_ROWS } from '../domain/limits.js';
import type { Coordinates } from '../domain/message.js';
import { reactionTimestamp } from '../domain/reaction.js';
import { requireSeq } from '../domain/write-checks.js';
import type { Reaction, ReactionStore, ReactionsPage, ReactionsPart } from '../domain/write-ports.js';
import { quotedKeyspace } from './options.js';
import { bound, userOf } from './rows.js';
import { type CqlRow, type CqlSession, type CqlValue, eachRow } from './session.js';
import type { CqlStatement } from './statement.js';

const TABLE = 'message_reaction';
const PARTITION = 'tenant_id = ? AND conversation_id = ? AND conversation_seq = ?';

function statementsOf(keyspaceName: string) {
  const table = `${quotedKeyspace(keyspaceName)}.${TABLE}`;
  const select = (where: string): CqlStatement => ({
    cql: `SELECT user_id, reaction_key, created_at FROM ${table} WHERE ${where}`,
    table: TABLE,
    shape: 'select',
    access: 'read',
  });
  const put: CqlStatement = {
    cql: `INSERT INTO ${table} (tenant_id, conversation_id, conversation_seq, user_id, reaction_key, created_at) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
    table: TABLE,
    shape: 'insert',
    access: 'write',
  };
  return {
    put,
    ofMessage: select(PARTITION),
    firstPart: select(`${PARTITION} LIMIT ?`),
    laterPart: select(`${PARTITION} AND user_id > ? LIMIT ?`),
    ofUser: select(`${PARTITION} AND user_id = ?`),
  };
}

export class CqlReactionStore implements ReactionStore {
  readonly #session: CqlSession;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(session: CqlSession, keyspace: string) {
    this.#session = session;
    this.#statements = statementsOf(keyspace);
  }

  async putReaction(where: Coordinates, reaction: Reaction): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    await this.#session.execute(this.#statements.put, [
      ...partitionOf(where),
      bound(reaction.userId),
      reaction.reactionKey,
      reaction.createdAtMs,
      reactionTimestamp(reaction),
    ]);
  }

  async *readReactions(where: Coordinates): AsyncIterable<Reaction> {
    requireSeq(where.seq, 'conversation_seq');
    for await (const row of eachRow(this.#session, this.#statements.ofMessage, partitionOf(where))) {
      const reaction = reactionOf(row);
      if (reaction !== undefined) yield reaction;
    }
  }

  async readReactionsPage(where: Coordinates, { after, limit }: ReactionsPart): Promise<ReactionsPage> {
    requireSeq(where.seq, 'conversation_seq');
    assert(limit >= 1 && limit <= REACTOR_READ_ROWS, 'a bounded read');
    const { firstPart, laterPart } = this.#statements;
    const statement = after === undefined ? firstPart : laterPart;
    // One row more than is answered tells whether any lies behind.
    const bounds = after === undefined ? [limit + 1] : [bound(after), limit + 1];
    const reactions: Reaction[] = [];
    let rowCount = 0;
    let last: UserId | undefined;
    for await (const row of eachRow(this.#session, statement, [...partitionOf(where), ...bounds])) {
      if (++rowCount > limit) return { reactions, next: last };
      last = userOf((row as unknown as ReactionRow).user_id);
      const reaction = reactionOf(row);
      if (reaction !== undefined) reactions.push(reaction);
    }
    return { reactions, next: undefined };
  }

  async readReaction(where: Coordinates, userId: UserId): Promise<Reaction | undefined> {
    requireSeq(where.seq, 'conversation_seq');
    const values = [...partitionOf(where), bound(userId)];
    const { rows } = await this.#session.execute(this.#statements.ofUser, values);
    return rows[0] && reactionOf(rows[0]);
  }
}

function partitionOf({ tenantId, conversationId, seq }: Coordinates): CqlValue[] {
  return [bound(tenantId), bound(conversationId), seq];
}

/** What both reads select, as the driver decodes the types. */
interface ReactionRow {
  readonly user_id: types.Uuid;
  readonly reaction_key: string | null;
  readonly created_at: bigint | null;
}

/** A row without its key or its time is of a foreign writer and counts as absent. */
function reactionOf(cqlRow: CqlRow): Reaction | undefined {
  const row = cqlRow as unknown as ReactionRow; // the statements and the schema fix the types
  const userId = userOf(row.user_id);
  if (userId === undefined || row.reaction_key === null || row.created_at === null) return undefined;
  return { userId, reactionKey: row.reaction_key, createdAtMs: row.created_at };
}
