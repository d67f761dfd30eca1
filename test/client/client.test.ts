import { afterEach, describe, expect, it } from 'vitest';
import { type ClientOptions, MailjoinClient } from '../../src/client/index.js';
import {
  decodeRequest,
  encodeBody,
  encodeErrorBody,
  encodeResponse,
  httpResponse,
  idOf,
} from './contract.js';
import type { RawRequest } from './raw-server.js';
import { batch, coded, honest, serve, stopAll, waitFor } from './serve.js';

afterEach(stopAll);

describe('the pool', () => {
  it('keeps to its bound, serves in order, and reuses its connections', async () => {
    const order: number[] = [];
    const { client, server } = await serve(
      (request) => {
        order.push(Number(decodeRequest(request.body).entries[0]?.conversationSeq));
        setImmediate(honest, request);
      },
      { connectionsMax: 1 },
    );
    await Promise.all(Array.from({ length: 50 }, (_, id) => client.join(batch([id]))));
    expect(order).toEqual(Array.from({ length: 50 }, (_, id) => id));
    expect(server.accepted()).toBe(1);
  });

  it('refuses at once when its line is full', async () => {
    const { client } = await serve(() => {}, { connectionsMax: 1 });
    const calls = Array.from({ length: 4097 }, () =>
      client.join(batch([1])).catch((error: unknown) => error),
    );
    await expect(client.join(batch([1]))).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true });
    await client.close();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'CLIENT_CLOSED' });
  });

  it('after close, every call is CLIENT_CLOSED and no connection is left', async () => {
    const { client, server } = await serve(honest);
    await client.join(batch([1]));
    await client.close();
    await client.close();
    await waitFor(() => server.open() === 0);
    await expect(client.join(batch([1]))).rejects.toMatchObject({ code: 'CLIENT_CLOSED', retryable: false });
  });

  it.each<[Partial<ClientOptions>, string]>([
    [{ socketPath: '' }, 'SOCKET_PATH'],
    [{ socketPath: `/${'x'.repeat(107)}` }, 'SOCKET_PATH'],
    [{ connectionsMax: 0 }, 'CONFIG_INVALID'],
    [{ connectionsMax: 257 }, 'CONFIG_INVALID'],
    [{ timeoutMs: 0 }, 'CONFIG_INVALID'],
    [{ timeoutMs: Number.NaN }, 'CONFIG_INVALID'],
    [{ retries: -1 }, 'CONFIG_INVALID'],
  ])('refuses the settings %j', (options, code) => {
    expect(() => new MailjoinClient({ socketPath: '/x', ...options })).toThrow(coded(code));
  });
});

describe('coded errors and retries', () => {
  const overloaded = httpResponse(
    encodeErrorBody('OVERLOADED', 'too much work is in flight; ask again after the hint', true, 5),
    '503 Service Unavailable',
  );

  it('gives the code, the hint and whether a retry can help, and keeps the connection', async () => {
    const { client, server } = await serve(({ socket }) => socket.write(overloaded));
    for (let round = 0; round < 2; round++) {
      await expect(client.join(batch([1]))).rejects.toMatchObject({
        name: 'SidecarError',
        code: 'OVERLOADED',
        sidecarCode: 'OVERLOADED',
        httpStatus: 503,
        retryAfterMs: 5,
        retryable: true,
        message: 'too much work is in flight; ask again after the hint',
      });
    }
    expect(server.accepted()).toBe(1);
  });

  it('keeps a code that it does not know readable', async () => {
    const bytes = httpResponse(encodeErrorBody('QUOTA_EXCEEDED', 'later', true, 0), '429 Too Many');
    const { client } = await serve(({ socket }) => socket.write(bytes));
    const error = await client.join(batch([1])).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'INTERNAL',
      sidecarCode: 'QUOTA_EXCEEDED',
      status: 429,
      retryable: true,
    });
    expect((error as Error).message).toContain('QUOTA_EXCEEDED: later');
  });

  it('tries a 503 again only when told to, as often as told', async () => {
    let requests = 0;
    const { client } = await serve((request) => {
      requests++;
      if (requests % 3 === 0) honest(request);
      else request.socket.write(overloaded);
    });
    expect((await client.join(batch([1]), { retries: 2 })).entries[0]?.result).toBe('OK');
    expect(requests).toBe(3);
    await expect(client.join(batch([1]), { retries: 1 })).rejects.toEqual(coded('OVERLOADED'));
    expect(requests).toBe(5);
  });

  it('never retries beyond the timeout, nor what a retry cannot help', async () => {
    const patient = httpResponse(encodeErrorBody('OVERLOADED', '', true, 60_000), '503 Service Unavailable');
    let bytes = patient;
    let requests = 0;
    const { client } = await serve(({ socket }) => {
      requests++;
      socket.write(bytes);
    });
    await expect(client.join(batch([1]), { retries: 9, timeoutMs: 1000 })).rejects.toEqual(
      coded('OVERLOADED'),
    );
    bytes = httpResponse(encodeErrorBody('REQUEST_MALFORMED', '', false, 0), '400 Bad Request');
    await expect(client.join(batch([1]), { retries: 9 })).rejects.toEqual(coded('REQUEST_MALFORMED'));
    expect(requests).toBe(2);
  });
});

