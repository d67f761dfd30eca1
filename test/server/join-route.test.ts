import { pack, unpack } from 'msgpackr';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RequestKind } from '../../src/domain/entries.js';
import { ENTRIES_MAX, REQUEST_BYTES_MAX } from '../../src/domain/limits.js';
import {
  errorCodeOf,
  exchange,
  type Fixture,
  httpRequest,
  joinRequest,
  protobufRequest,
  RawClient,
  startServer,
  TENANT,
  until,
} from './server-fixture.js';

const ASK_JSON = 'Accept: application/json';
let fixture: Fixture;

beforeEach(async () => {
  fixture = await startServer();
});
afterEach(() => fixture.close());

async function codeOf(bytes: Uint8Array): Promise<string> {
  const response = await exchange(fixture.socketPath, bytes);
  return `${response.status} ${errorCodeOf(response)}`;
}

const jsonRequest = JSON.stringify({
  kind: 'MAILBOX_BATCH',
  tenant_id: '00112233-4455-6677-8899-aabbccddeeff',
  entries: [
    {
      conversation_id: '07070707-0707-0707-0707-070707070707',
      conversation_seq: '9007199254740993',
      message_id: '00000000000000000000000000000001',
    },
  ],
});

describe('POST /v1/join: what it refuses', () => {
  it('an unreadable body → 400 REQUEST_MALFORMED', async () => {
    expect(await codeOf(joinRequest(Buffer.from([0xff]), 'application/x-protobuf', ASK_JSON))).toBe(
      '400 REQUEST_MALFORMED',
    );
    expect(await codeOf(joinRequest(Buffer.from('{'), 'application/json'))).toBe('400 REQUEST_MALFORMED');
    expect(await codeOf(joinRequest(Buffer.from([0x82, 0xa4]), 'application/msgpack', ASK_JSON))).toBe(
      '400 REQUEST_MALFORMED',
    );
  });

  it('B42: a request without tenant → 400 TENANT_MISSING', async () => {
    const request = protobufRequest({ tenant: undefined });
    expect(await codeOf(joinRequest(request, 'application/x-protobuf', ASK_JSON))).toBe('400 TENANT_MISSING');
  });

  it('an unknown kind → 400 KIND_UNKNOWN, another contract version → 400 CONTRACT_VERSION', async () => {
    const noKind = Buffer.concat([Buffer.from([0x1a, 16]), TENANT]);
    expect(await codeOf(joinRequest(noKind, 'application/x-protobuf', ASK_JSON))).toBe('400 KIND_UNKNOWN');
    const version2 = Buffer.concat([Buffer.from([0x08, 2]), protobufRequest()]);
    expect(await codeOf(joinRequest(version2, 'application/x-protobuf', ASK_JSON))).toBe(
      '400 CONTRACT_VERSION',
    );
  });

  it('one entry more than a batch may have → 413 ENTRIES_TOO_MANY', async () => {
    const request = protobufRequest({ entries: ENTRIES_MAX + 1 });
    expect(await codeOf(joinRequest(request, 'application/x-protobuf', ASK_JSON))).toBe(
      '413 ENTRIES_TOO_MANY',
    );
    expect(fixture.join.requests).toHaveLength(0);
  });

  it('another content type, or none → 415 MEDIA_TYPE', async () => {
    expect(await codeOf(joinRequest(protobufRequest(), 'text/plain'))).toBe('415 MEDIA_TYPE');
    expect(await codeOf(httpRequest('POST', '/v1/join', [], protobufRequest()))).toBe('415 MEDIA_TYPE');
    expect(await codeOf(joinRequest(protobufRequest(), '__proto__'))).toBe('415 MEDIA_TYPE');
  });

  it.each([
    ['B43: 21,000 group tags', Buffer.alloc(21_000, 0x7b)],
    ['B44: a length of 2^31 - 1', Buffer.from('0affffffff07', 'hex')],
    ['B44: a length of 2^31', Buffer.from('0a8080808008', 'hex')],
    ['B44: a length of 2^32 - 1', Buffer.from('0affffffff0f', 'hex')],
    ['B45: wire type 6', Buffer.from('0e', 'hex')],
    ['B45: wire type 7', Buffer.from('0f', 'hex')],
  ])('%s → 400, and the server lives', async (_name, body) => {
    expect(await codeOf(joinRequest(body, 'application/x-protobuf', ASK_JSON))).toBe('400 REQUEST_MALFORMED');
    const next = await exchange(fixture.socketPath, joinRequest(protobufRequest()));
    expect(next.status).toBe(200);
  });

  it('B45: a request cut at every byte is answered, refused or joined', async () => {
    const client = await RawClient.open(fixture.socketPath);
    const whole = protobufRequest({ entries: 2 });
    const statuses = new Set<number>();
    for (let length = 0; length < whole.length; length++) {
      const response = await client.request(joinRequest(whole.subarray(0, length)));
      statuses.add(response.status);
    }
    client.destroy();
    expect([...statuses].sort()).toEqual([200, 400]);
  });

  it('a join that fails inside → 500 INTERNAL without its text', async () => {
    fixture.join.failWith = new Error('secret of a tenant');
    const response = await exchange(
      fixture.socketPath,
      joinRequest(Buffer.from(jsonRequest), 'application/json'),
    );
    expect(response.status).toBe(500);
    expect(errorCodeOf(response)).toBe('INTERNAL');
    expect(response.body.toString()).not.toContain('secret');
  });
});

