// The self-describing media types: what is malformed, what is INVALID alone, and that all three forms mean the same.
import { Packr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { decodeJoinRequestJson } from '../../src/codec/join-json.js';
import { decodeJoinRequestMsgpack } from '../../src/codec/join-msgpack.js';
import type { JoinRequest } from '../../src/codec/join-request.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { InvalidReason, ResultCode } from '../../src/domain/result.js';

const TENANT = '00112233-4455-6677-8899-aabbccddeeff';
const CONVERSATION = '7d444840-9dc0-11d1-b245-5ffdce74fad2';
const MESSAGE = '000000000000000000000190a1b2c3d4';
const packr = new Packr({ useRecords: false });

function json(value: unknown): JoinRequest {
  return decodeJoinRequestJson(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
}

function codeOf(decode: () => unknown): string {
  try {
    decode();
    return 'decoded';
  } catch (error) {
    return error instanceof MailjoinError ? error.code : `not coded: ${String(error)}`;
  }
}

function entry(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { conversation_id: CONVERSATION, conversation_seq: '7', message_id: MESSAGE, ...fields };
}

function request(entries: unknown, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { kind: 'MAILBOX_BATCH', tenant_id: TENANT, entries, ...fields };
}

describe('JSON', () => {
  it.each(['', '{', 'null', '[]', '"x"', '7', '{"entries":7}', '[{"kind":1}]'])(
    'refuses %j as a whole',
    (text) => {
      expect(codeOf(() => json(text))).toBe('REQUEST_MALFORMED');
    },
  );

  it('refuses invalid UTF-8 and nesting without end, with a code', () => {
    expect(codeOf(() => decodeJoinRequestJson(Buffer.from([0x22, 0xc3, 0x28, 0x22])))).toBe(
      'REQUEST_MALFORMED',
    );
    expect(codeOf(() => json('['.repeat(1_000_000)))).toBe('REQUEST_MALFORMED');
  });

  it('refuses a missing or malformed tenant, kind and settings', () => {
    expect(codeOf(() => json({ kind: 'MAILBOX_BATCH' }))).toBe('TENANT_MISSING');
    expect(codeOf(() => json(request([], { tenant_id: 'nobody' })))).toBe('TENANT_MISSING');
    expect(codeOf(() => json(request([], { kind: 'POLL' })))).toBe('KIND_UNKNOWN');
    expect(codeOf(() => json(request([], { deadline_ms: -1 })))).toBe('REQUEST_MALFORMED');
    expect(codeOf(() => json(request([], { deadline_ms: 'soon' })))).toBe('REQUEST_MALFORMED');
    expect(codeOf(() => json(request(new Array(4097).fill({}))))).toBe('ENTRIES_TOO_MANY');
  });

  it.each([
    ['B41 an id of 15 bytes', { message_id: MESSAGE.slice(2) }, InvalidReason.MESSAGE_ID_LENGTH],
    ['an id that is no hexadecimal', { message_id: 'x'.repeat(32) }, InvalidReason.MALFORMED],
    ['a conversation that is no uuid', { conversation_id: 'chat' }, InvalidReason.MALFORMED],
    ['S-2 a seq of 2^63', { conversation_seq: '9223372036854775808' }, InvalidReason.SEQ_RANGE],
    ['a negative seq', { conversation_seq: '-1' }, InvalidReason.SEQ_RANGE],
    ['B01 a seq that JSON has rounded', { conversation_seq: 2 ** 53 }, InvalidReason.MALFORMED],
    ['a seq that is no number', { conversation_seq: 'seven' }, InvalidReason.MALFORMED],
    ['a mailbox_seq of 2^63', { mailbox_seq: '9223372036854775808' }, InvalidReason.MAILBOX_SEQ_RANGE],
    ['a short floor', { floor_last_activity_id: '00' }, InvalidReason.FLOOR_MALFORMED],
  ])('makes an entry INVALID alone: %s', (_, fields, reason) => {
    const { entries } = json(request([entry(), entry(fields), entry()]));
    expect([...entries.code]).toEqual([ResultCode.PENDING, ResultCode.INVALID, ResultCode.PENDING]);
    expect(entries.reason[1]).toBe(reason);
  });

  it('takes null for absent, everywhere: an entry with a null body is joined', () => {
    const nulls = {
      inline_body: null,
      mailbox_seq: null,
      floor_last_activity_id: null,
      floor_summary_version: null,
    };
    const { entries, deadlineMs } = json(
      request([entry(nulls)], { deadline_ms: null, contract_version: null }),
    );
    expect([entries.code[0], entries.floorAt[0], deadlineMs]).toEqual([ResultCode.PENDING, -1, 5000]);
    expect(json(request(null)).entries.count).toBe(0);
    expect(codeOf(() => json(request([], { tenant_id: null })))).toBe('TENANT_MISSING');
  });

  it('takes text or a map for an inline body, and nothing else', () => {
    const bodies = ['', 'aGk=', {}, 7, true, []];
    const { entries } = json(request(bodies.map((inline_body) => entry({ inline_body }))));
    expect([...entries.code]).toEqual([2, 2, 2, 12, 12, 12]);
  });

  it('refuses 32-bit settings above 32 bits instead of cutting them', () => {
    expect(codeOf(() => json(request([], { deadline_ms: 4294967297 })))).toBe('REQUEST_MALFORMED');
    expect(codeOf(() => json(request([], { contract_version: 4294967297 })))).toBe('REQUEST_MALFORMED');
  });

  it('makes an entry that is no map INVALID alone', () => {
    const { entries } = json(request([null, 7, [], entry()]));
    expect([...entries.code]).toEqual([12, 12, 12, 0]);
  });

  it('B47 does not let keys of objects through to prototypes', () => {
    const { entries } = json(
      `{"kind":1,"tenant_id":"${TENANT}","entries":[{"__proto__":{"inline_body":"x"}}]}`,
    );
    expect(entries.code[0]).toBe(ResultCode.INVALID);
    expect(({} as Record<string, unknown>).inline_body).toBeUndefined();
  });
});

describe('MessagePack', () => {
  it.each(['', 'c1', 'c0', '90', 'dfffffffff', 'ddffffffff', 'a3', 'd6ff00000000'])(
    'refuses %s as a whole',
    (hex) => {
      expect(codeOf(() => decodeJoinRequestMsgpack(Buffer.from(hex, 'hex')))).toBe('REQUEST_MALFORMED');
    },
  );

  it('refuses nesting without end, with a code', () => {
    expect(codeOf(() => decodeJoinRequestMsgpack(Buffer.alloc(1_000_000, 0x91)))).toBe('REQUEST_MALFORMED');
  });

  it('means what the JSON form means, seqs above 2^53 exactly', () => {
    const seqs = ['0', '9007199254740993', '9223372036854775807'];
    const ids = { floor_last_activity_id: MESSAGE, floor_summary_version: '5', mailbox_seq: '3' };
    const fromJson = json(request(seqs.map((conversation_seq) => entry({ conversation_seq, ...ids }))));
    const bin = (text: string) => Buffer.from(text.replaceAll('-', ''), 'hex');
    const packed = packr.pack({
      kind: 1,
      tenant_id: bin(TENANT),
      entries: seqs.map((seq) => ({
        conversation_id: bin(CONVERSATION),
        message_id: bin(MESSAGE),
        conversation_seq: BigInt(seq),
        floor_last_activity_id: bin(MESSAGE),
        floor_summary_version: 5,
        mailbox_seq: 3n,
      })),
    });
    const fromMsgpack = decodeJoinRequestMsgpack(packed);
    expect(fromMsgpack.entries).toEqual(fromJson.entries);
    expect(Buffer.from(fromMsgpack.tenantId)).toEqual(Buffer.from(fromJson.tenantId));
    expect(seqs.map((_, index) => String(fromJson.entries.seq(index)))).toEqual(seqs);
  });
});
