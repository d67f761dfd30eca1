/**
 * LogRecord → bytes (proto/log.proto), at exact size. Values computed inside are asserted, not refused: a seq with bit
 * 63 set is a bug that must not reach the log (R1.1, D6).
 */
import type { DekId, MessageRecord } from '../domain/message.js';
import { assertSeq } from '../domain/seq.js';
import { encodeFields, type FieldSink } from './field-sink.js';
import type { LogEdit, LogReactions, LogRecall, LogRecord, LogTarget } from './log-record.js';

export function encodeLogRecord(record: LogRecord): Uint8Array {
  return encodeFields(record, writeRecord);
}

function writeRecord(sink: FieldSink, record: LogRecord): void {
  if (record.kind !== 'keyDestroyed') {
    sink.bytes(1, record.tenantId);
    sink.bytes(2, record.conversationId);
  }
  sink.varint(3, record.appendedAtMs);
  switch (record.kind) {
    case 'message':
      sink.message(4, record.record, writeMessage);
      break;
    case 'recall':
      sink.message(5, record, writeRecall);
      break;
    case 'edit':
      sink.message(6, record, writeEdit);
      break;
    case 'reactions':
      sink.message(7, record, writeReactions);
      break;
    case 'keyDestroyed':
      sink.message(8, record.dekId, writeKeyDestroyed);
  }
}

function writeMessage(sink: FieldSink, record: MessageRecord): void {
  writeSeq(sink, 1, record.seq);
  sink.bytes(2, record.messageId);
  sink.bytes(3, record.lastActivityId);
  sink.bytes(4, record.senderId);
  sink.bytes(5, record.senderDeviceId);
  sink.text(6, record.clientMessageId);
  sink.zigzag(7, record.messageType);
  sink.text(8, record.customType);
  sink.zigzag(9, record.schemaVersion);
  sink.bytes(10, record.payload);
  sink.bytes(11, record.mediaMetadata);
  if (record.replyToSeq !== undefined) writeSeq(sink, 12, record.replyToSeq);
  sink.bytes(13, record.mentionTargets);
  sink.varint(14, record.createdAtMs);
  sink.varint(15, record.retentionClass);
  sink.message(16, record.dekId, writeDekId);
}

function writeRecall(sink: FieldSink, recall: LogRecall): void {
  sink.fixed64(1, recall.eventId);
  writeSeq(sink, 2, recall.seq);
  sink.message(3, recall.target, writeTarget);
  sink.bytes(4, recall.lastActivityId);
}

function writeEdit(sink: FieldSink, edit: LogEdit): void {
  sink.fixed64(1, edit.eventId);
  writeSeq(sink, 2, edit.seq);
  sink.message(3, edit.target, writeTarget);
  sink.bytes(4, edit.lastActivityId);
  sink.bytes(5, edit.payload);
  sink.message(6, edit.dekId, writeDekId);
}

function writeReactions(sink: FieldSink, reactions: LogReactions): void {
  sink.message(1, reactions.target, writeTarget);
  writeSeq(sink, 2, reactions.summaryVersion);
  for (const pair of reactions.counts) sink.message(3, pair, writeCount);
  sink.varint(4, reactions.updatedAtMs);
}

function writeCount(sink: FieldSink, [key, count]: readonly [string, number]): void {
  sink.text(1, key);
  sink.varint(2, count);
}

function writeTarget(sink: FieldSink, target: LogTarget): void {
  writeSeq(sink, 1, target.seq);
  sink.bytes(2, target.messageId);
  sink.varint(3, target.createdAtMs);
  sink.varint(4, target.retentionClass);
}

function writeKeyDestroyed(sink: FieldSink, dekId: DekId): void {
  sink.message(1, dekId, writeDekId);
}

function writeDekId(sink: FieldSink, dekId: DekId): void {
  sink.text(1, dekId.scope);
  sink.text(2, dekId.id);
  sink.varint(3, dekId.version);
}

function writeSeq(sink: FieldSink, field: number, value: bigint): void {
  assertSeq(value, 'a number of a log record');
  sink.varint(field, value);
}
