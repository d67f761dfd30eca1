// The log's records by hand, held to protobufjs over arbitrary records and to hostile bytes (B01, B43–B45, B47).
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import {
  decodeLogRecord,
  encodeLogRecord,
  type LogRecord,
  type LogTarget,
} from '../../src/codec/log-record.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { logRecord } from './log-records.js';

const { root } = protobuf.parse(readFileSync(new URL('../../proto/log.proto', import.meta.url), 'utf8'));
const Theirs = root.lookupType('mailjoin.log.v1.LogRecord');

const ID = Buffer.alloc(16, 7);
const RECALL = {
  tenantId: ID,
  conversationId: ID,
  recall: { conversationSeq: 5, target: { conversationSeq: 4, messageId: ID }, lastActivityId: ID },
};

function theirs(fields: Record<string, unknown>): Uint8Array {
  return Theirs.encode(Theirs.fromObject(fields)).finish();
}

/** The code of what decoding throws; fails the test for anything that is no coded error. */
function codeOf(bytes: Uint8Array): string {
  try {
    decodeLogRecord(bytes);
  } catch (error) {
    if (error instanceof MailjoinError) return error.code;
    throw error;
  }
  return 'decoded';
}

/** Comparable: bytes as hexadecimal, whatever class they have. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
}

/** The record in the shape of the .proto file, as protobufjs' fromObject takes it. */
function protoOf(log: LogRecord): Record<string, unknown> {
  const target = (of: LogTarget) => ({
    conversationSeq: of.seq.toString(),
    messageId: of.messageId,
    createdAt: of.createdAtMs.toString(),
    retentionClass: of.retentionClass,
  });
  if (log.kind === 'keyDestroyed') {
    return { appendedAt: log.appendedAtMs.toString(), keyDestroyed: { dekId: log.dekId } };
  }
  const head = {
    tenantId: log.tenantId,
    conversationId: log.conversationId,
    appendedAt: log.appendedAtMs.toString(),
  };
  if (log.kind === 'message') {
    const { seq, replyToSeq, createdAtMs, state: _, ...row } = log.record;
    const message = {
      ...row,
      conversationSeq: seq.toString(),
      replyToConversationSeq: replyToSeq?.toString(),
      createdAt: createdAtMs.toString(),
    };
    return { ...head, message };
  }
  if (log.kind === 'reactions') {
    const reactions = {
      target: target(log.target),
      summaryVersion: log.summaryVersion.toString(),
      counts: Object.fromEntries(log.counts),
      updatedAt: log.updatedAtMs.toString(),
    };
    return { ...head, reactions };
  }
  const event = {
    eventId: log.eventId.toString(),
    conversationSeq: log.seq.toString(),
    target: target(log.target),
    lastActivityId: log.lastActivityId,
  };
  if (log.kind === 'recall') return { ...head, recall: event };
  return { ...head, edit: { ...event, payload: log.payload, dekId: log.dekId } };
}

/** protobufjs keeps maps in plain objects, where this key is not one (B47); our own codec is tested with it below. */
const withoutProto = logRecord.filter(
  (log) => log.kind !== 'reactions' || log.counts.every(([key]) => key !== '__proto__'),
);

