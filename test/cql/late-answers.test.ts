/** A store that answers late, or not at all: what is sent, what is told, and who gets the late answer (B39, B52). */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { CqlStore } from '../../src/cql/message-store.js';
import type { Coordinates, MessageRecord } from '../../src/domain/message.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { fullRecord, life, plain, readOne, somewhere, until } from '../stores/fixtures.js';
import { type KeyspaceUnderTest, makeKeyspace } from './cassandra-under-test.js';
import { EXECUTE, FaultyProxy, readTimeoutBody } from './faulty-proxy.js';

const TIMEOUT_MS = 1_500;

describeWithCassandra('a store that answers late', (server) => {
  let live: KeyspaceUnderTest;
  let proxy: FaultyProxy;
  let store: CqlStore;
  const rows: [Coordinates, MessageRecord][] = [];

  beforeAll(async () => {
    live = await makeKeyspace(server);
    const { messages } = await live.open();
    for (let i = 0; i < 20; i++) {
      const where = somewhere(1n);
      const record = fullRecord(1n);
      await messages.insertRecord(where, record, life());
      rows.push([where, record]);
    }
  });
  afterAll(async () => {
    await live?.drop();
  });

  beforeEach(async () => {
    const [host = '', port = ''] = server.contactPoint.split(':');
    proxy = new FaultyProxy(host, Number(port));
    await proxy.listen();
    const stores = await live.open({ contactPoints: [`127.0.0.1:${proxy.port}`], timeoutMs: TIMEOUT_MS });
    store = stores.messages;
    // Prepares both statements, on a server that may be busy: only what comes after is timed.
    await until(() =>
      readOne(store, somewhere(1n)).then(
        () => true,
        () => false,
      ),
    );
  });
  afterEach(async () => {
    await proxy.close();
  });

  const row = (at: number) => rows[at] as [Coordinates, MessageRecord];

  it('is STORE_UNAVAILABLE at the timeout', async () => {
    proxy.stall();
    await expect(readOne(store, row(0)[0])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    proxy.release();
  });

  it('B52 a read that failed is not repeated by the driver, not even where its own policy would', async () => {
    const before = proxy.sent(EXECUTE);
    proxy.failExecutes(readTimeoutBody());
    await expect(readOne(store, row(0)[0])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(proxy.sent(EXECUTE) - before).toBe(2);
  });

  it('B39 an answer that comes after its read gave up is given to nobody else', async () => {
    proxy.stall();
    const late = rows.slice(0, 10).map(([where]) => readOne(store, where));
    for (const outcome of await Promise.allSettled(late)) expect(outcome.status).toBe('rejected');
    const next = rows.slice(10).map(([where]) => readOne(store, where));
    proxy.release();
    const got = await Promise.all(next);
    expect(got.map(plain)).toEqual(rows.slice(10).map(([, record]) => plain(record)));
    for (const [where, record] of rows) expect(plain(await readOne(store, where))).toEqual(plain(record));
  });

  it('broken connections are STORE_UNAVAILABLE for the reads on them, and are made anew', async () => {
    proxy.stall();
    const before = proxy.sent(EXECUTE);
    const reading = readOne(store, row(0)[0]);
    const failed = expect(reading).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await until(async () => proxy.sent(EXECUTE) - before === 2);
    proxy.breakConnections();
    proxy.release();
    await failed;
    await until(() =>
      readOne(store, row(0)[0]).then(
        (got) => got !== undefined,
        () => false,
      ),
    );
    expect(plain(await readOne(store, row(1)[0]))).toEqual(plain(row(1)[1]));
  });
});
