import { afterEach, describe, expect, it } from 'vitest';
import { MailjoinClient } from '../../src/client/index.js';
import { answer, decodeRequest } from './contract.js';
import { startRawServer } from './raw-server.js';
import { batch, coded, honest, serve, stopAll, stopLater, waitFor } from './serve.js';

afterEach(stopAll);

describe('a connection that ends', () => {
  it('before the whole response: CLIENT_DISCONNECTED, and it is not sent again', async () => {
    let requests = 0;
    const { client } = await serve((request) => {
      requests++;
      const bytes = answer(decodeRequest(request.body));
      request.socket.end(bytes.subarray(0, bytes.length - 1));
    });
    await expect(client.join(batch([1]))).rejects.toEqual(coded('CLIENT_DISCONNECTED'));
    expect(requests).toBe(1);
  });

  it('a new one, before a byte: CLIENT_DISCONNECTED', async () => {
    const { client, server } = await serve(({ socket }) => socket.destroy());
    await expect(client.join(batch([1]))).rejects.toEqual(coded('CLIENT_DISCONNECTED'));
    expect(server.accepted()).toBe(1);
  });

  it('a kept one, before a byte: sent once more on a new connection', async () => {
    const { client, server } = await serve((request) => {
      if (request.index === 1) request.socket.destroy();
      else honest(request);
    });
    await client.join(batch([1]));
    expect((await client.join(batch([2]))).entries[0]?.result).toBe('OK');
    expect(server.accepted()).toBe(2);
  });

  it('a kept one, before a byte, twice: CLIENT_DISCONNECTED', async () => {
    let requests = 0;
    const { client } = await serve((request) => {
      if (requests++ === 0) honest(request);
      else request.socket.destroy();
    });
    await client.join(batch([1]));
    await expect(client.join(batch([2]))).rejects.toEqual(coded('CLIENT_DISCONNECTED'));
    expect(requests).toBe(3);
  });

  it('an idle one is dropped; the next call connects anew', async () => {
    const { client, server } = await serve((request) => {
      honest(request);
      request.socket.end();
    });
    await client.join(batch([1]));
    await waitFor(() => server.open() === 0);
    expect((await client.join(batch([2]))).entries[0]?.result).toBe('OK');
    expect(server.accepted()).toBe(2);
  });

  it('with Connection: close, behind a response: the next call connects anew', async () => {
    const { client, server } = await serve((request) => {
      const bytes = answer(decodeRequest(request.body)).toString('latin1');
      request.socket.write(bytes.replace('Date: x', 'Connection: close'), 'latin1');
    });
    await client.join(batch([1]));
    await waitFor(() => server.open() === 0);
    await client.join(batch([2]));
    expect(server.accepted()).toBe(2);
  });

  it('B28: no socket at all is CLIENT_CONNECT with its cause', async () => {
    const server = await startRawServer(honest);
    await server.stop();
    const client = new MailjoinClient({ socketPath: server.socketPath });
    stopLater(() => client.close());
    const error = await client.join(batch([1])).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'CLIENT_CONNECT', retryable: true, cause: { code: 'ENOENT' } });
  });

  it('B28: a burst beyond the accept queue fails visibly as CLIENT_CONNECT or is served', async () => {
    const { server } = await serve(honest);
    const clients = Array.from(
      { length: 4 },
      () => new MailjoinClient({ socketPath: server.socketPath, connectionsMax: 256 }),
    );
    for (const client of clients) stopLater(() => client.close());
    // The server shares this loop, so all 1,024 connects are made before it accepts one; its queue takes 511.
    const settled = await Promise.allSettled(
      clients.flatMap((client) => Array.from({ length: 256 }, () => client.join(batch([1])))),
    );
    const codes = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    expect(codes.length).toBeGreaterThan(0);
    expect(new Set(codes)).toEqual(new Set(['CLIENT_CONNECT']));
    const again = await Promise.all(clients.map((client) => client.join(batch([2]))));
    expect(again.map(({ entries }) => entries[0]?.result)).toEqual(['OK', 'OK', 'OK', 'OK']);
  });
});
