/**
 * client_dedup (R2.3): every write is a lightweight transaction, and every read is serial, so that a reader never sees
 * less than what was decided (D24). COMMITTED is conditional too and sets every column again: so all of a row ends
 * with the same TTL (D7).
 *
 * An answer that got lost is not guessed: the row is read back serially and told by its ids (D16). Where it shows
 * nothing, the call fails as it did, and its repeat is harmless: whichever attempt comes through, the other meets its
 * ids. Fails with STORE_UNAVAILABLE, STORE_REFUSED, STORE_CORRUPT or SEQ_RANGE. Repeats no write.
 */
import { namesSameMessage, reservationAnswer } from '../domain/dedup.js';
import { MailjoinError } from '../domain/errors.js';
import { messageIdOf, type TenantId, type UserId } from '../domain/ids.js';
import { requireSeq } from '../domain/write-checks.js';
import { type DedupEntry, DedupState, type DedupStore } from '../domain/write-ports.js';
import { applied, mayBeApplied } from './conditional.js';
import { quotedKeyspace } from './options.js';
import { bound } from './rows.js';
import type { CqlRow, CqlSession, CqlValue } from './session.js';
import type { CqlStatement, StatementShape } from './statement.js';

const TABLE = 'client_dedup';
const KEY = 'tenant_id = ? AND sender_id = ? AND client_message_id = ?';

type DedupKey = Pick<DedupEntry, 'tenantId' | 'senderId' | 'clientMessageId'>;

function statementsOf(keyspaceName: string) {
  const table = `${quotedKeyspace(keyspaceName)}.${TABLE}`;
  const statement = (cql: string, shape: StatementShape, access: CqlStatement['access']): CqlStatement => ({
    cql,
    table: TABLE,
    shape,
    access,
  });
  return {
    reserve: statement(
      `INSERT INTO ${table} (tenant_id, sender_id, client_message_id, message_id, conversation_seq, state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`,
      'insert',
      'conditional',
    ),
    // The message_id beside D7's condition: nobody completes, and so overwrites, a reservation that is not its own.
    complete: statement(
      `UPDATE ${table} SET message_id = ?, conversation_seq = ?, state = ?, created_at = ? WHERE ${KEY} IF state = ? AND message_id = ?`,
      'update',
      'conditional',
    ),
    read: statement(
      `SELECT message_id, conversation_seq, state, created_at FROM ${table} WHERE ${KEY}`,
      'select',
      'serial',
    ),
  };
}

export class CqlDedupStore implements DedupStore {
  readonly #session: CqlSession;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(session: CqlSession, keyspace: string) {
    this.#session = session;
    this.#statements = statementsOf(keyspace);
  }

  async reserve(entry: DedupEntry): Promise<DedupEntry | undefined> {
    requireSeq(entry.seq, 'conversation_seq');
    const values = [...boundKey(entry), ...boundIds(entry), DedupState.RESERVED, entry.createdAtMs];
    const rows = await this.#conditional(this.#statements.reserve, values);
    if (rows !== undefined) {
      if (applied(rows)) return undefined;
      const found = rows[0] && entryOf(entry, rows[0]);
      // D7: what a write of single columns leaves behind. It cannot be replayed, and nothing may be written over it.
      if (found === undefined)
        throw new MailjoinError('STORE_CORRUPT', 'a client_dedup row has no message_id');
      return reservationAnswer(found, entry);
    }
    const found = await this.#read(entry);
    if (found === undefined) throw lostAnswer();
    return reservationAnswer(found, entry);
  }

  async complete(entry: DedupEntry): Promise<boolean> {
    requireSeq(entry.seq, 'conversation_seq');
    const rows = await this.#conditional(this.#statements.complete, [
      ...boundIds(entry),
      DedupState.COMMITTED,
      entry.createdAtMs,
      ...boundKey(entry),
      DedupState.RESERVED,
      bound(entry.messageId),
    ]);
    if (rows !== undefined) return applied(rows);
    const found = await this.#read(entry);
    if (found === undefined || !namesSameMessage(found, entry)) return false;
    // Still RESERVED: not done, as far as was decided. COMMITTED: by this call, or by a retry for the same message.
    if (found.state === DedupState.RESERVED) throw lostAnswer();
    return true;
  }

  read(tenantId: TenantId, senderId: UserId, clientMessageId: string): Promise<DedupEntry | undefined> {
    return this.#read({ tenantId, senderId, clientMessageId });
  }

  /** The rows of the answer; undefined when there was none and the statement may have been applied. */
  async #conditional(
    statement: CqlStatement,
    values: readonly CqlValue[],
  ): Promise<readonly CqlRow[] | undefined> {
    try {
      return (await this.#session.execute(statement, values)).rows;
    } catch (error) {
      if (mayBeApplied(error)) return undefined;
      throw error;
    }
  }

  async #read(key: DedupKey): Promise<DedupEntry | undefined> {
    const { rows } = await this.#session.execute(this.#statements.read, boundKey(key));
    return rows[0] && entryOf(key, rows[0]);
  }
}

function lostAnswer(): MailjoinError {
  return new MailjoinError('STORE_UNAVAILABLE', 'a conditional write was not answered, nor decided since');
}

function boundKey({ tenantId, senderId, clientMessageId }: DedupKey): CqlValue[] {
  return [bound(tenantId), bound(senderId), clientMessageId];
}

function boundIds({ messageId, seq }: DedupEntry): CqlValue[] {
  return [bound(messageId), seq];
}

/** The columns that both a SELECT and a refused INSERT give, as the driver decodes their types. */
interface DedupRow {
  readonly message_id: Buffer | null;
  readonly conversation_seq: bigint | null;
  readonly state: number | null;
  readonly created_at: bigint | null;
}

/** An incomplete row counts as absent (B12, D7). */
function entryOf({ tenantId, senderId, clientMessageId }: DedupKey, cqlRow: CqlRow): DedupEntry | undefined {
  const row = cqlRow as unknown as DedupRow; // the statements and the schema fix the types
  if (row.message_id === null || row.conversation_seq === null || row.state === null) return undefined;
  const messageId = messageIdOf(row.message_id);
  if (messageId === undefined || row.created_at === null) return undefined;
  return {
    tenantId,
    senderId,
    clientMessageId,
    messageId,
    seq: row.conversation_seq,
    state: row.state,
    createdAtMs: row.created_at,
  };
}
