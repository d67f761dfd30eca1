// The fault proxy on a real Cassandra and a real driver: a tool whose own faults would be taken for mailjoin's.
import { Client, errors, policies } from 'cassandra-driver';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWithCassandra } from './cassandra.js';
import { ServerError } from './cql-frames.js';
import { FaultProxy, running } from './fault-proxy.js';

const LOCAL = 'SELECT cluster_name FROM system.local';
const PEERS = 'SELECT peer FROM system.peers_v2';
const READ_TIMEOUT_MS = 1_000;
const execute = { prepare: true, isIdempotent: true } as const;
const executeOnce = { ...execute, retry: new policies.retry.FallthroughRetryPolicy() };

describeWithCassandra('the fault proxy', ({ contactPoint, localDataCenter }) => {
  let proxy: FaultProxy;
  let client: Client;

  beforeEach(async () => {
    proxy = await FaultProxy.open(contactPoint);
    client = new Client({
      contactPoints: [proxy.contactPoint],
      localDataCenter,
      socketOptions: { readTimeout: READ_TIMEOUT_MS },
    });
    await client.connect();
  });

  afterEach(async () => {
    await client.shutdown();
    proxy.close();
  });

  it('passes everything on while there is no fault', async () => {
    const watched = proxy.watch(running('cluster_name'));
    const answer = await client.execute(LOCAL, [], execute);
    expect(answer.rowLength).toBe(1);
    expect(watched.count).toBe(1);
    expect(proxy.openConnections).toBeGreaterThan(0);
  });

  it('counts each run of a statement, not its preparation, and knows prepared and plain ones by their text', async () => {
    const local = proxy.watch(running('cluster_name'));
    const peers = proxy.watch(running('peers_v2'));
    for (let run = 0; run < 3; run++) await client.execute(LOCAL, [], execute);
    await client.execute(PEERS);
    expect([local.count, peers.count]).toEqual([3, 1]);
  });

  it('holds a reply until it is released, while others overtake it', async () => {
    const held = proxy.hold(running('cluster_name'));
    let isBack = false;
    const waiting = client.execute(LOCAL, [], execute).then((answer) => {
      isBack = true;
      return answer;
    });
    await held.answered(1);
    await client.execute(PEERS, [], execute);
    expect(isBack).toBe(false);
    held.release();
    expect((await waiting).rowLength).toBe(1);
  });

  it('B39: a reply held beyond its timeout is not given to the next request', async () => {
    const held = proxy.hold(running('cluster_name'), 1);
    const late = client.execute(LOCAL, [], executeOnce).catch((error: unknown) => error);
    await held.answered(1);
    expect(await late).toBeInstanceOf(errors.OperationTimedOutError);
    const next = client.execute(PEERS, [], execute);
    held.release();
    expect((await next).columns.map(({ name }) => name)).toEqual(['peer']);
  });

  it('answers with a server error as often as it is told to, and the server never sees those', async () => {
    await client.execute(LOCAL, [], executeOnce);
    const failed = proxy.fail(running('cluster_name'), ServerError.READ_TIMEOUT, 1);
    const passed = proxy.watch(running('cluster_name'));
    const error: unknown = await client.execute(LOCAL, [], executeOnce).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(errors.ResponseError);
    expect((error as errors.ResponseError).code).toBe(0x1200);
    expect([failed.count, passed.count]).toEqual([1, 0]);
    await client.execute(LOCAL, [], executeOnce);
    expect([failed.count, passed.count]).toEqual([1, 1]);
  });

  it('swallows a request without a trace', async () => {
    await client.execute(LOCAL, [], execute);
    const swallowed = proxy.swallow(running('cluster_name'));
    await expect(client.execute(LOCAL, [], execute)).rejects.toThrow();
    expect(swallowed.count).toBeGreaterThan(0);
    proxy.clear();
    await expect(client.execute(LOCAL, [], execute)).resolves.toBeDefined();
  });

  it('cuts connections in the middle of a request, and takes new ones', async () => {
    const held = proxy.hold(running('cluster_name'));
    const outcome = client.execute(LOCAL, [], executeOnce).catch((error: unknown) => error);
    await held.answered(1);
    expect(proxy.cut()).toBeGreaterThan(0);
    expect(await outcome).toBeInstanceOf(Error);
    proxy.clear();
    const fresh = new Client({ contactPoints: [proxy.contactPoint], localDataCenter });
    await expect(fresh.execute(LOCAL)).resolves.toBeDefined();
    await fresh.shutdown();
  });

  it('freezes: no byte passes, and what was under way goes on after the thaw', async () => {
    await client.execute(LOCAL, [], execute);
    proxy.freeze();
    const watched = proxy.watch(running('cluster_name'));
    const patient = client.execute(LOCAL, [], { ...execute, readTimeout: 0 });
    // Another request's timeout is the proof that time passed and nothing came through.
    await expect(client.execute(PEERS, [], executeOnce)).rejects.toThrow();
    expect(watched.count).toBe(0);
    proxy.thaw();
    expect((await patient).rowLength).toBe(1);
  });

  it('refuses new connections and takes them again on the same port', async () => {
    const before = proxy.contactPoint;
    proxy.refuse();
    const refused = new Client({ contactPoints: [proxy.contactPoint], localDataCenter });
    await expect(refused.connect()).rejects.toBeInstanceOf(errors.NoHostAvailableError);
    await refused.shutdown();
    await proxy.accept();
    expect(proxy.contactPoint).toBe(before);
    const fresh = new Client({ contactPoints: [proxy.contactPoint], localDataCenter });
    await expect(fresh.execute(LOCAL)).resolves.toBeDefined();
    await fresh.shutdown();
  });

  it('delays replies', async () => {
    await client.execute(LOCAL, [], execute);
    proxy.delayReplies(300);
    const startedAt = process.hrtime.bigint();
    await client.execute(LOCAL, [], execute);
    expect(Number(process.hrtime.bigint() - startedAt) / 1e6).toBeGreaterThanOrEqual(290);
  });
});
