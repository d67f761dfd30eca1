// Bodies by hand, held to protobufjs over arbitrary rows.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { blockABytes, blockBBytes, writeBlockA, writeBlockB } from '../../src/codec/body.js';
import { decodeMessageBody } from '../../src/codec/message-body.js';
import type { ActivityId, ConversationId, MessageId, UserId } from '../../src/domain/ids.js';
import { effectiveState, type MessageRecord, type ReactionSummary } from '../../src/domain/message.js';

const { root } = protobuf.parse(readFileSync(new URL('../../proto/mailjoin.proto', import.meta.url), 'utf8'));
const MessageBodyType = root.lookupType('mailjoin.v1.MessageBody');

const id16 = fc.uint8Array({ minLength: 16, maxLength: 16 });
const blob = fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined });
const text = fc.option(fc.string({ unit: 'binary', maxLength: 40 }), { nil: undefined });
const int32 = fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { nil: undefined });
const seq = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const maybeSeq = fc.option(seq, { nil: undefined });

const record: fc.Arbitrary<MessageRecord> = fc.record({
  seq,
  messageId: id16.map((bytes) => bytes as MessageId),
  lastActivityId: fc.option(
    id16.map((bytes) => bytes as ActivityId),
    { nil: undefined },
  ),
  senderId: fc.option(
    id16.map((bytes) => bytes as UserId),
    { nil: undefined },
  ),
  senderDeviceId: fc.option(
    id16.map((bytes) => bytes as UserId),
    { nil: undefined },
  ),
  clientMessageId: text,
  messageType: int32,
  customType: text,
  schemaVersion: int32,
  payload: blob,
  mediaMetadata: blob,
  replyToSeq: maybeSeq,
  mentionTargets: blob,
  state: fc.constantFrom(0, 1, 2),
  recallEventSeq: maybeSeq,
  editedAtActivityId: fc.option(
    id16.map((bytes) => bytes as ActivityId),
    { nil: undefined },
  ),
  createdAtMs: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  retentionClass: fc.constant(0),
  dekId: fc.constant(undefined),
  ttlSeconds: fc.constant(undefined),
});
const summary: fc.Arbitrary<ReactionSummary> = fc.record({
  seq: fc.constant(0n),
  counts: fc.uniqueArray(
    fc.tuple(fc.string({ unit: 'binary', maxLength: 8 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    {
      selector: ([key]) => Buffer.from(key).toString('hex'),
      maxLength: 6,
    },
  ),
  version: seq,
  updatedAtMs: maybeSeq,
});
const conversationId = new Uint8Array(16).fill(3) as ConversationId;

function encode(
  row: MessageRecord,
  withContent: boolean,
  reactions: ReactionSummary | undefined,
): Uint8Array {
  const payloadBytes = row.payload === undefined ? -1 : row.payload.length;
  const aBytes = blockABytes(row, withContent, payloadBytes);
  const target = new Uint8Array(aBytes + blockBBytes(reactions));
  const payloadAt = writeBlockA(target, 0, conversationId, row, withContent, payloadBytes);
  if (withContent && row.payload !== undefined) target.set(row.payload, payloadAt);
  expect(payloadAt + (withContent ? Math.max(0, payloadBytes) : 0)).toBe(aBytes);
  expect(writeBlockB(target, aBytes, reactions)).toBe(target.length);
  return target;
}

describe('a body', () => {
  it('has exactly its computed size, and reads the same with protobufjs and with decodeMessageBody', () => {
    fc.assert(
      fc.property(record, fc.option(summary, { nil: undefined }), (row, reactions) => {
        const bytes = encode(row, true, reactions);
        const theirs = MessageBodyType.toObject(MessageBodyType.decode(bytes), { longs: String });
        const ours = decodeMessageBody(bytes);
        expect(theirs.conversationSeq ?? '0').toBe(row.seq.toString());
        expect(theirs.createdAt ?? '0').toBe(row.createdAtMs.toString());
        expect(theirs.messageType ?? 0).toBe(row.messageType ?? 0);
        expect(theirs.state ?? 0).toBe(effectiveState(row));
        expect(theirs.recallEventConversationSeq).toBe(row.recallEventSeq?.toString());
        expect(ours.conversationSeq).toBe(row.seq);
        expect(ours.createdAtMs).toBe(row.createdAtMs);
        expect(ours.messageType).toBe(row.messageType);
        expect(ours.schemaVersion).toBe(row.schemaVersion);
        expect(ours.replyToConversationSeq).toBe(row.replyToSeq);
        expect(ours.clientMessageId ?? '').toBe(theirs.clientMessageId ?? '');
        expect(ours.customType ?? '').toBe(theirs.customType ?? '');
        for (const [mine, other] of [
          [ours.payload, row.payload],
          [ours.mediaMetadata, row.mediaMetadata],
          [ours.mentionTargets, row.mentionTargets],
          [ours.lastActivityId, row.lastActivityId],
          [ours.senderId, row.senderId],
          [ours.editedAtActivityId, row.editedAtActivityId],
        ]) {
          expect(mine && Buffer.from(mine)).toEqual(other && Buffer.from(other));
        }
        const counts = new Map((reactions?.counts ?? []).map(([key, n]) => [Buffer.from(key).toString(), n]));
        expect(ours.reactions?.counts ?? new Map()).toEqual(counts);
        expect(ours.reactions?.summaryVersion).toBe(reactions?.version);
        if (reactions) expect(theirs.reactions.summaryVersion ?? '0').toBe(reactions.version.toString());
      }),
    );
  });

  it('without content has neither payload nor media nor mentions (D12)', () => {
    fc.assert(
      fc.property(record, (row) => {
        const body = decodeMessageBody(encode(row, false, undefined));
        expect([body.payload, body.mediaMetadata, body.mentionTargets]).toEqual([
          undefined,
          undefined,
          undefined,
        ]);
        expect(body.conversationSeq).toBe(row.seq);
      }),
    );
  });

  it('B47 carries reaction keys that name object properties', () => {
    const counts = [
      ['__proto__', 1],
      ['toString', 2],
      ['', 3],
    ] as const;
    const row = fc.sample(record, { numRuns: 1, seed: 1 })[0] as MessageRecord;
    const body = decodeMessageBody(
      encode(row, true, { seq: 0n, counts, version: 9n, updatedAtMs: undefined }),
    );
    expect([...(body.reactions?.counts ?? [])]).toEqual(counts);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
