/**
 * The statements on message_record and message_reaction_summary, built once per keyspace. Columns are always named,
 * never `*`: a column that somebody adds must not shift or widen a result (B38).
 */
import { quotedKeyspace } from './options.js';
import type { CqlStatement, StatementShape } from './statement.js';

const RECORD = 'message_record';
const SUMMARY = 'message_reaction_summary';
const PARTITION = 'tenant_id = ? AND conversation_id = ? AND seq_bucket = ?';
const RANGE = `${PARTITION} AND conversation_seq >= ? AND conversation_seq <= ?`;
/** One marker for the whole list, so that lists of all lengths are one prepared statement. */
const IN = `${PARTITION} AND conversation_seq IN ?`;
const ROW = `${PARTITION} AND conversation_seq = ?`;

/** What an INSERT sets beside the primary key; rows.ts binds in this order. */
const INSERT_COLUMNS = [
  'message_id',
  'last_activity_id',
  'sender_id',
  'sender_device_id',
  'client_message_id',
  'message_type',
  'custom_type',
  'schema_version',
  'payload_or_ciphertext',
  'media_metadata',
  'reply_to_conversation_seq',
  'mention_targets',
  'state',
  'recall_event_conversation_seq',
  'edited_at_activity_id',
  'created_at',
  'retention_class',
  'dek_id',
];

// A row lives as long as the first of its writes to expire (D8): created_at tells of the insert, payload and state of
// an edit, state of a recall.
export const RECORD_SELECTION = `conversation_seq, ${INSERT_COLUMNS.join(', ')}, TTL(created_at) AS created_ttl, TTL(payload_or_ciphertext) AS payload_ttl, TTL(state) AS state_ttl`;
export const SUMMARY_SELECTION = 'conversation_seq, counts, summary_version, updated_at';

/** A write of a row that expires, and of one that does not: TTL 0 is never bound (D8). */
export interface WriteStatements {
  /** Bound: TTL, timestamp, then the values. */
  readonly expiring: CqlStatement;
  /** Bound: timestamp, then the values. */
  readonly lasting: CqlStatement;
}

/** The two statements of one visit, by the planner's shape (R4.4). */
type ReadStatements = Readonly<Record<'range' | 'covering' | 'in', CqlStatement>>;

export interface MessageStatements {
  readonly records: ReadStatements;
  readonly summaries: ReadStatements;
  readonly insertRecord: WriteStatements;
  readonly editRecord: WriteStatements;
  readonly recallRecord: WriteStatements;
  readonly putSummary: CqlStatement;
}

function reads(keyspace: string, table: string, selection: string): ReadStatements {
  const select = (where: string, shape: StatementShape): CqlStatement => ({
    cql: `SELECT ${selection} FROM ${keyspace}.${table} WHERE ${where}`,
    table,
    shape,
    access: 'read',
  });
  return { range: select(RANGE, 'range'), covering: select(RANGE, 'covering'), in: select(IN, 'in') };
}

function write(cql: string, shape: StatementShape, table: string): CqlStatement {
  return { cql, table, shape, access: 'write' };
}

function insertRecord(keyspace: string): WriteStatements {
  const columns = ['tenant_id', 'conversation_id', 'seq_bucket', 'conversation_seq', ...INSERT_COLUMNS];
  const insert = `INSERT INTO ${keyspace}.${RECORD} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  return {
    expiring: write(`${insert} USING TTL ? AND TIMESTAMP ?`, 'insert', RECORD),
    lasting: write(`${insert} USING TIMESTAMP ?`, 'insert', RECORD),
  };
}

function updateRecord(keyspace: string, assignments: string): WriteStatements {
  const update = `UPDATE ${keyspace}.${RECORD}`;
  const change = `SET ${assignments} WHERE ${ROW}`;
  return {
    expiring: write(`${update} USING TTL ? AND TIMESTAMP ? ${change}`, 'update', RECORD),
    lasting: write(`${update} USING TIMESTAMP ? ${change}`, 'update', RECORD),
  };
}

/** All statements on the two message tables of a keyspace. */
export function messageStatements(keyspaceName: string): MessageStatements {
  const keyspace = quotedKeyspace(keyspaceName);
  return {
    records: reads(keyspace, RECORD, RECORD_SELECTION),
    summaries: reads(keyspace, SUMMARY, SUMMARY_SELECTION),
    insertRecord: insertRecord(keyspace),
    // recall_event_conversation_seq is not touched: where it is set, the message stays RECALLED (D14).
    editRecord: updateRecord(
      keyspace,
      'payload_or_ciphertext = ?, dek_id = ?, state = ?, edited_at_activity_id = ?, last_activity_id = ?',
    ),
    recallRecord: updateRecord(
      keyspace,
      'state = ?, recall_event_conversation_seq = ?, last_activity_id = ?',
    ),
    // `counts + ?` sets the map's keys one by one, as `counts[?] = ?` does, but is one statement for any number of
    // keys; assigning the whole map would delete the old collection each time (D19).
    putSummary: write(
      `UPDATE ${keyspace}.${SUMMARY} USING TIMESTAMP ? SET counts = counts + ?, summary_version = ?, updated_at = ? WHERE ${ROW}`,
      'update',
      SUMMARY,
    ),
  };
}
