import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkMessageIds, decodeJoinResponse, JoinResult, outcomeOf } from '../../src/client/join-result.js';
import { decodeMessageBody } from '../../src/client/message-body.js';
import { encodeBody, encodeResponse, idOf } from './contract.js';

const PROTOCOL = expect.objectContaining({ code: 'CLIENT_PROTOCOL' });

function outcomes(bytes: Uint8Array, count: number) {
  const response = decodeJoinResponse(bytes, count);
  return Array.from({ length: count }, (_, index) => outcomeOf(response, index, undefined));
}

describe('decodeJoinResponse', () => {
  it('refuses fewer and more results than entries', () => {
    const bytes = encodeResponse([], [{ result: 4 }, { result: 4 }]);
    expect(() => decodeJoinResponse(bytes, 1)).toThrow(PROTOCOL);
    expect(() => decodeJoinResponse(bytes, 3)).toThrow(PROTOCOL);
    expect(outcomes(bytes, 2).map(({ result }) => result)).toEqual(['NOT_FOUND', 'NOT_FOUND']);
  });

  const body = encodeBody(idOf(1), Buffer.from('a'));
  it.each([
    ['an unsettled result', encodeResponse([], [{ result: 0 }])],
    ['OK without a body', encodeResponse([body], [{ result: 1 }])],
    ['RECALLED without a body', encodeResponse([], [{ result: 3 }])],
    ['a body that is not there', encodeResponse([body], [{ result: 1, body: 2 }])],
    ['NOT_FOUND with a body', encodeResponse([body], [{ result: 4, body: 1 }])],
    ['another contract version', Buffer.from('08021a020804', 'hex')],
    ['a group', Buffer.alloc(21_000, 0x7b)],
    ['a length beyond the end (B44)', Buffer.from('12ffffffff07', 'hex')],
  ])('refuses %s', (_, bytes) => {
    expect(() => decodeJoinResponse(bytes, 1)).toThrow(PROTOCOL);
  });

  it('refuses a response that was cut at any byte', () => {
    const bytes = encodeResponse(
      [body, body],
      [{ result: 1, body: 1 }, { result: 4 }, { result: 1, body: 2 }],
    );
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(() => decodeJoinResponse(bytes.subarray(0, cut), 3)).toThrow(PROTOCOL);
    }
  });

  it('either decodes or refuses, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(4), (bytes, count) => {
        try {
          expect(outcomes(bytes, count)).toHaveLength(count);
        } catch (error) {
          expect(error).toMatchObject({ code: 'CLIENT_PROTOCOL' });
        }
      }),
    );
  });

  it('reads a result of a later contract as UNAVAILABLE, and skips unknown fields', () => {
    const bytes = Buffer.concat([Buffer.from('9a0600', 'hex'), encodeResponse([], [{ result: 77 }])]);
    expect(outcomes(bytes, 1)[0]).toMatchObject({ result: 'UNAVAILABLE', retryable: true });
  });

  it('gives the reason of an INVALID entry, also one it does not know', () => {
    const bytes = encodeResponse(
      [],
      [
        { result: 12, reason: 3 },
        { result: 12, reason: 200 },
      ],
    );
    const read = outcomes(bytes, 2);
    expect(read.map(({ invalidReason }) => invalidReason)).toEqual(['SEQ_RANGE', 'REASON_200']);
    expect(read[0]).toMatchObject({ result: 'INVALID', retryable: false, body: undefined });
  });

  it('says of each result whether asking again can help', () => {
    const bytes = encodeResponse(
      [],
      [2, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((result) => ({ result })),
    );
    const retryable = outcomes(bytes, 10).flatMap((outcome) => (outcome.retryable ? [outcome.result] : []));
    expect(retryable).toEqual(['NOT_YET', 'UNAVAILABLE', 'DEADLINE', 'DEFERRED']);
  });

  it('gives views on the response, shared by entries of the same message', () => {
    const bytes = encodeResponse(
      [body],
      [
        { result: 1, body: 1 },
        { result: 1, body: 1 },
      ],
    );
    const [first, second] = outcomes(bytes, 2);
    expect(first?.body).toEqual(new Uint8Array(body));
    expect(first?.body?.buffer).toBe(bytes.buffer);
    expect(second?.body).toBe(first?.body);
  });

  it('lists each body once and sums the receipts of its rounds', () => {
    const bytes = encodeResponse([body], [{ result: 1, body: 1 }], {
      entries: 1,
      rowBytes: 7,
      totalUs: 2 ** 33,
    });
    const responses = [decodeJoinResponse(bytes, 1), decodeJoinResponse(bytes, 1)];
    const result = new JoinResult([], responses);
    expect(result.bodies).toEqual([new Uint8Array(body), new Uint8Array(body)]);
    expect(result.receipt).toMatchObject({ entries: 2, rowBytes: 14, totalMicros: 2 ** 34, groups: 0 });
    expect(result.rounds).toBe(2);
  });
});

describe('checkMessageIds', () => {
  const bytes = encodeResponse([encodeBody(idOf(1), Buffer.from('a'))], [{ result: 1, body: 1 }]);

  it('B39: refuses the body of another message', () => {
    const response = decodeJoinResponse(bytes, 1);
    expect(() => checkMessageIds(response, idOf(2), Int32Array.of(0))).toThrow(PROTOCOL);
    expect(() => checkMessageIds(response, idOf(1), Int32Array.of(-1))).toThrow(PROTOCOL);
    expect(() => checkMessageIds(response, idOf(1), Int32Array.of(0))).not.toThrow();
  });

  it('finds a message_id that is not the first field', () => {
    const moved = Buffer.concat([Buffer.from('4001', 'hex'), encodeBody(idOf(1), Buffer.alloc(0))]);
    const framed = Buffer.concat([
      Buffer.from([0x12, moved.length]),
      moved,
      Buffer.from('1a0408011001', 'hex'),
    ]);
    const response = decodeJoinResponse(framed, 1);
    expect(() => checkMessageIds(response, idOf(1), Int32Array.of(0))).not.toThrow();
    expect(() => checkMessageIds(response, idOf(2), Int32Array.of(0))).toThrow(PROTOCOL);
  });

  it('refuses a body without a message_id, and one that is no message', () => {
    for (const hex of ['1202' + '4001' + '1a0408011001', '1202' + '0aff' + '1a0408011001']) {
      const response = decodeJoinResponse(Buffer.from(hex, 'hex'), 1);
      expect(() => checkMessageIds(response, idOf(1), Int32Array.of(0))).toThrow(PROTOCOL);
    }
  });
});

describe('decodeMessageBody', () => {
  it('refuses bytes that are no body', () => {
    expect(() => decodeMessageBody(Buffer.from('0aff', 'hex'))).toThrow(PROTOCOL);
  });

  it('reads a body', () => {
    const body = decodeMessageBody(encodeBody(idOf(5), Buffer.from('text')));
    expect(Buffer.from(body.payload as Uint8Array).toString()).toBe('text');
    expect(Buffer.from(body.messageId)).toEqual(idOf(5));
  });
});
