import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeJoinRequest } from '../../src/client/encode-request.js';
import { type JoinRequest, prepareJoin } from '../../src/client/join-request.js';
import { createRequestBuffer } from '../../src/client/request-buffer.js';
import { decodeRequest, idOf } from './contract.js';

const TENANT = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

/** Encodes; gives the HTTP head, the body as protobufjs reads it, and the noted message_id of each entry. */
function encode(request: JoinRequest, indexes?: readonly number[], deadlineMs = 1000) {
  const buffer = createRequestBuffer();
  const messageAt = new Int32Array((indexes ?? request.entries).length);
  const sent = Buffer.from(encodeJoinRequest(buffer, prepareJoin(request), indexes, deadlineMs, messageAt));
  const bodyAt = sent.indexOf('\r\n\r\n') + 4;
  const noted = Array.from(messageAt, (at) => (at === -1 ? undefined : buffer.bytes.subarray(at, at + 16)));
  return {
    head: sent.subarray(0, bodyAt).toString('latin1'),
    body: decodeRequest(sent.subarray(bodyAt)),
    noted,
    sent,
  };
}

function request(entries: JoinRequest['entries'], more: Partial<JoinRequest> = {}): JoinRequest {
  return { kind: 'MAILBOX_BATCH', tenantId: TENANT, entries, ...more };
}

describe('prepareJoin', () => {
  it.each([
    ['15 bytes', TENANT.subarray(1)],
    ['a text that is no uuid', '0011'],
    ['nothing', undefined as unknown as Uint8Array],
  ])('B42: refuses a tenant of %s', (_, tenantId) => {
    expect(() => prepareJoin(request([], { tenantId }))).toThrow(
      expect.objectContaining({ code: 'TENANT_MISSING' }),
    );
  });

  it('refuses 4,097 entries', () => {
    const entry = { conversationId: idOf(1), seq: 1n, messageId: idOf(1) };
    expect(() => prepareJoin(request(new Array(4097).fill(entry)))).toThrow(
      expect.objectContaining({ code: 'ENTRIES_TOO_MANY' }),
    );
  });

  it('refuses an unknown kind', () => {
    const kind = 'EVERYTHING' as JoinRequest['kind'];
    expect(() => prepareJoin(request([], { kind }))).toThrow(
      expect.objectContaining({ code: 'KIND_UNKNOWN' }),
    );
  });

  it('B01: takes no number for a seq', () => {
    const seq = 5 as unknown as bigint;
    expect(() => prepareJoin(request([{ conversationId: idOf(1), seq, messageId: idOf(1) }]))).toThrow(
      TypeError,
    );
  });
});

