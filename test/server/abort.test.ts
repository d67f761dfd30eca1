import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RESPONSE_DRAIN_MS_MAX } from '../../src/domain/limits.js';
import {
  exchange,
  type Fixture,
  httpRequest,
  joinRequest,
  protobufRequest,
  RawClient,
  startServer,
  until,
} from './server-fixture.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await startServer();
});
afterEach(() => fixture.close());

const isIdle = () =>
  fixture.server.requestsInFlight === 0 &&
  fixture.admission.batches === 0 &&
  fixture.admission.requestBytes === 0 &&
  fixture.admission.responseBytes === 0;

async function stillServes(): Promise<void> {
  fixture.join.hold = false;
  fixture.join.bodyBytes = 5;
  const response = await exchange(fixture.socketPath, joinRequest(protobufRequest()));
  expect(response.status).toBe(200);
}

describe('B22: callers that go away', () => {
  it('B22: closed mid-body: nothing is joined, gauges return to 0', async () => {
    const whole = joinRequest(protobufRequest({ entries: 100 }));
    for (let round = 0; round < 200; round++) {
      const client = await RawClient.open(fixture.socketPath);
      await client.send(whole.subarray(0, 100 + round));
      client.destroy();
    }
    await until(isIdle, 'the gauges return to 0');
    expect(fixture.join.requests).toHaveLength(0);
    await stillServes();
  });

  it('B22: closed while the batch is joined: its outcome is dropped, gauges return to 0', async () => {
    fixture.join.hold = true;
    const clients: RawClient[] = [];
    for (let count = 0; count < 100; count++) {
      const client = await RawClient.open(fixture.socketPath);
      clients.push(client);
      await client.send(joinRequest(protobufRequest()));
    }
    await fixture.join.begun(100);
    for (const client of clients) client.destroy();
    await until(() => fixture.server.connections === 0, 'the server saw them go');
    expect(fixture.admission.batches).toBe(100);
    fixture.join.release();
    await until(isIdle, 'the gauges return to 0');
    await stillServes();
  });

  it('B22: closed mid-response: gauges return to 0', async () => {
    fixture.join.bodyBytes = 4 * 1024 * 1024;
    for (let round = 0; round < 50; round++) {
      const client = await RawClient.open(fixture.socketPath);
      client.socket.once('data', () => client.destroy());
      client.socket.write(joinRequest(protobufRequest()));
      await client.ended();
    }
    await until(isIdle, 'the gauges return to 0');
    await stillServes();
  });

  it('B22: a second request on a connection whose first is still joined ends that connection only', async () => {
    fixture.join.hold = true;
    const client = await RawClient.open(fixture.socketPath);
    await client.send(Buffer.concat([joinRequest(protobufRequest()), joinRequest(protobufRequest())]));
    await client.ended();
    fixture.join.release();
    await until(isIdle, 'the gauges return to 0');
    await stillServes();
  });

  it('B22: closed before a page is made', async () => {
    for (let round = 0; round < 50; round++) {
      const client = await RawClient.open(fixture.socketPath);
      await client.send(httpRequest('GET', '/metrics'));
      client.destroy();
    }
    await stillServes();
  });
});

describe('B21: readers that do not read', () => {
  it('B21: a response not taken in time is dropped with its connection, and its bytes are given back', async () => {
    fixture.join.bodyBytes = 8 * 1024 * 1024;
    const client = await RawClient.open(fixture.socketPath);
    client.socket.pause();
    await client.send(joinRequest(protobufRequest()));
    await until(() => fixture.admission.responseBytes > 8 * 1024 * 1024, 'the response waits for its reader');
    fixture.clock.offsetMs = RESPONSE_DRAIN_MS_MAX;
    await until(isIdle, 'the sweep drops it');
    client.socket.resume();
    await client.ended();
    expect(client.unread).toBeLessThan(8 * 1024 * 1024);
    expect((await fixture.metrics.page()).text).toContain('mailjoin_slow_readers_dropped_total 1');
    await stillServes();
  });

  it('B21: responses beyond the bytes in flight are refused while slow readers hold theirs', async () => {
    await fixture.close();
    fixture = await startServer({ limits: { responseBytesMax: 20 * 1024 * 1024 } });
    fixture.join.bodyBytes = 8 * 1024 * 1024;
    const slow: RawClient[] = [];
    for (let count = 0; count < 2; count++) {
      const client = await RawClient.open(fixture.socketPath);
      client.socket.pause();
      await client.send(joinRequest(protobufRequest()));
      slow.push(client);
    }
    await until(() => fixture.admission.responseBytes > 16 * 1024 * 1024, 'both responses wait');
    const third = await exchange(
      fixture.socketPath,
      joinRequest(protobufRequest(), 'application/x-protobuf', 'Accept: application/json'),
    );
    expect(third.status).toBe(503);
    expect(third.headers.get('retry-after')).toBe('1');
    expect(JSON.parse(third.body.toString())).toMatchObject({ code: 'OVERLOADED', retryable: true });
    for (const client of slow) client.socket.resume();
    for (const client of slow) expect((await client.response()).body.length).toBeGreaterThan(8 * 1024 * 1024);
    for (const client of slow) client.destroy();
    await until(isIdle, 'the gauges return to 0');
  });
});
