/** Arbitrary records of the log, for property tests. Text is made of whole code points, as UTF-8 has it. */
import fc from 'fast-check';
import type { LogRecord } from '../../src/codec/log-record.js';
import type { ActivityId, ConversationId, MessageId, TenantId, UserId } from '../../src/domain/ids.js';
import type { DekId, MessageRecord } from '../../src/domain/message.js';

const id16 = fc.uint8Array({ minLength: 16, maxLength: 16 });
const blob = fc.uint8Array({ maxLength: 200 });
const text = fc.string({ unit: 'binary', maxLength: 20 });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const seq = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, 2n ** 53n + 1n, 2n ** 63n - 1n),
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
// The casts brand ids; every one has its 16 bytes.
const messageId = id16.map((bytes) => bytes as MessageId);
const activityId = id16.map((bytes) => bytes as ActivityId);
const userId = id16.map((bytes) => bytes as UserId);
const dekId: fc.Arbitrary<DekId> = fc.record({ scope: text, id: text, version: int32 });
const target = fc.record({ seq, messageId, createdAtMs: int64, retentionClass: maybe(int32) });
const where = {
  tenantId: id16.map((bytes) => bytes as TenantId),
  conversationId: id16.map((bytes) => bytes as ConversationId),
  appendedAtMs: int64,
};
const event = {
  ...where,
  eventId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  seq,
  target,
  lastActivityId: activityId,
};

const record: fc.Arbitrary<MessageRecord> = fc.record({
  seq,
  messageId,
  lastActivityId: maybe(activityId),
  senderId: maybe(userId),
  senderDeviceId: maybe(userId),
  clientMessageId: maybe(text),
  messageType: maybe(int32),
  customType: maybe(text),
  schemaVersion: maybe(int32),
  payload: maybe(blob),
  mediaMetadata: maybe(blob),
  replyToSeq: maybe(seq),
  mentionTargets: maybe(blob),
  state: fc.constant(0),
  recallEventSeq: fc.constant(undefined),
  editedAtActivityId: fc.constant(undefined),
  createdAtMs: int64,
  retentionClass: int32,
  dekId: maybe(dekId),
  ttlSeconds: fc.constant(undefined),
});

export const logRecord: fc.Arbitrary<LogRecord> = fc.oneof(
  fc.record({ kind: fc.constant('message' as const), ...where, record }),
  fc.record({ kind: fc.constant('recall' as const), ...event }),
  fc.record({ kind: fc.constant('edit' as const), ...event, payload: blob, dekId: maybe(dekId) }),
  fc.record({
    kind: fc.constant('reactions' as const),
    ...where,
    target,
    summaryVersion: seq,
    counts: fc.uniqueArray(fc.tuple(text, fc.nat({ max: 0xffff_ffff })), {
      selector: ([key]) => key,
      maxLength: 8,
    }),
    updatedAtMs: int64,
  }),
  fc.record({ kind: fc.constant('keyDestroyed' as const), appendedAtMs: int64, dekId }),
);
