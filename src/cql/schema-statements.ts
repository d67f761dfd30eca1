/**
 * The DDL of the keyspace, as text: pure, and the same text for Cassandra and ScyllaDB. `IF NOT EXISTS` throughout,
 * so that applying it again changes nothing.
 */
import { MailjoinError } from '../domain/errors.js';
import { quotedKeyspace } from './options.js';
import { type Compaction, TABLES, type TableDefinition } from './tables.js';

/** How many copies: one number for a single-data-centre cluster, or a number for each data centre. */
export type Replication =
  | { readonly strategy: 'simple'; readonly factor: number }
  | { readonly strategy: 'network'; readonly factors: ReadonlyMap<string, number> };

export interface SchemaOptions {
  readonly keyspace: string;
  readonly replication: Replication;
}

const FACTOR = /^[1-9][0-9]?$/;
const DATA_CENTER = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

/** "3" → SimpleStrategy; "dc1:3,dc2:2" → NetworkTopologyStrategy; anything else is CONFIG_INVALID. */
export function parseReplication(text: string): Replication {
  if (FACTOR.test(text)) return { strategy: 'simple', factor: Number(text) };
  const factors = new Map<string, number>();
  for (const part of text.split(',')) {
    const [dataCenter = '', factor = '', ...rest] = part.split(':');
    if (rest.length > 0 || !DATA_CENTER.test(dataCenter) || !FACTOR.test(factor) || factors.has(dataCenter)) {
      throw new MailjoinError('CONFIG_INVALID', 'replication is neither a factor ("3") nor "dc1:3,dc2:3"');
    }
    factors.set(dataCenter, Number(factor));
  }
  return { strategy: 'network', factors };
}

function replicationMap(replication: Replication): string {
  if (replication.strategy === 'simple') {
    return `{'class': 'SimpleStrategy', 'replication_factor': ${replication.factor}}`;
  }
  const factors = [...replication.factors].map(([dataCenter, factor]) => `, '${dataCenter}': ${factor}`);
  return `{'class': 'NetworkTopologyStrategy'${factors.join('')}}`;
}

function compactionMap(compaction: Compaction): string {
  if (compaction.kind === 'LCS') return "{'class': 'LeveledCompactionStrategy'}";
  const { size, unit } = compaction;
  return `{'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': '${size}', 'compaction_window_unit': '${unit}'}`;
}

function createTable(keyspace: string, table: TableDefinition): string {
  const columns = [...table.partitionKey, ...table.clustering, ...table.columns].map(
    ([name, type]) => `  ${name} ${type},\n`,
  );
  const partition = `(${table.partitionKey.map(([name]) => name).join(', ')})`;
  const key = [partition, ...table.clustering.map(([name]) => name)].join(', ');
  const options = [
    ...(table.clustering.length === 0
      ? []
      : [
          `CLUSTERING ORDER BY (${table.clustering.map(([name, , order]) => `${name} ${order}`).join(', ')})`,
        ]),
    `compaction = ${compactionMap(table.compaction)}`,
    ...(table.gcGraceSeconds === undefined ? [] : [`gc_grace_seconds = ${table.gcGraceSeconds}`]),
    `default_time_to_live = ${table.defaultTimeToLive}`,
  ];
  return (
    `CREATE TABLE IF NOT EXISTS ${keyspace}.${table.name} (\n${columns.join('')}  PRIMARY KEY (${key})\n)` +
    ` WITH ${options.join('\n  AND ')}`
  );
}

/** The statements that make the keyspace and its tables, in their order, without a final semicolon. */
export function schemaStatements(options: SchemaOptions): readonly string[] {
  const keyspace = quotedKeyspace(options.keyspace);
  return [
    `CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = ${replicationMap(options.replication)}`,
    ...TABLES.map((table) => createTable(keyspace, table)),
  ];
}
