/** HistoryRequest and MessageRequest in their three media types: alike where they are right, coded where they are wrong. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Long from 'long';
import { pack } from 'msgpackr';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import {
  decodeDetailRequest,
  decodeDetailRequestJson,
  decodeDetailRequestMsgpack,
} from '../../src/codec/detail-request.js';
import { decodeHistoryRequestJson, decodeHistoryRequestMsgpack } from '../../src/codec/history-loose.js';
import { decodeHistoryRequest } from '../../src/codec/history-request.js';
import { formatHex, formatUuid } from '../../src/domain/ids.js';
import { DEADLINE_MS_DEFAULT, HISTORY_LIMIT_DEFAULT, HISTORY_LIMIT_MAX } from '../../src/domain/limits.js';
import { ROOT } from '../tidy/source-scan.js';

const contract = protobuf.loadSync(join(ROOT, 'proto', 'mailjoin.proto'));
const [tenantId, conversationId, messageId, userId] = [1, 2, 3, 4].map(() => randomBytes(16)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];

function proto(name: string, fields: Record<string, unknown>): Uint8Array {
  return contract.lookupType(`mailjoin.v1.${name}`).encode(fields).finish();
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe('HistoryRequest', () => {
  const ids = { tenantId, conversationId };

  it('is refused as a whole for what is wrong with it', () => {
    const of = (fields: Record<string, unknown>) => () =>
      decodeHistoryRequest(proto('HistoryRequest', fields));
    const coded = (code: string) => expect.objectContaining({ code });
    expect(of({ conversationId })).toThrow(coded('TENANT_MISSING'));
    expect(of({ tenantId })).toThrow(coded('REQUEST_MALFORMED'));
    expect(of({ tenantId, conversationId: Buffer.alloc(15) })).toThrow(coded('REQUEST_MALFORMED'));
    expect(of({ ...ids, direction: 2 })).toThrow(coded('REQUEST_MALFORMED'));
    expect(of({ ...ids, contractVersion: 2 })).toThrow(coded('CONTRACT_VERSION'));
    // R1.1, D6: bit 63.
    const beyond = Long.fromString('9223372036854775808', true);
    expect(of({ ...ids, anchor: beyond })).toThrow(coded('SEQ_RANGE'));
    expect(() => decodeHistoryRequest(Buffer.from([0x12, 0x20, 0]))).toThrow(coded('REQUEST_MALFORMED'));
    expect(() => decodeHistoryRequestJson(Buffer.from('{'))).toThrow(coded('REQUEST_MALFORMED'));
    expect(() => decodeHistoryRequestJson(json([]))).toThrow(coded('REQUEST_MALFORMED'));
    const uuids = {
      tenant_id: formatUuid(tenantId as never),
      conversation_id: formatUuid(conversationId as never),
    };
    for (const anchor of [2n ** 63n, 2n ** 64n]) {
      const outOfRange = () => decodeHistoryRequestJson(json({ ...uuids, anchor: String(anchor) }));
      expect(outOfRange).toThrow(coded('SEQ_RANGE'));
      expect(outOfRange).toThrow('out of range');
    }
    const wrong = { tenant_id: formatUuid(tenantId as never), conversation_id: 'x' };
    expect(() => decodeHistoryRequestJson(json(wrong))).toThrow(coded('REQUEST_MALFORMED'));
  });

  it('has defaults, and lowers what is above a maximum', () => {
    expect(decodeHistoryRequest(proto('HistoryRequest', ids))).toMatchObject({
      direction: 0,
      anchor: undefined,
      limit: HISTORY_LIMIT_DEFAULT,
      deadlineMs: DEADLINE_MS_DEFAULT.MAILBOX_BATCH,
    });
    expect(decodeHistoryRequest(proto('HistoryRequest', { ...ids, limit: 201 })).limit).toBe(
      HISTORY_LIMIT_MAX,
    );
  });

  it('tells an anchor of 0 from none', () => {
    expect(decodeHistoryRequest(proto('HistoryRequest', { ...ids, anchor: 0 })).anchor).toBe(0n);
  });

  it('says the same in every media type', () => {
    const fields = { ...ids, direction: 1, anchor: 4096, limit: 7, deadlineMs: 250, wantReceipt: true };
    const expected = decodeHistoryRequest(proto('HistoryRequest', fields));
    expect(expected).toMatchObject({
      direction: 1,
      anchor: 4096n,
      limit: 7,
      deadlineMs: 250,
      wantReceipt: true,
    });
    const loose = { direction: 'NEWER', limit: 7, deadline_ms: 250, want_receipt: true };
    const texts = {
      tenant_id: formatUuid(tenantId as never),
      conversation_id: formatUuid(conversationId as never),
      anchor: '4096',
    };
    const bins = { tenant_id: tenantId, conversation_id: conversationId, anchor: 4096 };
    for (const other of [
      decodeHistoryRequestJson(json({ ...loose, ...texts })),
      decodeHistoryRequestMsgpack(pack({ ...loose, ...bins })),
    ]) {
      expect({ ...other, tenantId: 0, conversationId: 0 }).toEqual({
        ...expected,
        tenantId: 0,
        conversationId: 0,
      });
      expect(formatHex(other.tenantId)).toBe(formatHex(tenantId));
      expect(formatHex(other.conversationId)).toBe(formatHex(conversationId));
    }
  });
});

describe('MessageRequest', () => {
  const ids = { tenantId, conversationId, messageId, userId };

  it('is refused as a whole for what is wrong with it', () => {
    const of = (fields: Record<string, unknown>) => () =>
      decodeDetailRequest(proto('MessageRequest', fields));
    const coded = (code: string) => expect.objectContaining({ code });
    expect(of({ ...ids, tenantId: undefined })).toThrow(coded('TENANT_MISSING'));
    expect(of({ ...ids, messageId: undefined })).toThrow(coded('REQUEST_MALFORMED'));
    expect(of({ ...ids, userId: Buffer.alloc(3) })).toThrow(coded('REQUEST_MALFORMED'));
    const beyond = Long.fromString('9223372036854775808', true);
    expect(of({ ...ids, conversationSeq: beyond })).toThrow(coded('SEQ_RANGE'));
  });

  it('says the same in every media type', () => {
    const expected = decodeDetailRequest(proto('MessageRequest', { ...ids, conversationSeq: 41 }));
    const texts = {
      tenant_id: formatUuid(tenantId as never),
      conversation_id: formatUuid(conversationId as never),
      conversation_seq: '41',
      message_id: formatHex(messageId),
      user_id: formatUuid(userId as never),
    };
    const bins = {
      tenant_id: tenantId,
      conversation_id: conversationId,
      message_id: messageId,
      user_id: userId,
    };
    for (const other of [
      decodeDetailRequestJson(json(texts)),
      decodeDetailRequestMsgpack(pack({ ...bins, conversation_seq: 41 })),
    ]) {
      expect(other.seq).toBe(expected.seq);
      for (const name of ['tenantId', 'conversationId', 'messageId', 'userId'] as const) {
        expect(formatHex(other[name] as Uint8Array)).toBe(formatHex(expected[name] as Uint8Array));
      }
    }
  });
});