describe('POST /v1/join: the length of a body (B25)', () => {
  const post = (...headers: string[]) =>
    httpRequest('POST', '/v1/join', ['Content-Type: application/json', ...headers]);

  it.each([
    ['4294967296', '413 REQUEST_TOO_LARGE'],
    [String(REQUEST_BYTES_MAX + 1), '413 REQUEST_TOO_LARGE'],
    ['', '400 LENGTH_INVALID'],
  ])('B25: Content-Length "%s" → %s, and the connection closes', async (length, expected) => {
    const client = await RawClient.open(fixture.socketPath);
    const response = await client.request(post(`Content-Length: ${length}`));
    expect(`${response.status} ${errorCodeOf(response)}`).toBe(expected);
    await client.ended();
  });

  // uWebSockets.js replaces the answer to these by a 400 of its own.
  it.each(['-1', '+3', '3, 3', '99999999999999999999999999', 'abc'])(
    'B25: Content-Length "%s" → 400, and the connection closes',
    async (length) => {
      const client = await RawClient.open(fixture.socketPath);
      const response = await client.request(post(`Content-Length: ${length}`));
      expect(response.status).toBe(400);
      await client.ended();
      expect(fixture.join.requests).toHaveLength(0);
    },
  );

  it('B25: two Content-Length headers → 400 LENGTH_INVALID', async () => {
    expect(await codeOf(post('Content-Length: 3', 'Content-Length: 3'))).toBe('400 LENGTH_INVALID');
  });

  it('B25: Content-Length and chunked together → 400 and close', async () => {
    const client = await RawClient.open(fixture.socketPath);
    const response = await client.request(post('Content-Length: 3', 'Transfer-Encoding: chunked'));
    expect(response.status).toBe(400);
    await client.ended();
  });

  it('B25: no Host → 400 of uWebSockets.js, without a code (README), and close', async () => {
    const client = await RawClient.open(fixture.socketPath);
    const response = await client.request(
      Buffer.from('POST /v1/join HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc'),
    );
    // Ours has a media type, and a coded body of it.
    expect([response.status, response.headers.has('content-type')]).toEqual([400, false]);
    await client.ended();
  });

  it('B25: another transfer-encoding → 400 LENGTH_INVALID', async () => {
    expect(await codeOf(post('Transfer-Encoding: gzip'))).toBe('400 LENGTH_INVALID');
  });

  it('B25: a body one byte over the limit, announced and sent, → 413, close, nothing kept', async () => {
    const client = await RawClient.open(fixture.socketPath);
    client.socket.write(joinRequest(Buffer.alloc(REQUEST_BYTES_MAX + 1), 'application/json'));
    const response = await client.response();
    expect(`${response.status} ${errorCodeOf(response)}`).toBe('413 REQUEST_TOO_LARGE');
    await client.ended();
    expect(fixture.admission.requestBytes).toBe(0);
  });

  it('B25: chunks beyond the limit → 413 and close, with memory bounded by the limit', async () => {
    const client = await RawClient.open(fixture.socketPath);
    let heldMost = 0;
    client.socket.write(post('Transfer-Encoding: chunked'));
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000), Buffer.from('\r\n')]);
    const responded = client.response();
    for (let sent = 0; sent < REQUEST_BYTES_MAX * 2 && !client.socket.destroyed; sent += 0x10000) {
      await client.send(chunk);
      heldMost = Math.max(heldMost, fixture.admission.requestBytes);
    }
    const response = await responded;
    expect(`${response.status} ${errorCodeOf(response)}`).toBe('413 REQUEST_TOO_LARGE');
    await client.ended();
    expect(heldMost).toBeGreaterThan(0);
    expect(heldMost).toBeLessThanOrEqual(REQUEST_BYTES_MAX);
    expect(fixture.admission.requestBytes).toBe(0);
  });

  it('a chunked body within the limit is joined', async () => {
    const body = Buffer.from(jsonRequest);
    const chunked = Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
    const response = await exchange(
      fixture.socketPath,
      Buffer.concat([post('Transfer-Encoding: chunked'), chunked]),
    );
    expect(response.status).toBe(200);
  });

  it('B25: an announced body costs what was sent of it, not what was announced', async () => {
    const client = await RawClient.open(fixture.socketPath);
    await client.send(post(`Content-Length: ${REQUEST_BYTES_MAX}`));
    await client.send('{');
    await until(() => fixture.admission.requestBytes > 0, 'the first chunk is counted');
    expect(fixture.admission.requestBytes).toBeLessThanOrEqual(16 * 1024);
    client.destroy();
    await until(() => fixture.admission.requestBytes === 0, 'it is given back');
  });
});

