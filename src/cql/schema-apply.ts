/**
 * Makes the keyspace and its tables, and records W (D11). Repeatable: what exists is left as it is, whether or not it
 * is as required (verifySchema tells). A keyspace that records another W is refused before anything is made in it.
 */
import { recordBucketWidth } from './bucket-width.js';
import { liveTables } from './live-schema.js';
import { type SchemaOptions, schemaStatements } from './schema-statements.js';
import type { CqlSession } from './session.js';

/** Applies the schema; BUCKET_WIDTH when the keyspace was made with another one. */
export async function applySchema(session: CqlSession, options: SchemaOptions): Promise<void> {
  const { keyspace } = options;
  const statements = schemaStatements(options);
  const tables = await liveTables(session, keyspace);
  // Compare before anything is made. An earlier run may have stopped between tables and record: then this one records.
  if (tables.some((table) => table.name === 'mailjoin_meta')) {
    await recordBucketWidth(session, keyspace);
  }
  for (const cql of statements) {
    await session.execute({ cql, table: keyspace, shape: 'ddl', access: 'ddl' }, []);
  }
  await recordBucketWidth(session, keyspace);
}
