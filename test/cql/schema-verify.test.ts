/** The comparison with R2 on schemas as Cassandra and ScyllaDB print them, without a server. */
import { describe, expect, it } from 'vitest';
import { verifySchema } from '../../src/cql/schema-verify.js';
import type { CqlRow } from '../../src/cql/session.js';
import { TABLES } from '../../src/cql/tables.js';
import { FakeSession, page } from './fake-session.js';

type Change = (row: Record<string, unknown>) => Record<string, unknown> | undefined;
const same: Change = (row) => row;

/** system_schema.tables as Cassandra prints the schema of tables.ts. */
function tableRows(change: Change): CqlRow[] {
  return TABLES.flatMap((table) => {
    const { compaction } = table;
    const strategy = compaction.kind === 'LCS' ? 'Leveled' : 'TimeWindow';
    const options = new Map([['class', `org.apache.cassandra.db.compaction.${strategy}CompactionStrategy`]]);
    if (compaction.kind === 'TWCS') {
      options.set('compaction_window_size', String(compaction.size));
      options.set('compaction_window_unit', compaction.unit);
    }
    const row = change({
      table_name: table.name,
      compaction: options,
      gc_grace_seconds: table.gcGraceSeconds ?? 864_000,
      default_time_to_live: table.defaultTimeToLive,
    });
    return row === undefined ? [] : [row];
  });
}

/** system_schema.columns as Cassandra prints them: spaces inside types. */
function columnRows(change: Change): CqlRow[] {
  return TABLES.flatMap((table) => {
    const column = (name: string, type: string, kind: string, position: number, order: string) => ({
      table_name: table.name,
      column_name: name,
      kind,
      position,
      clustering_order: order,
      type: type.replaceAll(',', ', '),
    });
    return [
      ...table.partitionKey.map(([name, type], at) => column(name, type, 'partition_key', at, 'none')),
      ...table.clustering.map(([name, type, order], at) =>
        column(name, type, 'clustering', at, order.toLowerCase()),
      ),
      ...table.columns.map(([name, type]) => column(name, type, 'regular', -1, 'none')),
    ].flatMap((row): CqlRow[] => {
      const changed = change(row);
      return changed === undefined ? [] : [changed];
    });
  });
}

function verify(changeTable: Change, changeColumn: Change = same) {
  const session = new FakeSession(({ statement }) => {
    if (statement.table === 'system_schema.tables') return page(tableRows(changeTable));
    if (statement.table === 'system_schema.columns') return page(columnRows(changeColumn));
    return page([{ value: '4096' }]);
  });
  return verifySchema(session, 'ks');
}

/** Changes the row of one table. */
const ofTable =
  (name: string, change: Record<string, unknown>): Change =>
  (row) =>
    row.table_name === name ? { ...row, ...change } : row;

const twcs = (size: string | undefined, unit: string | undefined, name = 'TimeWindowCompactionStrategy') =>
  new Map([
    ['class', name],
    ...(size === undefined ? [] : ([['compaction_window_size', size]] as const)),
    ...(unit === undefined ? [] : ([['compaction_window_unit', unit]] as const)),
  ]);

describe('a live schema that differs from R2', () => {
  it.each(TABLES.map((table) => table.name))('%s missing is one difference', async (name) => {
    const findings = await verify((row) => (row.table_name === name ? undefined : row));
    expect(findings.map(({ severity, table, item }) => [severity, table, item])).toEqual([
      ['difference', name, 'table'],
    ]);
  });

  it.each(
    TABLES.flatMap((table) =>
      [...table.partitionKey, ...table.clustering, ...table.columns].map(([name]) => [table.name, name]),
    ),
  )('%s without %s is a difference that names it', async (table, name) => {
    const findings = await verify(same, (row) =>
      row.table_name === table && row.column_name === name ? undefined : row,
    );
    expect(findings).toEqual([expect.objectContaining({ severity: 'difference', table, item: name })]);
  });

  it('S-5 default_time_to_live is compared on every table', async () => {
    const findings = await verify((row) => ({ ...row, default_time_to_live: 1 }));
    expect(findings.map(({ table }) => table)).toEqual(TABLES.map((table) => table.name));
    expect(new Set(findings.map(({ item }) => item))).toEqual(new Set(['default_time_to_live']));
  });

  it('gc_grace_seconds is compared where R2 names one', async () => {
    const findings = await verify((row) => ({ ...row, gc_grace_seconds: 1 }));
    expect(findings.map(({ table, expected }) => [table, expected])).toEqual([
      ['message_record', '86400'],
      ['client_dedup', '3600'],
    ]);
  });

  it.each([
    ['6', 'HOURS'],
    ['7', 'HOURS'],
    ['7', 'FORTNIGHTS'],
    ['x', 'DAYS'],
    [undefined, 'DAYS'],
    ['7', undefined],
  ])('D1 a window of %s %s is a difference', async (size, unit) => {
    const findings = await verify(ofTable('client_dedup', { compaction: twcs(size, unit) }));
    expect(findings).toEqual([
      expect.objectContaining({ table: 'client_dedup', item: 'compaction.window', expected: '1 HOURS' }),
    ]);
  });

  it('one more clustering column is a difference: it makes another table', async () => {
    const findings = await verify(same, same);
    expect(findings).toEqual([]);
    const session = new FakeSession(({ statement }) => {
      if (statement.table === 'system_schema.tables') return page(tableRows(same));
      if (statement.table !== 'system_schema.columns') return page([{ value: '4096' }]);
      const extra = { table_name: 'message_index', column_name: 'shard', kind: 'clustering', position: 0 };
      return page([...columnRows(same), { ...extra, clustering_order: 'asc', type: 'int' }]);
    });
    expect(await verifySchema(session, 'ks')).toEqual([
      expect.objectContaining({ severity: 'difference', table: 'message_index', item: 'shard' }),
    ]);
  });
});

describe('the same schema, printed otherwise', () => {
  it('has no difference: class names without a package, as ScyllaDB may print them', async () => {
    const findings = await verify((row) => {
      const options = new Map(row.compaction as Map<string, string>); // tableRows makes it one
      options.set('class', String(options.get('class')).replace(/.*\./, ''));
      return { ...row, compaction: options };
    });
    expect(findings).toEqual([]);
  });

  it.each([
    ['168', 'HOURS'],
    ['10080', 'MINUTES'],
    ['7', 'days'],
  ])('has no difference: a window of %s %s is one of 7 DAYS', async (size, unit) => {
    expect(await verify(ofTable('message_record', { compaction: twcs(size, unit) }))).toEqual([]);
  });

  it('has no difference: types without spaces, varchar for text, a tuple without frozen, orders in capitals', async () => {
    const findings = await verify(same, (row) => ({
      ...row,
      clustering_order: String(row.clustering_order).toUpperCase(),
      type: String(row.type)
        .replaceAll(' ', '')
        .replaceAll('text', 'varchar')
        .replace(/^frozen<(.*)>$/, '$1'),
    }));
    expect(findings).toEqual([]);
  });
});