describe('encodeJoinRequest', () => {
  it('B01: sends seqs beyond 2^53 exactly', () => {
    const seqs = [0n, 127n, 128n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 62n, 2n ** 63n - 1n];
    const entries = seqs.map((seq) => ({
      conversationId: idOf(1),
      seq,
      messageId: idOf(2),
      mailboxSeq: seq,
    }));
    const { body } = encode(request(entries));
    expect(body.entries.map((entry) => entry.conversationSeq)).toEqual(seqs.map(String));
    expect(body.entries.map((entry) => entry.mailboxSeq)).toEqual(seqs.map(String));
  });

  it('S-2: sends a seq from 2^63 on, and one that is no u64, as out of range', () => {
    const seqs = [2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 70n, -1n, -(2n ** 63n)];
    const { body } = encode(
      request(seqs.map((seq) => ({ conversationId: idOf(1), seq, messageId: idOf(2) }))),
    );
    for (const entry of body.entries) expect(BigInt(entry.conversationSeq)).toBeGreaterThanOrEqual(2n ** 63n);
  });

  it('B41: keeps the byte order of ids, their leading zeros, and wrong lengths', () => {
    const messageIds = [idOf(0), idOf(1), Buffer.from(`0f${'00'.repeat(15)}`, 'hex'), idOf(9).subarray(1)];
    messageIds.push(Buffer.alloc(17, 7), Buffer.alloc(300, 8), Buffer.alloc(0));
    const entries = messageIds.map((messageId) => ({ conversationId: TENANT, seq: 1n, messageId }));
    const { body, noted } = encode(request(entries));
    expect(body.entries.map((entry) => Buffer.from(entry.messageId))).toEqual(messageIds);
    expect(body.entries.every((entry) => TENANT.equals(entry.conversationId))).toBe(true);
    expect(noted).toEqual(messageIds.map((id) => (id.length === 16 ? id : undefined)));
  });

  it('B41: reads text forms in network order; a text that is no id becomes no id', () => {
    const { body, noted } = encode(
      request(
        [
          {
            conversationId: '00112233-4455-6677-8899-aabbccddeeff',
            seq: 1n,
            messageId: '00000000000000000000000000000001',
          },
          { conversationId: 'no uuid', seq: 1n, messageId: 'no id' },
        ],
        { tenantId: '00112233-4455-6677-8899-aabbccddeeff' },
      ),
    );
    expect(Buffer.from(body.tenantId)).toEqual(TENANT);
    expect(Buffer.from(body.entries[0]?.conversationId as Uint8Array)).toEqual(TENANT);
    expect(noted).toEqual([idOf(1), undefined]);
    expect(body.entries[1]).toMatchObject({ conversationId: Buffer.alloc(0), messageId: Buffer.alloc(0) });
  });

  it('notes the message ids of entries whose length takes two bytes', () => {
    const floor = { lastActivityId: Buffer.alloc(200, 1), summaryVersion: 3n };
    const { body, noted } = encode(
      request([{ conversationId: idOf(1), seq: 1n, messageId: idOf(7), floor }]),
    );
    expect(noted).toEqual([idOf(7)]);
    expect(Buffer.from(body.entries[0]?.messageId as Uint8Array)).toEqual(idOf(7));
    expect(Buffer.from(body.entries[0]?.floorLastActivityId as Uint8Array)).toEqual(floor.lastActivityId);
  });

  it('marks an inline entry without sending its body', () => {
    const inlineBody = Buffer.alloc(100_000, 1);
    const { body, sent } = encode(
      request([
        { conversationId: idOf(1), seq: 1n, messageId: idOf(1), inlineBody },
        { conversationId: idOf(1), seq: 2n, messageId: idOf(2) },
      ]),
    );
    expect(body.entries[0]?.inlineBody).toBeDefined();
    expect(
      Object.hasOwn(body.entries[1] as object, 'inlineBody') && body.entries[1]?.inlineBody?.length,
    ).toBeFalsy();
    expect(sent.length).toBeLessThan(400);
  });

  it('sends only the entries that are asked for again', () => {
    const entries = [1, 2, 3, 4].map((id) => ({
      conversationId: idOf(1),
      seq: BigInt(id),
      messageId: idOf(id),
    }));
    const { body, noted } = encode(request(entries), [1, 3], 77);
    expect(noted).toEqual([idOf(2), idOf(4)]);
    expect(body.entries.map((entry) => entry.conversationSeq)).toEqual(['2', '4']);
    expect(body.deadlineMs).toBe(77);
  });

  it('names the length of its body in the head, whatever its digits', () => {
    for (const count of [0, 1, 2, 20, 200, 4096]) {
      const entry = { conversationId: idOf(1), seq: 2n ** 63n - 1n, messageId: idOf(1) };
      const { head, sent } = encode(request(new Array(count).fill(entry)));
      expect(head.startsWith('POST /v1/join HTTP/1.1\r\n')).toBe(true);
      expect(Number(/Content-Length: (\d+)\r\n/.exec(head)?.[1])).toBe(sent.length - head.length);
    }
  });

  it('sends exactly what was asked for (property, read back by protobufjs)', () => {
    const id = fc.uint8Array({ minLength: 16, maxLength: 16 });
    const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    const entry = fc.record({
      conversationId: id,
      seq: u64,
      messageId: fc.oneof(id, fc.uint8Array({ maxLength: 140 })),
      mailboxSeq: fc.option(u64, { nil: undefined }),
      floor: fc.option(
        fc.record({ lastActivityId: fc.option(id, { nil: undefined }), summaryVersion: u64 }),
        {
          nil: undefined,
        },
      ),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), fc.boolean(), (entries, wantReceipt) => {
        const { body, noted } = encode(
          request(entries, { kind: 'PUSH_EVENTS', wantReceipt, responseBytesMax: 4096 }),
        );
        expect(body).toMatchObject({ contractVersion: 1, kind: 2, wantReceipt, responseBytesMax: '4096' });
        expect(body.entries.map((sent) => BigInt(sent.conversationSeq))).toEqual(
          entries.map(({ seq }) => seq),
        );
        entries.forEach((wanted, index) => {
          const sent = body.entries[index] as (typeof body.entries)[number];
          expect(Buffer.from(sent.conversationId).equals(wanted.conversationId)).toBe(true);
          expect(Buffer.from(sent.messageId).equals(wanted.messageId)).toBe(true);
          expect(noted[index]?.equals(wanted.messageId)).toBe(
            wanted.messageId.length === 16 ? true : undefined,
          );
          expect(BigInt(sent.mailboxSeq)).toBe(wanted.mailboxSeq ?? 0n);
          expect(BigInt(sent.floorSummaryVersion)).toBe(wanted.floor?.summaryVersion ?? 0n);
          expect(Buffer.from(sent.floorLastActivityId)).toEqual(
            Buffer.from(wanted.floor?.lastActivityId ?? []),
          );
        });
      }),
      { numRuns: 60 },
    );
  });
});