describe('POST /v1/join: what it answers', () => {
  it('protobuf in, protobuf out, one body and one result per entry', async () => {
    const response = await exchange(fixture.socketPath, joinRequest(protobufRequest({ entries: 3 })));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/x-protobuf');
    const request = fixture.join.requests[0];
    expect(request?.kind).toBe(RequestKind.MAILBOX_BATCH);
    expect(Buffer.from(request?.tenantId ?? [])).toEqual(TENANT);
    expect(request?.entries.count).toBe(3);
  });

  it('msgpack in, msgpack out', async () => {
    const body = pack({
      kind: RequestKind.PUSH_EVENTS,
      tenant_id: TENANT,
      entries: [
        { conversation_id: Buffer.alloc(16, 7), conversation_seq: 5, message_id: Buffer.alloc(16, 1) },
      ],
    });
    const response = await exchange(fixture.socketPath, joinRequest(body, 'application/msgpack'));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/msgpack');
    expect(unpack(response.body).results).toHaveLength(1);
    expect(fixture.join.requests[0]?.kind).toBe(RequestKind.PUSH_EVENTS);
  });

  it('JSON in, JSON out; a seq above 2^53 arrives exactly (B01)', async () => {
    const response = await exchange(
      fixture.socketPath,
      joinRequest(Buffer.from(jsonRequest), 'application/json; charset=utf-8'),
    );
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(response.body.toString()).results).toHaveLength(1);
    expect(fixture.join.requests[0]?.entries.seq(0)).toBe(9007199254740993n);
  });

  it('Accept chooses the response type, whatever the request is', async () => {
    const response = await exchange(
      fixture.socketPath,
      joinRequest(protobufRequest(), 'application/x-protobuf', 'Accept: text/html, application/json;q=0.9'),
    );
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(response.body.toString()).results).toHaveLength(1);
  });

  it('coded errors come in the media type of the answer', async () => {
    const bytes = Buffer.from([0x82, 0xa4]);
    const response = await exchange(fixture.socketPath, joinRequest(bytes, 'application/msgpack'));
    expect(response.headers.get('content-type')).toBe('application/msgpack');
    expect(unpack(response.body)).toMatchObject({ code: 'REQUEST_MALFORMED', retryable: false });
  });

  it('B24: a 1 MiB body in 1,024 chunks, cut inside varints, decodes the same', async () => {
    const entry = protobufRequest({ entries: ENTRIES_MAX });
    const filler = Buffer.alloc(1024 * 1024 - entry.length - 5, 0x55);
    // Field 99 is unknown and skipped; it only makes the body as long as it shall be.
    const padding = Buffer.alloc(5);
    padding.writeUInt8(0x9a, 0);
    padding.writeUInt8(0x06, 1);
    padding.writeUInt8((filler.length & 0x7f) | 0x80, 2);
    padding.writeUInt8(((filler.length >> 7) & 0x7f) | 0x80, 3);
    padding.writeUInt8(filler.length >> 14, 4);
    const body = Buffer.concat([entry, padding, filler]);
    expect(body.length).toBe(1024 * 1024);
    const client = await RawClient.open(fixture.socketPath);
    await client.send(
      httpRequest('POST', '/v1/join', [
        'Content-Type: application/x-protobuf',
        `Content-Length: ${body.length}`,
      ]),
    );
    for (let at = 0; at < body.length; at += 1024) {
      await client.send(body.subarray(at, at + 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const response = await client.response();
    client.destroy();
    expect(response.status).toBe(200);
    const entries = fixture.join.requests[0]?.entries;
    expect(entries?.count).toBe(ENTRIES_MAX);
    for (let index = 0; index < ENTRIES_MAX; index++) {
      expect(entries?.seq(index)).toBe(BigInt(index + 1));
      const at = entries?.messageAt[index] as number;
      expect(Buffer.from(entries?.bytes.subarray(at, at + 16) ?? []).readUInt32BE(12)).toBe(index + 1);
    }
  });

  it('keeps the connection for the next request, also after a refused one', async () => {
    const client = await RawClient.open(fixture.socketPath);
    expect((await client.request(joinRequest(Buffer.from([0xff])))).status).toBe(400);
    expect((await client.request(joinRequest(protobufRequest()))).status).toBe(200);
    expect((await client.request(joinRequest(protobufRequest()))).status).toBe(200);
    client.destroy();
  });

  it('B20: a large response arrives whole and unchanged', async () => {
    fixture.join.bodyBytes = 8 * 1024 * 1024;
    const response = await exchange(fixture.socketPath, joinRequest(protobufRequest()));
    expect(response.status).toBe(200);
    expect(response.body.length).toBeGreaterThan(8 * 1024 * 1024);
    expect(response.body.subarray(16, 8 * 1024 * 1024).every((byte) => byte === 0x0a)).toBe(true);
  });
});
