// A real Cassandra that speaks nothing but TLS to clients. (One that asks for certificates too: test/cli/tls-live.)
import fs from 'node:fs';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openCqlStores } from '../../src/cql/open.js';
import type { CqlConnectOptions } from '../../src/cql/options.js';
import { applySchema } from '../../src/cql/schema-apply.js';
import { connectCql, eachRow } from '../../src/cql/session.js';
import type { Cassandra } from '../../src/provision/cassandra.js';
import type { TlsOptions } from '../../src/tls/tls-options.js';
import { describeWithCassandra } from '../services/cassandra.js';
import type { ServerUnderTest } from '../services/describe-with-service.js';
import { SERVER_NAME, startTlsCassandra, TlsFiles } from '../services/tls-services.js';
import { fullRecord, life, plain, readOne, somewhere } from '../stores/fixtures.js';
import { clock, connectOptions, keyspaceName } from './cassandra-under-test.js';

/** A refusal is told at once; this leaves room for a busy machine. */
const REFUSED_MS_MAX = 10_000;

describeWithCassandra('a Cassandra behind TLS', (plainServer) => {
  let files: TlsFiles;
  let cassandra: Cassandra;
  beforeAll(async () => {
    files = new TlsFiles();
    cassandra = await startTlsCassandra(files, { asks: false });
  }, 240_000);
  afterAll(async () => {
    await cassandra?.stop();
    files.remove();
  }, 60_000);

  const read = (file: string) => fs.readFileSync(file, 'utf8');
  const tls = (over?: Partial<TlsOptions>): TlsOptions => files.options(over);
  const reached = (
    options: TlsOptions | undefined,
    server: ServerUnderTest = cassandra,
  ): CqlConnectOptions => ({
    ...connectOptions(server),
    tls: options,
  });

  it('takes a schema, rows and reads, and says itself that every connection is TLS', async () => {
    const keyspace = keyspaceName();
    const session = await connectCql(reached(tls()));
    await applySchema(session, { keyspace, replication: { strategy: 'simple', factor: 1 } });
    const stores = await openCqlStores({ ...reached(tls()), keyspace, clock });
    onTestFinished(async () => {
      await stores.messages.close();
      await session.close();
    });
    const where = somewhere();
    const record = fullRecord(where.seq);
    await stores.messages.insertRecord(where, record, life());
    expect(plain(await readOne(stores.messages, where))).toEqual(plain(record));

    const cql = 'SELECT port, ssl_enabled, ssl_protocol FROM system_views.clients';
    const clients = [];
    const statement = { cql, table: 'clients', shape: 'select', access: 'read' } as const;
    for await (const client of eachRow(session, statement, [])) clients.push(client);
    // At least one of the session and one of the stores.
    expect(clients.length).toBeGreaterThanOrEqual(2);
    expect(new Set(clients.map((client) => client.ssl_enabled))).toEqual(new Set([true]));
    expect(new Set(clients.map((client) => client.ssl_protocol))).toEqual(new Set(['TLSv1.3']));
  }, 60_000);

  it('is known by its address, where a contact point is a name, or by the name that it is said to have', async () => {
    const byName = cassandra.contactPoint.replace('127.0.0.1', 'localhost');
    for (const options of [
      { ...reached(tls()), contactPoints: [byName] },
      reached(tls({ serverName: SERVER_NAME })),
      reached(tls({ ca: read(files.ca), verifiesHost: false })),
    ]) {
      await (await connectCql(options)).close();
    }
  });

  describe('is refused for good', () => {
    it.each<[string, () => TlsOptions | undefined, string]>([
      ['in plain text', () => undefined, 'turn tls on'],
      ['by whoever trusts another authority', () => tls({ ca: read(files.strangerCa) }), 'tlsCaFile'],
      ['by whoever trusts the authorities of Node', () => tls({ ca: undefined }), 'tlsCaFile'],
      ['under another name', () => tls({ serverName: 'other.test' }), 'tlsServerName'],
    ])('%s', async (_, options, advice) => {
      const startedAtMs = performance.now();
      const error: unknown = await connectCql(reached(options())).catch((reason: unknown) => reason);
      expect(performance.now() - startedAtMs).toBeLessThan(REFUSED_MS_MAX);
      expect(error).toMatchObject({
        code: 'TLS_FAILED',
        retryable: false,
        message: expect.stringContaining(advice),
      });
      expect(inspect(error, { depth: 20 })).toContain(cassandra.contactPoint);
    });
  });

  it('and one that speaks no TLS is not spoken to in it', async () => {
    await expect(connectCql(reached(tls(), plainServer))).rejects.toMatchObject({
      code: 'TLS_FAILED',
      message: expect.stringContaining('turn tls off'),
    });
  });
});
