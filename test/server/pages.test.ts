import { afterEach, describe, expect, it } from 'vitest';
import { READY_CACHE_MS } from '../../src/domain/limits.js';
import {
  errorCodeOf,
  exchange,
  type Fixture,
  type FixtureOptions,
  httpRequest,
  joinRequest,
  protobufRequest,
  RawClient,
  startServer,
} from './server-fixture.js';

let fixture: Fixture;
afterEach(() => fixture.close());

async function start(options: FixtureOptions = {}): Promise<void> {
  fixture = await startServer(options);
}

const get = (url: string) => exchange(fixture.socketPath, httpRequest('GET', url));

describe('routes', () => {
  it('an unknown route → 404 NOT_FOUND', async () => {
    await start();
    const response = await get('/v2/join');
    expect(`${response.status} ${errorCodeOf(response)}`).toBe('404 NOT_FOUND');
  });

  it('another method → 405 METHOD, naming those it takes', async () => {
    await start();
    const join = await get('/v1/join');
    expect(`${join.status} ${errorCodeOf(join)}`).toBe('405 METHOD');
    expect(join.headers.get('allow')).toBe('POST');
    const health = await exchange(fixture.socketPath, httpRequest('POST', '/healthz', [], Buffer.alloc(0)));
    expect(`${health.status} ${errorCodeOf(health)}`).toBe('405 METHOD');
    expect(health.headers.get('allow')).toBe('GET, HEAD');
  });

  it('HEAD announces the length and sends no body', async () => {
    await start();
    const client = await RawClient.open(fixture.socketPath);
    for (const url of ['/healthz', '/nowhere']) {
      await client.send(httpRequest('HEAD', url));
      const response = await client.response(true);
      expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
    }
    expect((await client.request(httpRequest('GET', '/healthz'))).body.toString()).toBe('ok\n');
    client.destroy();
  });
});

describe('/readyz', () => {
  it('is 503 and names what failed, while /healthz stays 200', async () => {
    await start({
      checks: [
        { name: 'store', check: () => Promise.reject(new Error('no host answers')) },
        { name: 'keys', check: () => Promise.resolve(undefined) },
      ],
    });
    const response = await get('/readyz');
    expect(response.status).toBe(503);
    expect(JSON.parse(response.body.toString())).toEqual({
      ready: false,
      failures: ['store: no host answers'],
    });
    expect((await get('/healthz')).status).toBe(200);
  });

  it('asks the store once for many probes, and again when the answer is old', async () => {
    let looks = 0;
    await start({
      checks: [
        {
          name: 'store',
          check: () => {
            looks++;
            return Promise.resolve(undefined);
          },
        },
      ],
    });
    const responses = await Promise.all([get('/readyz'), get('/readyz'), get('/readyz')]);
    expect(responses.map((response) => response.status)).toEqual([200, 200, 200]);
    expect(looks).toBe(1);
    fixture.clock.offsetMs = READY_CACHE_MS;
    await get('/readyz');
    expect(looks).toBe(2);
  });
});

describe('/metrics', () => {
  const series = async () =>
    (await get('/metrics')).body
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('mailjoin_')).length;

  it('counts requests by outcome and entries by result', async () => {
    await start();
    await exchange(fixture.socketPath, joinRequest(protobufRequest({ entries: 3 })));
    await exchange(fixture.socketPath, joinRequest(Buffer.from([0xff])));
    const page = (await get('/metrics')).body.toString();
    expect(page).toContain('mailjoin_requests_total{kind="MAILBOX_BATCH",code="OK"} 1');
    expect(page).toContain('mailjoin_requests_total{kind="NONE",code="REQUEST_MALFORMED"} 1');
    expect(page).toContain('mailjoin_entries_total{kind="MAILBOX_BATCH",result="OK"} 3');
    expect(page).toContain('mailjoin_batches_in_flight 0');
    expect(page).toContain('mailjoin_stage_seconds_count{stage="decode"} 1');
    expect(page).toContain('mailjoin_stage_seconds_bucket{stage="decode",le="+Inf"} 1');
  });

  it('B51: the number of series stays flat whatever the tenants', async () => {
    await start();
    const client = await RawClient.open(fixture.socketPath);
    await client.request(joinRequest(protobufRequest()));
    const before = await series();
    for (let tenant = 0; tenant < 500; tenant++) {
      const id = Buffer.alloc(16);
      id.writeUInt32BE(tenant, 12);
      await client.request(joinRequest(protobufRequest({ tenant: id })));
    }
    client.destroy();
    expect(await series()).toBe(before);
  });
});
