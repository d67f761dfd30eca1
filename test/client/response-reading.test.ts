import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { answer, decodeRequest, encodeBody, encodeResponse, httpResponse, idOf } from './contract.js';
import { batch, coded, honest, inParts, serve, stopAll, waitFor } from './serve.js';

afterEach(stopAll);

describe('a response in pieces', () => {
  it('reads the same, cut in two at every byte', async () => {
    let cut = 0;
    const { client, server } = await serve((request) => {
      const bytes = answer(decodeRequest(request.body));
      inParts(
        request.socket,
        [bytes.subarray(0, cut), bytes.subarray(cut)].filter((part) => part.length > 0),
      );
    });
    const length = answer(decodeRequest(requestBytes([1, 2]))).length;
    for (cut = 0; cut <= length; cut++) {
      const { entries } = await client.join(batch([1, 2]));
      expect(entries.map(({ body }) => body)).toEqual(
        [1, 2].map((id) => new Uint8Array(encodeBody(idOf(id), idOf(id)))),
      );
    }
    expect(server.accepted()).toBe(1);
  });

  it('reads the same, one byte at a time', async () => {
    const { client } = await serve((request) => {
      const bytes = answer(decodeRequest(request.body));
      inParts(
        request.socket,
        Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
      );
    });
    const { entries } = await client.join(batch([7]));
    expect(entries[0]?.body).toEqual(new Uint8Array(encodeBody(idOf(7), idOf(7))));
  });

  it('B07: reads 16 MiB in uneven chunks, byte for byte, and keeps the connection', async () => {
    const payload = Buffer.alloc(16 * 1024 * 1024);
    for (let at = 0; at < payload.length; at += 4) payload.writeUInt32LE((at * 2654435761) >>> 0, at);
    const body = encodeBody(idOf(1), payload);
    const response = httpResponse(encodeResponse([body], [{ result: 1, body: 1 }]));
    const { client, server } = await serve((request) => {
      const parts: Uint8Array[] = [];
      for (let at = 0, size = 1; at < response.length; at += size, size = (size * 7 + 13) % 400_000) {
        parts.push(response.subarray(at, at + size));
      }
      inParts(request.socket, parts);
    });
    for (let round = 0; round < 2; round++) {
      const { entries } = await client.join(batch([1]));
      expect(Buffer.from(entries[0]?.body ?? []).equals(body)).toBe(true);
    }
    expect(server.accepted()).toBe(1);
  });

  it('keeps earlier results as they were while later responses arrive', async () => {
    const { client } = await serve(honest, { connectionsMax: 1 });
    const first = await client.join(batch([1, 2, 3]));
    const unread = await client.join(batch([4]));
    for (let id = 5; id < 50; id++) await client.join(batch([id, id + 1]));
    expect(first.entries.map(({ body }) => body)).toEqual(
      [1, 2, 3].map((id) => new Uint8Array(encodeBody(idOf(id), idOf(id)))),
    );
    expect(unread.bodies).toEqual([new Uint8Array(encodeBody(idOf(4), idOf(4)))]);
  });
});

describe('a response that is none', () => {
  const entryOk = httpResponse(encodeResponse([encodeBody(idOf(1), idOf(1))], [{ result: 1, body: 1 }]));
  it.each<[string, Uint8Array]>([
    ['garbage', Buffer.from('\u0000\u0001garbage\r\n\r\n')],
    ['HTML of another server', httpResponse(Buffer.from('<html>'), '404 Not Found', 'text/html')],
    ['another media type', httpResponse(encodeResponse([], []), '200 OK', 'application/json')],
    ['no length', Buffer.from('HTTP/1.1 200 OK\r\n\r\n')],
    ['a chunked body', Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')],
    ['a length of 4 GiB', Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n')],
    ['a length of 10^15', Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 999999999999999\r\n\r\n')],
    ['a head without an end', Buffer.from(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(2000)}`)],
    ['a head beyond the limit', Buffer.from(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(2000)}\r\n`)],
    ['a body that is no message', httpResponse(Buffer.alloc(30, 0xff))],
    ['fewer results than entries', httpResponse(encodeResponse([], []))],
    ['an error without a code', httpResponse(Buffer.alloc(0), '500 Oops')],
    ['an error that is no message', httpResponse(Buffer.alloc(9, 0xff), '500 Oops')],
    ['bytes behind the response', Buffer.concat([entryOk, Buffer.from('x')])],
    ['a second response behind the first', Buffer.concat([entryOk, entryOk])],
  ])('%s: CLIENT_PROTOCOL, the connection is dropped, and the next call is served', async (_, bytes) => {
    let bad = true;
    const { client, server } = await serve((request) => {
      if (bad) request.socket.write(bytes);
      else honest(request);
    });
    await expect(client.join(batch([1]))).rejects.toEqual(coded('CLIENT_PROTOCOL'));
    await waitFor(() => server.open() === 0);
    bad = false;
    expect((await client.join(batch([1]))).entries[0]?.result).toBe('OK');
  });

  it('B39: the body of another message is refused', async () => {
    const { client, server } = await serve(({ socket }) => socket.write(entryOk));
    await expect(client.join(batch([2]))).rejects.toEqual(coded('CLIENT_PROTOCOL'));
    await waitFor(() => server.open() === 0);
  });

  it('bytes that came before any request are no response', async () => {
    const { client, server } = await serve(honest, {}, (socket) => socket.write('hello'));
    await expect(client.join(batch([1]))).rejects.toMatchObject({ code: 'CLIENT_PROTOCOL' });
    await waitFor(() => server.open() === 0);
  });

  it('a byte that comes once the connection is idle drops it', async () => {
    const { client, server } = await serve(honest);
    const sockets: Socket[] = [];
    const { client: surprised, server: chatty } = await serve((request) => {
      sockets.push(request.socket);
      honest(request);
    });
    await client.join(batch([1]));
    await surprised.join(batch([1]));
    for (const socket of sockets) socket.write('x');
    await waitFor(() => chatty.open() === 0);
    expect(server.open()).toBe(1);
    expect((await surprised.join(batch([2]))).entries[0]?.result).toBe('OK');
  });
});

/** A request as the server gets it, for sizing its answer. */
function requestBytes(ids: readonly number[]): Uint8Array {
  return Buffer.concat(ids.map((id) => Buffer.concat([Buffer.from([0x22, 18, 0x1a, 16]), idOf(id)])));
}