describe('what was DEFERRED', () => {
  /** Serves one body a response, DEFERRED for the rest. */
  function onlyFirst({ body, socket }: RawRequest): void {
    const { entries } = decodeRequest(body);
    const first = entries[0]?.messageId as Uint8Array;
    const results = entries.map((_, index) => (index === 0 ? { result: 1, body: 1 } : { result: 11 }));
    socket.write(
      httpResponse(encodeResponse([encodeBody(first, first)], results, { entries: entries.length })),
    );
  }

  it('is the outcome when no repeat is asked for', async () => {
    const { client } = await serve(onlyFirst);
    const { entries, rounds } = await client.join(batch([1, 2, 3]));
    expect(entries.map(({ result }) => result)).toEqual(['OK', 'DEFERRED', 'DEFERRED']);
    expect(rounds).toBe(1);
  });

  it('is asked for again until none is left, in the order of the request', async () => {
    const { client } = await serve(onlyFirst);
    const result = await client.join(batch([1, 2, 3, 4], { repeatDeferred: true, wantReceipt: true }));
    expect(result.entries.map(({ body }) => Buffer.from(body ?? []))).toEqual(
      [1, 2, 3, 4].map((id) => Buffer.from(encodeBody(idOf(id), idOf(id)))),
    );
    expect(result.rounds).toBe(4);
    expect(result.bodies).toHaveLength(4);
    expect(result.receipt?.entries).toBe(4 + 3 + 2 + 1);
  });

  it('is asked for at most repeatMax times', async () => {
    const { client } = await serve(onlyFirst);
    const result = await client.join(batch([1, 2, 3, 4], { repeatDeferred: true, repeatMax: 2 }));
    expect(result.entries.map(({ result: name }) => name)).toEqual(['OK', 'OK', 'DEFERRED', 'DEFERRED']);
  });

  it('stays DEFERRED when a repeat fails or the deadline has passed', async () => {
    const { client } = await serve((request) => {
      if (request.index === 0) onlyFirst(request);
      else request.socket.write('garbage, and much of it, instead of a response\r\n\r\n');
    });
    const result = await client.join(batch([1, 2], { repeatDeferred: true }));
    expect(result.entries.map(({ result: name }) => name)).toEqual(['OK', 'DEFERRED']);
    const { client: slow } = await serve((request) => setTimeout(onlyFirst, 30, request));
    const cut = await slow.join(batch([1, 2, 3, 4, 5, 6, 7, 8], { repeatDeferred: true, deadlineMs: 40 }));
    expect(cut.entries.some(({ result: name }) => name === 'DEFERRED')).toBe(true);
  });
});

describe('entries and probes', () => {
  it('gives an inline body back to its caller', async () => {
    const { client } = await serve(({ socket }) =>
      socket.write(httpResponse(encodeResponse([], [{ result: 2 }]))),
    );
    const inlineBody = Buffer.from('have it already');
    const { entries, bodies } = await client.join({
      ...batch([]),
      entries: [{ conversationId: idOf(1), seq: 1n, messageId: idOf(1), inlineBody }],
    });
    expect(entries[0]).toMatchObject({ result: 'INLINE', retryable: false });
    expect(entries[0]?.body).toBe(inlineBody);
    expect(bodies).toEqual([]);
  });

  it('probes say whether and why not; an error of the process is an answer', async () => {
    const { client } = await serve(({ head, socket }) => {
      const ok = head.startsWith('GET /healthz ');
      socket.write(
        httpResponse(
          Buffer.from(ok ? 'ok' : 'no store'),
          ok ? '200 OK' : '503 Service Unavailable',
          'text/plain',
        ),
      );
    });
    expect(await client.health()).toEqual({ ok: true, status: 200, text: 'ok' });
    expect(await client.ready()).toEqual({ ok: false, status: 503, text: 'no store' });
  });
});
