/** Conditional writes whose answer got lost, on a real Cassandra: what was decided is read back, never guessed (D16). */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { CqlWriteStore } from '../../src/cql/write-store.js';
import { type DedupEntry, DedupState } from '../../src/domain/write-ports.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { ServerError } from '../services/cql-frames.js';
import { FaultProxy, running } from '../services/fault-proxy.js';
import { message, until } from '../stores/fixtures.js';
import { type Place, place, plainValue, reservation } from '../stores/write-contract.js';
import { type KeyspaceUnderTest, makeKeyspace } from './cassandra-under-test.js';

const TIMEOUT_MS = 1_500;
const UNAVAILABLE = { code: 'STORE_UNAVAILABLE' } as const;

describeWithCassandra('conditional writes without an answer', (server) => {
  let live: KeyspaceUnderTest;
  let proxy: FaultProxy;
  /** Behind the proxy. */
  let store: CqlWriteStore;
  /** Beside it. */
  let direct: CqlWriteStore;

  const inserting = () => running(`INSERT INTO "${live.keyspace}".client_dedup`);
  const completing = () => running(`UPDATE "${live.keyspace}".client_dedup`);
  const reading = () => running(`FROM "${live.keyspace}".client_dedup`);
  const moving = () => running(`UPDATE "${live.keyspace}".mailjoin_sequence`);
  const stored = ({ tenantId, senderId, clientMessageId }: DedupEntry) =>
    direct.read(tenantId, senderId, clientMessageId);
  const window = (from: CqlWriteStore, { tenantId, conversationId }: Place) =>
    from.reserveWindow(tenantId, conversationId, 10, 1n);

  beforeAll(async () => {
    live = await makeKeyspace(server);
    direct = (await live.open()).writes;
    proxy = await FaultProxy.open(server.contactPoint);
    const contactPoints = [proxy.contactPoint];
    store = (await live.open({ contactPoints, timeoutMs: TIMEOUT_MS })).writes;
  });
  beforeEach(async () => {
    // Prepares every statement, and shows that the store works, on a server that may be busy.
    await until(async () => {
      const entry = reservation();
      const where = place();
      try {
        await store.reserve(entry);
        await store.read(entry.tenantId, entry.senderId, entry.clientMessageId);
        await window(store, where);
        await window(store, where);
        return await store.complete(entry);
      } catch {
        return false;
      }
    });
  });
  afterEach(() => proxy.clear());
  afterAll(async () => {
    await live?.drop();
    proxy?.close();
  });

  it('D16 a reservation that went through while its answer was lost is told by its ids as its own', async () => {
    const entry = reservation();
    const held = proxy.hold(inserting(), 1);
    expect(await store.reserve(entry)).toBeUndefined();
    expect(held.count).toBe(1);
    expect(plainValue(await stored(entry))).toEqual(plainValue(entry));
  });

  it("D16 a Paxos timeout is not taken for another's row: own ids in the row are its own reservation", async () => {
    const entry = reservation();
    await direct.reserve(entry);
    const failed = proxy.fail(inserting(), ServerError.CAS_WRITE_TIMEOUT, 1);
    expect(await store.reserve(entry)).toBeUndefined();
    expect(failed.count).toBe(1);
  });

  it("D16 a Paxos timeout where another's row stands gives that row", async () => {
    const other = reservation();
    await direct.reserve(other);
    proxy.fail(inserting(), ServerError.CAS_WRITE_TIMEOUT, 1);
    const answer = await store.reserve({ ...other, messageId: message(), seq: 9n });
    expect(plainValue(answer)).toEqual(plainValue(other));
  });

  it('D16 a Paxos timeout of a write that nobody decided is STORE_UNAVAILABLE, and its repeat reserves', async () => {
    const entry = reservation();
    proxy.fail(inserting(), ServerError.CAS_WRITE_TIMEOUT, 1);
    await expect(store.reserve(entry)).rejects.toMatchObject(UNAVAILABLE);
    expect(await stored(entry)).toBeUndefined();
    expect(await store.reserve(entry)).toBeUndefined();
  });

  it('a reservation that the server never began is STORE_UNAVAILABLE without a further read', async () => {
    const reads = proxy.watch(reading());
    proxy.fail(inserting(), ServerError.UNAVAILABLE, 1);
    await expect(store.reserve(reservation())).rejects.toMatchObject(UNAVAILABLE);
    expect(reads.count).toBe(0);
  });

  it('a reservation whose reading back fails as well is STORE_UNAVAILABLE', async () => {
    proxy.fail(inserting(), ServerError.CAS_WRITE_TIMEOUT, 1);
    const reads = proxy.fail(reading(), ServerError.READ_TIMEOUT, 1);
    await expect(store.reserve(reservation())).rejects.toMatchObject(UNAVAILABLE);
    expect(reads.count).toBe(1);
  });

  it('D7 a completion that went through while its answer was lost is told as done', async () => {
    const entry = reservation();
    await store.reserve(entry);
    const held = proxy.hold(completing(), 1);
    expect(await store.complete(entry)).toBe(true);
    expect(held.count).toBe(1);
    expect((await stored(entry))?.state).toBe(DedupState.COMMITTED);
  });

  it('D7 a completion that nobody decided is STORE_UNAVAILABLE, stays RESERVED, and its repeat completes', async () => {
    const entry = reservation();
    await store.reserve(entry);
    proxy.fail(completing(), ServerError.CAS_WRITE_TIMEOUT, 1);
    await expect(store.complete(entry)).rejects.toMatchObject(UNAVAILABLE);
    expect((await stored(entry))?.state).toBe(DedupState.RESERVED);
    expect(await store.complete(entry)).toBe(true);
  });

  it("D7 a completion without an answer where another's row stands is false, and changes nothing", async () => {
    const other = reservation();
    await direct.reserve(other);
    proxy.fail(completing(), ServerError.CAS_WRITE_TIMEOUT, 1);
    expect(await store.complete({ ...other, messageId: message() })).toBe(false);
    expect(plainValue(await stored(other))).toEqual(plainValue(other));
  });

  it('B10 a window whose answer was lost is a hole: nobody is given it, then or later', async () => {
    const where = place();
    expect((await window(store, where)).first).toBe(1n);
    const held = proxy.hold(moving(), 1);
    await expect(window(store, where)).rejects.toMatchObject(UNAVAILABLE);
    expect(held.count).toBe(1);
    // The server had applied 11..20.
    expect((await window(direct, where)).first).toBe(21n);
    held.release();
    expect((await window(store, where)).first).toBe(31n);
  });

  it('B10 a window that was never reserved is left to the next one', async () => {
    const where = place();
    await window(store, where);
    proxy.swallow(moving(), 1);
    await expect(window(store, where)).rejects.toMatchObject(UNAVAILABLE);
    expect((await window(store, where)).first).toBe(11n);
  });
});
