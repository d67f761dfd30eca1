import { afterEach, describe, expect, it } from 'vitest';
import { MailjoinError } from '../../src/client/index.js';
import { answer, decodeRequest, encodeBody, encodeResponse, httpResponse, idOf } from './contract.js';
import { batch, coded, honest, serve, stopAll, waitFor } from './serve.js';

afterEach(stopAll);

describe('deadlines, aborts and late replies', () => {
  it('CLIENT_TIMEOUT closes the connection', async () => {
    const { client, server } = await serve(() => {});
    await expect(client.join(batch([1]), { timeoutMs: 20 })).rejects.toEqual(coded('CLIENT_TIMEOUT'));
    await waitFor(() => server.open() === 0);
  });

  it('counts the time that a call waits for a connection', async () => {
    const { client } = await serve(() => {}, { connectionsMax: 1 });
    const slow = client.join(batch([1]), { timeoutMs: 60_000 }).catch((error: unknown) => error);
    await expect(client.join(batch([2]), { timeoutMs: 20 })).rejects.toEqual(coded('CLIENT_TIMEOUT'));
    await client.close();
    expect(await slow).toMatchObject({ code: 'CLIENT_CLOSED' });
  });

  it('names a deadline that leaves time for the answer', async () => {
    const deadlines: number[] = [];
    const { client } = await serve((request) => {
      deadlines.push(decodeRequest(request.body).deadlineMs);
      honest(request);
    });
    await client.join(batch([1]));
    await client.join(batch([1], { kind: 'PUSH_EVENTS' }));
    await client.join(batch([1], { deadlineMs: 30_000 }), { timeoutMs: 100_000 });
    await client.join(batch([1]), { timeoutMs: 5_000 });
    await client.join(batch([1]), { timeoutMs: 1_000 });
    // A busy machine may have used up some of each; at most they leave half a second, or half of the time, for the answer.
    const bounds = [
      [1_000, 5_000],
      [0, 1_000],
      [20_000, 30_000],
      [1_000, 4_500],
      [0, 500],
    ] as const;
    expect(deadlines).toHaveLength(bounds.length);
    for (const [index, [above, max]] of bounds.entries()) {
      const deadlineMs = deadlines[index] as number;
      expect([deadlineMs, deadlineMs > above && deadlineMs <= max]).toEqual([deadlineMs, true]);
    }
  });

  it('takes a timeout longer than a timer can wait, and no timeout that is none', async () => {
    const { client } = await serve((request) => setImmediate(honest, request));
    const { entries } = await client.join(batch([1]), { timeoutMs: 2 ** 40 });
    expect(entries[0]?.result).toBe('OK');
    await expect(client.join(batch([1]), { timeoutMs: Number.NaN })).rejects.toThrow(TypeError);
  });

  it('an abort while asking again rejects with its reason, whatever that is', async () => {
    const abort = new AbortController();
    const reason = new MailjoinError('CLIENT_TIMEOUT', 'chosen by the caller');
    const { client } = await serve((request) => {
      const deferred = httpResponse(encodeResponse([], [{ result: 11 }]));
      if (request.index === 0) request.socket.write(deferred);
      else abort.abort(reason);
    });
    const call = client.join(batch([1], { repeatDeferred: true }), { signal: abort.signal });
    await expect(call).rejects.toBe(reason);
  });

  it('an aborted signal rejects with its reason: before, while waiting, and under way', async () => {
    const { client, server } = await serve(() => {}, { connectionsMax: 1 });
    const reason = new Error('the device went away');
    await expect(client.join(batch([1]), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const [underWay, waiting] = [new AbortController(), new AbortController()];
    const calls = [underWay, waiting].map(({ signal }) =>
      client.join(batch([1]), { signal }).catch((error: unknown) => error),
    );
    await waitFor(() => server.open() === 1);
    waiting.abort(reason);
    expect(await calls[1]).toBe(reason);
    expect(server.open()).toBe(1);
    underWay.abort(reason);
    expect(await calls[0]).toBe(reason);
    await waitFor(() => server.open() === 0);
  });

  it('B39: with 600 aborts at every stage of a response, no call sees what another asked for', async () => {
    const late: (() => void)[] = [];
    const { client } = await serve(
      (request) => {
        const bytes = answer(decodeRequest(request.body));
        const cut = (request.body[request.body.length - 1] as number) % bytes.length;
        // Part of the response at once, the rest only when the abort has been and gone.
        request.socket.write(bytes.subarray(0, cut));
        late.push(() => request.socket.write(bytes.subarray(cut)));
      },
      { connectionsMax: 4 },
    );
    const bad: unknown[] = [];
    const calls: Promise<void>[] = [];
    for (let id = 1; id <= 1200; id++) {
      const abort = id % 2 === 0 ? new AbortController() : undefined;
      const call = client.join(batch([id, id + 10_000]), abort === undefined ? {} : { signal: abort.signal });
      calls.push(
        call.then(
          ({ entries }) => {
            const wanted = [id, id + 10_000].map((wantedId) => encodeBody(idOf(wantedId), idOf(wantedId)));
            if (
              !entries.every(({ body }, index) => Buffer.from(body ?? []).equals(wanted[index] as Uint8Array))
            )
              bad.push(id);
          },
          (error: unknown) => {
            if (!(abort?.signal.aborted === true && error === abort.signal.reason)) bad.push(error);
          },
        ),
      );
      if (id % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      abort?.abort();
      for (const send of late.splice(0)) send();
    }
    while (
      late.length > 0 ||
      (await Promise.race([Promise.all(calls), new Promise((go) => setImmediate(go, 0))])) === 0
    ) {
      for (const send of late.splice(0)) send();
    }
    expect(bad).toEqual([]);
  }, 20_000);

  it('B39: a reply delayed past its timeout never reaches the call behind it', async () => {
    const delayed: (() => void)[] = [];
    let delay = true;
    const { client } = await serve(
      (request) => {
        if (delay) delayed.push(() => honest(request));
        else honest(request);
      },
      { connectionsMax: 1 },
    );
    for (let id = 1; id <= 20; id++) {
      delay = true;
      const first = client.join(batch([id]), { timeoutMs: 2 }).catch((error: unknown) => error);
      const second = client.join(batch([id + 100]));
      expect(await first).toMatchObject({ code: 'CLIENT_TIMEOUT' });
      delay = false;
      for (const send of delayed.splice(0)) send();
      expect(Buffer.from((await second).entries[0]?.body ?? [])).toEqual(
        Buffer.from(encodeBody(idOf(id + 100), idOf(id + 100))),
      );
    }
  });
});
