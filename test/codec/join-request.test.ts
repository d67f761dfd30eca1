// The protobuf request decoder, held to protobufjs' encoder and to hostile bytes.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import Long from 'long';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { decodeJoinRequest } from '../../src/codec/join-request.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { InvalidReason, ResultCode } from '../../src/domain/result.js';

const { root } = protobuf.parse(
  readFileSync(new URL('../../proto/mailjoin.proto', import.meta.url), 'utf8'),
  { keepCase: true },
);
const JoinRequestType = root.lookupType('mailjoin.v1.JoinRequest');

function id(last: number): Uint8Array {
  const bytes = new Uint8Array(16);
  bytes[15] = last;
  return bytes;
}

function long(value: bigint): unknown {
  return Long.fromString(value.toString(), true);
}

function encode(fields: Record<string, unknown>): Uint8Array {
  return JoinRequestType.encode(JoinRequestType.fromObject(fields)).finish();
}

function entry(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { conversation_id: id(1), message_id: id(2), conversation_seq: long(7n), ...fields };
}

function request(entries: unknown[], fields: Record<string, unknown> = {}): Uint8Array {
  return encode({ kind: 1, tenant_id: id(9), entries, ...fields });
}

function codeOf(bytes: Uint8Array): string {
  try {
    decodeJoinRequest(bytes);
    return 'decoded';
  } catch (error) {
    return error instanceof MailjoinError ? error.code : `not coded: ${String(error)}`;
  }
}

describe('decodeJoinRequest refuses as a whole', () => {
  it('B42 a request without a tenant, or with one of another length', () => {
    expect(codeOf(encode({ kind: 1 }))).toBe('TENANT_MISSING');
    expect(codeOf(encode({ kind: 1, tenant_id: new Uint8Array(15) }))).toBe('TENANT_MISSING');
    expect(codeOf(encode({ kind: 1, tenant_id: new Uint8Array(17) }))).toBe('TENANT_MISSING');
  });

  it('an unknown kind and another contract version', () => {
    expect(codeOf(encode({ tenant_id: id(9) }))).toBe('KIND_UNKNOWN');
    expect(codeOf(encode({ kind: 3, tenant_id: id(9) }))).toBe('KIND_UNKNOWN');
    expect(codeOf(request([], { contract_version: 2 }))).toBe('CONTRACT_VERSION');
  });

  it('more entries than a batch may have', () => {
    expect(codeOf(request(new Array(4097).fill({})))).toBe('ENTRIES_TOO_MANY');
    expect(codeOf(request(new Array(4096).fill({})))).toBe('decoded');
  });

  it('B43 21,000 nested group tags', () => {
    expect(codeOf(new Uint8Array(21_000).fill(0x7b))).toBe('REQUEST_MALFORMED');
  });

  it.each(['0AFFFFFFFF07', '228080808008', '22FFFFFFFF0F'])('B44 the huge length prefix %s', (hex) => {
    expect(codeOf(Buffer.from(hex, 'hex'))).toBe('REQUEST_MALFORMED');
  });

  it('B45 wire types 6 and 7', () => {
    expect(codeOf(Buffer.concat([request([entry()]), Buffer.from('0E00', 'hex')]))).toBe('REQUEST_MALFORMED');
    expect(codeOf(Buffer.concat([request([entry()]), Buffer.from('0F00', 'hex')]))).toBe('REQUEST_MALFORMED');
  });

  it('B45 a conversation_seq that is sent length-delimited', () => {
    const bad = Buffer.concat([request([]), Buffer.from('220A1208', 'hex'), Buffer.alloc(8)]);
    expect(codeOf(bad)).toBe('REQUEST_MALFORMED');
  });

  it('B45 a request cut inside an entry; a cut between fields is a shorter request, never a crash', () => {
    const whole = request([entry({ mailbox_seq: long(5n) }), entry({ message_id: id(3) })]);
    for (let length = 0; length < whole.length; length++) {
      expect(['decoded', 'REQUEST_MALFORMED', 'TENANT_MISSING', 'KIND_UNKNOWN']).toContain(
        codeOf(whole.subarray(0, length)),
      );
    }
    expect(codeOf(whole.subarray(0, whole.length - 1))).toBe('REQUEST_MALFORMED');
  });

  it('random bytes are decoded or refused with a code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(codeOf(bytes)).not.toMatch(/^not coded/);
      }),
    );
  });
});

