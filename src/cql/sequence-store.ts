/**
 * Windows of sequence numbers, reserved with lightweight transactions on a table of ours (R2.3 speaks of R2's tables).
 * The mark only ever grows and every write of it is conditional on the mark that was seen, so of two that reserve at
 * once one is refused and goes on from what it was told.
 *
 * A reservation whose answer got lost fails; whether or not it was applied, now or later, its window is handed out to
 * nobody else, and never twice: it is a hole. Fails with STORE_UNAVAILABLE, STORE_REFUSED, or SEQ_RANGE when the
 * numbers are used up.
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { WINDOW_ATTEMPTS_MAX } from '../domain/limits.js';
import { type ReservedWindows, windowAfter } from '../domain/seq-window.js';
import type { SequenceStore, SeqWindow } from '../domain/write-ports.js';
import { applied } from './conditional.js';
import { quotedKeyspace } from './options.js';
import { bound } from './rows.js';
import type { CqlRow, CqlSession, CqlValue } from './session.js';
import type { CqlStatement, StatementShape } from './statement.js';

const TABLE = 'mailjoin_sequence';
const KEY = 'tenant_id = ? AND conversation_id = ?';

function statementsOf(keyspaceName: string) {
  const table = `${quotedKeyspace(keyspaceName)}.${TABLE}`;
  const statement = (cql: string, shape: StatementShape, access: CqlStatement['access']): CqlStatement => ({
    cql,
    table: TABLE,
    shape,
    access,
  });
  return {
    // An ordinary read: should it be behind, the condition refuses the write and tells the mark.
    read: statement(`SELECT next_seq, reserved_at FROM ${table} WHERE ${KEY}`, 'select', 'read'),
    // No condition follows this one, so it must not be behind, whatever the consistency of reads.
    readLatest: statement(`SELECT next_seq, reserved_at FROM ${table} WHERE ${KEY}`, 'select', 'serial'),
    begin: statement(
      `INSERT INTO ${table} (tenant_id, conversation_id, next_seq, reserved_at) VALUES (?, ?, ?, ?) IF NOT EXISTS`,
      'insert',
      'conditional',
    ),
    // Both columns are conditions, so that a refusal tells both.
    move: statement(
      `UPDATE ${table} SET next_seq = ?, reserved_at = ? WHERE ${KEY} IF next_seq = ? AND reserved_at = ?`,
      'update',
      'conditional',
    ),
  };
}

export class CqlSequenceStore implements SequenceStore {
  readonly #session: CqlSession;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(session: CqlSession, keyspace: string) {
    this.#session = session;
    this.#statements = statementsOf(keyspace);
  }

  async reserveWindow(
    tenantId: TenantId,
    conversationId: ConversationId,
    count: number,
    nowEpochMs: bigint,
  ): Promise<SeqWindow> {
    const key = [bound(tenantId), bound(conversationId)];
    const seen = await this.#session.execute(this.#statements.read, key);
    let mark = markOf(seen.rows);
    for (let attempt = 0; attempt < WINDOW_ATTEMPTS_MAX; attempt++) {
      const next = windowAfter(mark, count, nowEpochMs);
      const rows = await this.#move(key, mark, next.mark);
      if (applied(rows)) return next.window;
      mark = markOf(rows);
    }
    throw new MailjoinError('STORE_UNAVAILABLE', 'others reserve the same conversation without pause');
  }

  async reservedEnd(tenantId: TenantId, conversationId: ConversationId): Promise<bigint | undefined> {
    const key = [bound(tenantId), bound(conversationId)];
    return markOf((await this.#session.execute(this.#statements.readLatest, key)).rows)?.nextSeq;
  }

  async #move(
    key: readonly CqlValue[],
    from: ReservedWindows | undefined,
    to: ReservedWindows,
  ): Promise<readonly CqlRow[]> {
    const target = [to.nextSeq, to.reservedAtMs];
    const page =
      from === undefined
        ? await this.#session.execute(this.#statements.begin, [...key, ...target])
        : await this.#session.execute(this.#statements.move, [
            ...target,
            ...key,
            from.nextSeq,
            from.reservedAtMs,
          ]);
    return page.rows;
  }
}

/** The columns that a SELECT and a refusal give, as the driver decodes their types. */
interface MarkRow {
  readonly next_seq: bigint | null;
  readonly reserved_at: bigint | null;
}

function markOf(rows: readonly CqlRow[]): ReservedWindows | undefined {
  const row = rows[0] as unknown as MarkRow | undefined; // the statements and the schema fix the types
  if (row === undefined || row.next_seq === null) return undefined;
  return { nextSeq: row.next_seq, reservedAtMs: row.reserved_at ?? 0n };
}
