/**
 * Compares a live keyspace with R2, column by column and option by option (S-5, D11). A difference is something that
 * breaks a rule of R2; a note is something that R2 does not forbid, as a column that somebody added (B38).
 * Tolerant of how Cassandra and ScyllaDB print the same thing: class names with or without package, windows in
 * other units, spaces in types, `frozen` around tuples (which are always frozen), `varchar` for `text`.
 */
import { BUCKET_WIDTH } from '../domain/seq.js';
import { recordedBucketWidth } from './bucket-width.js';
import { type LiveColumn, type LiveTable, liveColumns, liveTables } from './live-schema.js';
import type { CqlSession } from './session.js';
import { type Compaction, TABLES, type TableDefinition } from './tables.js';

export interface SchemaFinding {
  readonly severity: 'difference' | 'note';
  readonly table: string;
  /** The column or option; 'table' when the whole table is missing. */
  readonly item: string;
  readonly expected: string;
  readonly found: string;
}

const ABSENT = 'absent';

function difference(table: string, item: string, expected: string, found: string): SchemaFinding {
  return { severity: 'difference', table, item, expected, found };
}

function normalType(type: string): string {
  return type
    .replaceAll(/\s/g, '')
    .replaceAll('varchar', 'text')
    .replaceAll(/frozen<(tuple<[^<>]*>)>/g, '$1');
}

const WINDOW_MINUTES: ReadonlyMap<string, number> = new Map([
  ['MINUTES', 1],
  ['HOURS', 60],
  ['DAYS', 1_440],
]);
/** What TWCS does when the options do not say. */
const WINDOW_DEFAULT = { unit: 'DAYS', size: '1' };

function className(name: string | undefined): string {
  return name === undefined ? ABSENT : name.slice(name.lastIndexOf('.') + 1);
}

function compareCompaction(table: string, expected: Compaction, live: LiveTable): SchemaFinding[] {
  const wanted = expected.kind === 'LCS' ? 'LeveledCompactionStrategy' : 'TimeWindowCompactionStrategy';
  const found = className(live.compaction.get('class'));
  if (found !== wanted) return [difference(table, 'compaction.class', wanted, found)];
  if (expected.kind === 'LCS') return [];
  const unit = live.compaction.get('compaction_window_unit') ?? WINDOW_DEFAULT.unit;
  const size = live.compaction.get('compaction_window_size') ?? WINDOW_DEFAULT.size;
  const minutes = Number(size) * (WINDOW_MINUTES.get(unit.toUpperCase()) ?? Number.NaN);
  if (minutes === expected.size * (WINDOW_MINUTES.get(expected.unit) ?? Number.NaN)) return [];
  return [difference(table, 'compaction.window', `${expected.size} ${expected.unit}`, `${size} ${unit}`)];
}

function compareOptions(table: TableDefinition, live: LiveTable): SchemaFinding[] {
  const findings = compareCompaction(table.name, table.compaction, live);
  if (table.gcGraceSeconds !== undefined && live.gcGraceSeconds !== table.gcGraceSeconds) {
    findings.push(
      difference(table.name, 'gc_grace_seconds', String(table.gcGraceSeconds), String(live.gcGraceSeconds)),
    );
  }
  if (live.defaultTimeToLive !== table.defaultTimeToLive) {
    findings.push(
      difference(
        table.name,
        'default_time_to_live',
        String(table.defaultTimeToLive),
        String(live.defaultTimeToLive),
      ),
    );
  }
  return findings;
}

interface ExpectedColumn {
  readonly name: string;
  /** Kind, position and order in one text: what makes a key a key. */
  readonly role: string;
  readonly type: string;
}

function expectedColumns(table: TableDefinition): ExpectedColumn[] {
  return [
    ...table.partitionKey.map(([name, type], at) => ({ name, role: `partition_key ${at}`, type })),
    ...table.clustering.map(([name, type, order], at) => ({
      name,
      role: `clustering ${at} ${order.toLowerCase()}`,
      type,
    })),
    ...table.columns.map(([name, type]) => ({ name, role: 'regular', type })),
  ];
}

function roleOf(column: LiveColumn): string {
  if (column.kind === 'partition_key') return `partition_key ${column.position}`;
  if (column.kind === 'clustering') return `clustering ${column.position} ${column.clusteringOrder}`;
  return column.kind;
}

function compareColumns(table: TableDefinition, live: readonly LiveColumn[]): SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  const unseen = new Map(live.map((column) => [column.name, column]));
  for (const { name, role, type } of expectedColumns(table)) {
    const column = unseen.get(name);
    unseen.delete(name);
    if (column === undefined) {
      findings.push(difference(table.name, name, `${role}, ${type}`, ABSENT));
      continue;
    }
    if (roleOf(column) !== role) findings.push(difference(table.name, name, role, roleOf(column)));
    if (normalType(column.type) !== normalType(type)) {
      findings.push(difference(table.name, name, type, column.type));
    }
  }
  for (const column of unseen.values()) {
    // Named columns are read, so one more regular column disturbs nobody (B38); one more key makes another table.
    const severity = column.kind === 'regular' || column.kind === 'static' ? 'note' : 'difference';
    const found = `${roleOf(column)}, ${column.type}`;
    findings.push({ severity, table: table.name, item: column.name, expected: ABSENT, found });
  }
  return findings;
}

/** Every difference and note between the live keyspace and R2; no difference = the keyspace is as required. */
export async function verifySchema(session: CqlSession, keyspace: string): Promise<readonly SchemaFinding[]> {
  const [tables, columns] = await Promise.all([
    liveTables(session, keyspace),
    liveColumns(session, keyspace),
  ]);
  const byName = new Map(tables.map((table) => [table.name, table]));
  const findings: SchemaFinding[] = [];
  for (const table of TABLES) {
    const live = byName.get(table.name);
    if (live === undefined) {
      findings.push(difference(table.name, 'table', 'present', ABSENT));
      continue;
    }
    findings.push(
      ...compareColumns(
        table,
        columns.filter((column) => column.table === table.name),
      ),
      ...compareOptions(table, live),
    );
  }
  if (byName.has('mailjoin_meta')) {
    const recorded = await recordedBucketWidth(session, keyspace);
    if (recorded !== String(BUCKET_WIDTH)) {
      findings.push(difference('mailjoin_meta', 'bucket_width', String(BUCKET_WIDTH), recorded ?? ABSENT));
    }
  }
  return findings;
}