describe('a record of the log', () => {
  it.each([
    ['no protobuf', Uint8Array.of(0x0e, 0)],
    ['a group', new Uint8Array(21_000).fill(0x7b)],
    ['a length beyond the record', Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x07)],
    ['a tenant_id of 15 bytes', theirs({ ...RECALL, tenantId: ID.subarray(1) })],
    ['no conversation_id', theirs({ ...RECALL, conversationId: undefined })],
    ['a recall without target', theirs({ ...RECALL, recall: { lastActivityId: ID } })],
    ['a target without message_id', theirs({ ...RECALL, recall: { lastActivityId: ID, target: {} } })],
    ['a recall without revision', theirs({ ...RECALL, recall: { target: { messageId: ID } } })],
    [
      'a seq with bit 63 set',
      theirs({ ...RECALL, recall: { ...RECALL.recall, conversationSeq: '9223372036854775808' } }),
    ],
    ['a message without message_id', theirs({ tenantId: ID, conversationId: ID, message: {} })],
    [
      'a sender_id of 3 bytes',
      theirs({
        tenantId: ID,
        conversationId: ID,
        message: { messageId: ID, senderId: Buffer.alloc(3) },
      }),
    ],
    ['a destroyed key without id', theirs({ keyDestroyed: {} })],
    // field 8 { field 1 { field 1: C3 28 } }
    ['text that is not UTF-8', Uint8Array.of(0x42, 6, 0x0a, 4, 0x0a, 2, 0xc3, 0x28)],
    ['a seq sent length-delimited', Uint8Array.of(0x1a, 1, 0)],
  ])('B45 is LOG_CORRUPT with %s', (_, bytes) => {
    expect(codeOf(bytes)).toBe('LOG_CORRUPT');
  });

  it('B45 of any bytes decodes or is LOG_CORRUPT, never anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(['decoded', 'LOG_CORRUPT']).toContain(codeOf(bytes));
      }),
    );
  });

  it('B45 cut at every byte, or with any byte changed, decodes or is LOG_CORRUPT', () => {
    fc.assert(
      fc.property(logRecord, fc.nat(), fc.nat({ max: 255 }), (log, where, byte) => {
        const bytes = encodeLogRecord(log);
        for (let end = 0; end < bytes.length; end++) {
          expect(['decoded', 'LOG_CORRUPT']).toContain(codeOf(bytes.subarray(0, end)));
        }
        const changed = Uint8Array.from(bytes);
        changed[where % bytes.length] = byte;
        expect(['decoded', 'LOG_CORRUPT']).toContain(codeOf(changed));
      }),
      { numRuns: 50 },
    );
  });

  it('without a body, or with one of a later version, is passed over', () => {
    expect(decodeLogRecord(new Uint8Array(0))).toBeUndefined();
    const head = theirs({ tenantId: ID, conversationId: ID });
    expect(decodeLogRecord(Buffer.concat([head, Uint8Array.of(0x7a, 2, 0xff, 0xff)]))).toBeUndefined();
  });

  it('comes back as it was, with all 64 bits of its numbers (B01)', () => {
    fc.assert(
      fc.property(logRecord, (log) => {
        expect(plain(decodeLogRecord(encodeLogRecord(log)))).toEqual(plain(log));
      }),
    );
  });

  it('reads the same with unknown fields in it', () => {
    fc.assert(
      fc.property(logRecord, fc.uint8Array({ maxLength: 20 }), (log, junk) => {
        const unknown = [Uint8Array.of(0xfa, 0x01, junk.length), junk, Uint8Array.of(0xf8, 0x01, 1)];
        const bytes = Buffer.concat([...unknown, encodeLogRecord(log), ...unknown]);
        expect(plain(decodeLogRecord(bytes))).toEqual(plain(log));
      }),
    );
  });

  it('that protobufjs wrote is read here', () => {
    fc.assert(
      fc.property(withoutProto, (log) => {
        const read = plain(decodeLogRecord(theirs(protoOf(log)))) as Record<string, unknown>;
        const expected = plain(log) as Record<string, unknown>;
        // A plain object orders keys that look like numbers first.
        const sorted = (counts: unknown) => (Array.isArray(counts) ? [...counts].sort() : counts);
        expect({ ...read, counts: sorted(read.counts) }).toEqual({
          ...expected,
          counts: sorted(expected.counts),
        });
      }),
    );
  });

  it('that was written here is read by protobufjs', () => {
    fc.assert(
      fc.property(withoutProto, (log) => {
        const options = { longs: String, bytes: Buffer, defaults: true, oneofs: true };
        const read = Theirs.toObject(Theirs.decode(encodeLogRecord(log)), options);
        const expected = Theirs.toObject(Theirs.fromObject(protoOf(log)), options);
        expect(plain(read)).toEqual(plain(expected));
      }),
    );
  });

  it('B47 carries reaction keys that name object properties', () => {
    const log = fc
      .sample(logRecord, { numRuns: 100, seed: 1 })
      .find((each) => each.kind === 'reactions') as LogRecord & { kind: 'reactions' };
    const counts = [
      ['__proto__', 1],
      ['toString', 2],
      ['', 0],
    ] as const;
    const read = decodeLogRecord(encodeLogRecord({ ...log, counts }));
    expect(read).toMatchObject({ counts });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('S-2 with bit 63 set in a seq is never written', () => {
    const log = fc
      .sample(logRecord, { numRuns: 100, seed: 1 })
      .find((each) => each.kind === 'recall') as LogRecord & { kind: 'recall' };
    expect(() => encodeLogRecord({ ...log, seq: 2n ** 63n })).toThrow(/bit 63/);
    expect(decodeLogRecord(encodeLogRecord({ ...log, seq: 2n ** 63n - 1n }))).toMatchObject({
      seq: 2n ** 63n - 1n,
    });
  });
});