describe('decodeJoinRequest makes an entry INVALID alone', () => {
  const bad = [
    [
      'B41 a conversation_id of 15 bytes',
      { conversation_id: new Uint8Array(15) },
      InvalidReason.CONVERSATION_ID_LENGTH,
    ],
    ['B41 a message_id of 17 bytes', { message_id: new Uint8Array(17) }, InvalidReason.MESSAGE_ID_LENGTH],
    ['a missing message_id', { message_id: undefined }, InvalidReason.MESSAGE_ID_LENGTH],
    ['S-2 conversation_seq 2^63', { conversation_seq: long(2n ** 63n) }, InvalidReason.SEQ_RANGE],
    ['S-2 conversation_seq 2^64 − 1', { conversation_seq: long(2n ** 64n - 1n) }, InvalidReason.SEQ_RANGE],
    ['S-2 mailbox_seq 2^63', { mailbox_seq: long(2n ** 63n) }, InvalidReason.MAILBOX_SEQ_RANGE],
    ['a floor of 8 bytes', { floor_last_activity_id: new Uint8Array(8) }, InvalidReason.FLOOR_MALFORMED],
  ] as const;

  it.each(bad)('%s', (_, fields, reason) => {
    const { entries } = decodeJoinRequest(request([entry(), entry(fields), entry()]));
    expect([...entries.code]).toEqual([ResultCode.PENDING, ResultCode.INVALID, ResultCode.PENDING]);
    expect(entries.reason[1]).toBe(reason);
  });

  it('an inline entry with a bad seq', () => {
    const fields = { inline_body: Buffer.from('x'), conversation_seq: long(2n ** 63n) };
    expect(decodeJoinRequest(request([entry(fields)])).entries.code[0]).toBe(ResultCode.INVALID);
  });
});

describe('decodeJoinRequest', () => {
  it('B01 S-2 keeps every seq exactly', () => {
    const seqs = [
      0n,
      2n ** 53n - 1n,
      2n ** 53n,
      2n ** 53n + 1n,
      2n ** 62n - 1n,
      2n ** 62n,
      2n ** 62n + 1n,
      2n ** 63n - 1n,
    ];
    const { entries } = decodeJoinRequest(request(seqs.map((seq) => entry({ conversation_seq: long(seq) }))));
    expect(seqs.map((_, index) => entries.seq(index))).toEqual(seqs);
    expect([...entries.code]).toEqual(seqs.map(() => ResultCode.PENDING));
  });

  it('B45 takes no entries, unknown fields and inline entries, an empty inline body among them', () => {
    expect(decodeJoinRequest(request([])).entries.count).toBe(0);
    const unknown = Buffer.concat([request([entry()]), Buffer.from('FA0700', 'hex')]);
    expect(decodeJoinRequest(unknown).entries.code[0]).toBe(ResultCode.PENDING);
    const { entries } = decodeJoinRequest(request([entry({ inline_body: new Uint8Array(0) })]));
    expect(entries.code[0]).toBe(ResultCode.INLINE);
  });

  it('reads ids, floors and settings where they lie', () => {
    const floor = { floor_last_activity_id: id(77), floor_summary_version: long(2n ** 40n) };
    const bytes = request([entry(floor)], {
      deadline_ms: 250,
      response_bytes_max: long(1000n),
      want_receipt: true,
    });
    const decoded = decodeJoinRequest(bytes);
    expect(decoded).toMatchObject({ kind: 1, deadlineMs: 250, responseBytesMax: 1000, wantReceipt: true });
    const { entries } = decoded;
    const at = entries.messageAt[0] as number;
    expect(Buffer.from(entries.bytes.subarray(at, at + 16))).toEqual(Buffer.from(id(2)));
    expect(Buffer.from(entries.floorActivity(0) ?? [])).toEqual(Buffer.from(id(77)));
    expect(entries.floorVersion[0]).toBe(2n ** 40n);
  });

  it('lets the last of several floors count, an empty one among them', () => {
    const single = request([entry({ floor_last_activity_id: id(7) })]);
    // The same entry with a second, empty floor_last_activity_id at its end.
    const at = single.lastIndexOf(id(7)[15] as number) + 1;
    const entryLengthAt = single.indexOf(0x22) + 1;
    const twice = Buffer.concat([single.subarray(0, at), Buffer.of(0x2a, 0), single.subarray(at)]);
    twice[entryLengthAt] = (twice[entryLengthAt] as number) + 2;
    expect(decodeJoinRequest(single).entries.floorActivity(0)).toBeDefined();
    expect(decodeJoinRequest(twice).entries.floorActivity(0)).toBeUndefined();
  });

  it('fills in defaults and lowers what is above the maximum', () => {
    expect(decodeJoinRequest(request([]))).toMatchObject({
      deadlineMs: 5000,
      responseBytesMax: 16 * 1024 * 1024,
    });
    expect(decodeJoinRequest(request([], { kind: 2 })).deadlineMs).toBe(1000);
    const high = request([], { deadline_ms: 4_000_000_000, response_bytes_max: long(2n ** 60n) });
    expect(decodeJoinRequest(high)).toMatchObject({ deadlineMs: 60_000, responseBytesMax: 64 * 1024 * 1024 });
  });
});
