import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  errorCodeOf,
  exchange,
  type Fixture,
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

const asJson = (body: Uint8Array) => joinRequest(body, 'application/x-protobuf', 'Accept: application/json');

describe('B29: a stop', () => {
  it('B29: with 50 idle, 20 in flight and one still sending: in-flight answered, the rest closed', async () => {
    const idle: RawClient[] = [];
    for (let count = 0; count < 50; count++) {
      const client = await RawClient.open(fixture.socketPath);
      await client.request(joinRequest(protobufRequest()));
      idle.push(client);
    }
    fixture.join.hold = true;
    const busy: RawClient[] = [];
    for (let count = 0; count < 20; count++) {
      const client = await RawClient.open(fixture.socketPath);
      await client.send(joinRequest(protobufRequest()));
      busy.push(client);
    }
    const sending = await RawClient.open(fixture.socketPath);
    const partial = asJson(protobufRequest({ entries: 10 }));
    await sending.send(partial.subarray(0, partial.length - 5));
    await fixture.join.begun(50 + 20);
    await until(() => fixture.server.requestsInFlight === 21, 'all requests have begun');

    const stopped = fixture.server.stop(5_000);
    const cut = await sending.response();
    expect(`${cut.status} ${errorCodeOf(cut)}`).toBe('503 SHUTTING_DOWN');
    await expect(RawClient.open(fixture.socketPath)).rejects.toThrow();
    fixture.join.release();
    for (const client of busy) expect((await client.response()).status).toBe(200);
    expect(await stopped).toBe(0);
    for (const client of [...idle, ...busy, sending]) await client.ended();
    expect(fs.existsSync(fixture.socketPath)).toBe(false);
  });

  it('B29: a new request on a kept connection → 503 SHUTTING_DOWN', async () => {
    const kept = await RawClient.open(fixture.socketPath);
    await kept.request(joinRequest(protobufRequest()));
    fixture.join.hold = true;
    const busy = await RawClient.open(fixture.socketPath);
    await busy.send(joinRequest(protobufRequest()));
    await fixture.join.begun(2);
    const stopped = fixture.server.stop(5_000);
    const response = await kept.request(asJson(protobufRequest()));
    expect(`${response.status} ${errorCodeOf(response)}`).toBe('503 SHUTTING_DOWN');
    fixture.join.release();
    expect((await busy.response()).headers.get('connection')).toBe('close');
    await stopped;
  });

  it('B29: what is not done by the deadline is cut off and counted', async () => {
    fixture.join.hold = true;
    const busy = await RawClient.open(fixture.socketPath);
    await busy.send(joinRequest(protobufRequest()));
    await fixture.join.begun(1);
    expect(await fixture.server.stop(20)).toBe(1);
    await expect(busy.response()).rejects.toThrow('ended before');
  });

  it('B29: a response still being read is finished', async () => {
    fixture.join.bodyBytes = 8 * 1024 * 1024;
    const reader = await RawClient.open(fixture.socketPath);
    reader.socket.pause();
    await reader.send(joinRequest(protobufRequest()));
    await until(() => fixture.admission.responseBytes > 8 * 1024 * 1024, 'the response waits');
    const stopped = fixture.server.stop(5_000);
    reader.socket.resume();
    expect((await reader.response()).body.length).toBeGreaterThan(8 * 1024 * 1024);
    expect(await stopped).toBe(0);
  });

  it('a successor may take the path while the predecessor still answers; its file is left alone', async () => {
    fixture.join.hold = true;
    const busy = await RawClient.open(fixture.socketPath);
    await busy.send(joinRequest(protobufRequest()));
    await fixture.join.begun(1);
    const stopped = fixture.server.stop(5_000);
    await until(() => !fs.existsSync(fixture.socketPath), 'the path is free');
    fs.writeFileSync(fixture.socketPath, 'successor');
    fixture.join.release();
    await stopped;
    expect(fs.readFileSync(fixture.socketPath, 'utf8')).toBe('successor');
    await expect(exchange(fixture.socketPath, joinRequest(protobufRequest()))).rejects.toThrow();
  });
});
