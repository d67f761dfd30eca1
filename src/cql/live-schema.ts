/**
 * The schema of a live keyspace as the store's own tables tell it (system_schema), in plain values. Columns are
 * named, so that a store's additional ones do not matter (B38).
 */
import { type CqlSession, eachRow } from './session.js';
import type { CqlStatement } from './statement.js';

export interface LiveColumn {
  readonly table: string;
  readonly name: string;
  readonly kind: string;
  readonly position: number;
  /** 'asc', 'desc' or 'none'. */
  readonly clusteringOrder: string;
  readonly type: string;
}

export interface LiveTable {
  readonly name: string;
  readonly compaction: ReadonlyMap<string, string>;
  readonly gcGraceSeconds: number;
  readonly defaultTimeToLive: number;
}

function systemSelect(table: string, columns: string): CqlStatement {
  const cql = `SELECT ${columns} FROM system_schema.${table} WHERE keyspace_name = ?`;
  return { cql, table: `system_schema.${table}`, shape: 'select', access: 'read' };
}

const SELECT_TABLES = systemSelect(
  'tables',
  'table_name, compaction, gc_grace_seconds, default_time_to_live',
);
const SELECT_COLUMNS = systemSelect(
  'columns',
  'table_name, column_name, kind, position, clustering_order, type',
);

/** The tables of a keyspace; empty when it has none, or does not exist. */
export async function liveTables(session: CqlSession, keyspace: string): Promise<readonly LiveTable[]> {
  const tables: LiveTable[] = [];
  for await (const row of eachRow(session, SELECT_TABLES, [keyspace])) {
    tables.push({
      name: String(row.table_name),
      compaction: row.compaction instanceof Map ? row.compaction : new Map(),
      gcGraceSeconds: Number(row.gc_grace_seconds),
      defaultTimeToLive: Number(row.default_time_to_live),
    });
  }
  return tables;
}

/** The columns of all tables of a keyspace. */
export async function liveColumns(session: CqlSession, keyspace: string): Promise<readonly LiveColumn[]> {
  const columns: LiveColumn[] = [];
  for await (const row of eachRow(session, SELECT_COLUMNS, [keyspace])) {
    columns.push({
      table: String(row.table_name),
      name: String(row.column_name),
      kind: String(row.kind),
      position: Number(row.position),
      clusteringOrder: String(row.clustering_order).toLowerCase(),
      type: String(row.type),
    });
  }
  return columns;
}
