/** `mailjoin schema print | apply | verify`: the tables of R2 in a Cassandra or ScyllaDB keyspace. */
import { applySchema } from '../cql/schema-apply.js';
import { parseReplication, schemaStatements } from '../cql/schema-statements.js';
import { type SchemaFinding, verifySchema } from '../cql/schema-verify.js';
import { type CqlSession, connectCql } from '../cql/session.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import type { Settings } from './settings.js';
import { cqlConnectOptions } from './stores.js';
import { textTable } from './text-table.js';

const NO_OPERANDS = { operands: '', operandCountMin: 0, operandCountMax: 0 } as const;

export const schemaCommands: readonly Command[] = [
  {
    ...NO_OPERANDS,
    name: 'schema print',
    summary: 'Print the CQL of the keyspace and its tables.',
    settings: ['config', 'store', 'keyspace', 'replication'],
    options: [],
    needsStore: 'cql',
    run: async ({ settings, print }) => {
      for (const statement of schemaStatements(schemaOptions(settings))) print(`${statement};\n`);
      return ExitCode.OK;
    },
  },
  {
    ...NO_OPERANDS,
    name: 'schema apply',
    summary: 'Make the keyspace and its tables where they are missing.',
    settings: ['config', 'logLevel', 'store', ...CQL_SETTINGS, 'replication', 'bucketWidth'],
    options: [],
    needsStore: 'cql',
    run: ({ settings, print }) =>
      withSession(settings, async (session) => {
        await applySchema(session, schemaOptions(settings));
        print(
          `keyspace ${settings.keyspace} has its tables; bucket width ${settings.bucketWidth} is recorded`,
        );
        return ExitCode.OK;
      }),
  },
  {
    ...NO_OPERANDS,
    name: 'schema verify',
    summary: 'Compare a live keyspace with what is required; exit 1 when it differs.',
    settings: ['config', 'logLevel', 'store', ...CQL_SETTINGS, 'bucketWidth'],
    options: [JSON_OPTION],
    needsStore: 'cql',
    run: (invocation) =>
      withSession(invocation.settings, async (session) =>
        report(invocation, await verifySchema(session, invocation.settings.keyspace)),
      ),
  },
];

function schemaOptions(settings: Settings) {
  return { keyspace: settings.keyspace, replication: parseReplication(settings.replication) };
}

async function withSession(
  settings: Settings,
  use: (session: CqlSession) => Promise<ExitCode>,
): Promise<ExitCode> {
  const session = await connectCql(cqlConnectOptions(settings));
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

function report({ settings, options, print }: Invocation, findings: readonly SchemaFinding[]): ExitCode {
  const differences = findings.filter((finding) => finding.severity === 'difference').length;
  if (options.has(JSON_OPTION.flag)) {
    print(JSON.stringify({ keyspace: settings.keyspace, differences, findings }));
  } else if (findings.length > 0) {
    print(
      textTable(
        ['severity', 'table', 'item', 'expected', 'found'],
        findings.map(({ severity, table, item, expected, found }) => [
          severity,
          table,
          item,
          expected,
          found,
        ]),
      ),
    );
  }
  if (!options.has(JSON_OPTION.flag)) {
    print(
      differences === 0
        ? `keyspace ${settings.keyspace} is as required`
        : `keyspace ${settings.keyspace} has ${differences} differences`,
    );
  }
  return differences === 0 ? ExitCode.OK : ExitCode.FAILED;
}
