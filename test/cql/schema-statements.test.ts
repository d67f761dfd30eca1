/** The DDL as text, and what a replication setting may say. */
import { describe, expect, it } from 'vitest';
import { parseReplication, schemaStatements } from '../../src/cql/schema-statements.js';

const simple = { strategy: 'simple', factor: 1 } as const;

describe('replication settings', () => {
  it.each([
    '',
    '0',
    '-1',
    '1.5',
    '100',
    'dc1',
    'dc1:',
    ':3',
    'dc1:0',
    'dc1:3,',
    'dc1:3,dc1:3',
    "d'c:3",
    'a:1:2',
  ])('refuses %j', (text) => {
    expect(() => parseReplication(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('reads a factor, and factors by data centre', () => {
    expect(parseReplication('3')).toEqual({ strategy: 'simple', factor: 3 });
    expect(parseReplication('dc1:3,eu-west.2:2')).toEqual({
      strategy: 'network',
      factors: new Map([
        ['dc1', 3],
        ['eu-west.2', 2],
      ]),
    });
  });
});

describe('schema statements', () => {
  it.each(['', '1ks', 'k s', 'k"; DROP', 'x'.repeat(49)])('refuses the keyspace name %j', (keyspace) => {
    expect(() => schemaStatements({ keyspace, replication: simple })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });

  it('begins with the keyspace and its replication', () => {
    const network = parseReplication('dc1:3,dc2:2');
    expect(schemaStatements({ keyspace: 'chat', replication: network })[0]).toBe(
      `CREATE KEYSPACE IF NOT EXISTS "chat" WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3, 'dc2': 2}`,
    );
    expect(schemaStatements({ keyspace: 'chat', replication: simple })[0]).toContain(
      `{'class': 'SimpleStrategy', 'replication_factor': 1}`,
    );
  });

  it('R2 says a partition key, order, compaction and options as the table of R2 does', () => {
    const record = schemaStatements({ keyspace: 'chat', replication: simple }).find((cql) =>
      cql.includes('"chat".message_record '),
    );
    expect(record).toContain('PRIMARY KEY ((tenant_id, conversation_id, seq_bucket), conversation_seq)');
    expect(record).toContain('CLUSTERING ORDER BY (conversation_seq DESC)');
    expect(record).toContain("'compaction_window_size': '7', 'compaction_window_unit': 'DAYS'");
    expect(record).toContain('gc_grace_seconds = 86400');
    expect(record).toContain('default_time_to_live = 0');
    expect(record).toContain('dek_id frozen<tuple<text,text,int>>');
  });

  it('makes nothing that exists already: every statement can be repeated', () => {
    for (const cql of schemaStatements({ keyspace: 'chat', replication: simple })) {
      expect(cql).toMatch(/^CREATE (KEYSPACE|TABLE) IF NOT EXISTS /);
    }
  });
});
