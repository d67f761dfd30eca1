/**
 * mailjoin_meta: what the whole keyspace agrees on, by name. A value is recorded once and never changed: of two that
 * record at once, the first wins, and both learn what is recorded. Fails with STORE_*.
 */
import { MailjoinError } from '../domain/errors.js';
import { applied } from './conditional.js';
import { quotedKeyspace } from './options.js';
import type { CqlSession } from './session.js';
import type { CqlStatement } from './statement.js';

const TABLE = 'mailjoin_meta';

function select(keyspace: string): CqlStatement {
  const cql = `SELECT value FROM ${quotedKeyspace(keyspace)}.${TABLE} WHERE name = ?`;
  return { cql, table: TABLE, shape: 'select', access: 'read' };
}

function insert(keyspace: string): CqlStatement {
  const cql = `INSERT INTO ${quotedKeyspace(keyspace)}.${TABLE} (name, value) VALUES (?, ?) IF NOT EXISTS`;
  return { cql, table: TABLE, shape: 'insert', access: 'conditional' };
}

/** What is recorded under a name; undefined when nothing is. */
export async function recordedMeta(
  session: CqlSession,
  keyspace: string,
  name: string,
): Promise<string | undefined> {
  const page = await session.execute(select(keyspace), [name]);
  const value = page.rows[0]?.value;
  return typeof value === 'string' ? value : undefined;
}

/** Records a value unless there is one; resolves to the one that is recorded then. */
export async function recordMeta(
  session: CqlSession,
  keyspace: string,
  name: string,
  value: string,
): Promise<string> {
  const page = await session.execute(insert(keyspace), [name, value]);
  if (applied(page.rows)) return value;
  // The answer to a condition that did not hold is the row that is there.
  const recorded = page.rows[0]?.value;
  if (typeof recorded !== 'string')
    throw new MailjoinError('STORE_CORRUPT', `${TABLE} has ${name} without a value`);
  return recorded;
}
