/** A keyspace of its own per test file on the shared Cassandra: files run side by side on one server. */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type CqlOptions, type CqlStores, openCqlStores } from '../../src/cql/open.js';
import type { CqlConnectOptions } from '../../src/cql/options.js';
import { applySchema } from '../../src/cql/schema-apply.js';
import { type CqlSession, connectCql } from '../../src/cql/session.js';
import type { CqlStatement } from '../../src/cql/statement.js';
import type { Clock } from '../../src/domain/ports.js';
import type { ServerUnderTest } from '../services/describe-with-service.js';

/** Generous beside the shipped timeout: the server shares two cores with the tests. */
const TIMEOUT_MS = 20_000;

export const clock: Clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

export function connectOptions({ contactPoint, localDataCenter }: ServerUnderTest): CqlConnectOptions {
  return { contactPoints: [contactPoint], localDataCenter, timeoutMs: TIMEOUT_MS };
}

export interface KeyspaceUnderTest {
  readonly keyspace: string;
  /** For statements that the stores do not have. */
  readonly session: CqlSession;
  open(options?: Partial<CqlOptions>): Promise<CqlStores>;
  /** Executes a statement of the test's own; `ks` in the text is the keyspace. */
  run(cql: string, values?: readonly (bigint | number | string | Buffer)[]): Promise<void>;
  drop(): Promise<void>;
}

export function keyspaceName(): string {
  return `t_${randomBytes(6).toString('hex')}`;
}

/** A fresh keyspace with the schema applied. */
export async function makeKeyspace(server: ServerUnderTest): Promise<KeyspaceUnderTest> {
  const keyspace = keyspaceName();
  const session = await connectCql(connectOptions(server));
  await applySchema(session, { keyspace, replication: { strategy: 'simple', factor: 1 } });
  const opened: CqlStores[] = [];
  return {
    keyspace,
    session,
    async open(options) {
      const stores = await openCqlStores({ ...connectOptions(server), keyspace, clock, ...options });
      opened.push(stores);
      return stores;
    },
    async run(cql, values = []) {
      const access: CqlStatement['access'] = values.length === 0 ? 'ddl' : 'write';
      await session.execute(
        { cql: cql.replaceAll('ks.', `${keyspace}.`), table: 'test', shape: 'ddl', access },
        values,
      );
    },
    async drop() {
      await session.execute(
        { cql: `DROP KEYSPACE ${keyspace}`, table: keyspace, shape: 'ddl', access: 'ddl' },
        [],
      );
      for (const stores of opened) await stores.messages.close();
      await session.close();
    },
  };
}
