/**
 * The bytes of a row of message_record as CQL sends them: each value with its length of 4 bytes, absent columns as their
 * length alone. The same for both stores, so that b_row can be compared. Pure.
 */
import type { DekId, MessageRecord } from '../domain/message.js';

const LENGTH_BYTES = 4;
const UUID_BYTES = 16;
const BIGINT_BYTES = 8;
const INT_BYTES = 4;
const TINYINT_BYTES = 1;
/** tenant_id, conversation_id, seq_bucket and conversation_seq. */
const KEY_BYTES = 2 * UUID_BYTES + 2 * BIGINT_BYTES + 4 * LENGTH_BYTES;
/** Columns beside the primary key (R2). */
const COLUMNS = 18;
/** Of recordBytes, what is no value of the row's own: on disk the partition's key stands once, and lengths take less. */
export const RECORD_FRAMING_BYTES = KEY_BYTES + COLUMNS * LENGTH_BYTES;

export function recordBytes(record: MessageRecord): number {
  return (
    KEY_BYTES +
    COLUMNS * LENGTH_BYTES +
    record.messageId.length +
    lengthOf(record.lastActivityId) +
    lengthOf(record.senderId) +
    lengthOf(record.senderDeviceId) +
    textBytes(record.clientMessageId) +
    sizeIf(record.messageType, TINYINT_BYTES) +
    textBytes(record.customType) +
    sizeIf(record.schemaVersion, INT_BYTES) +
    lengthOf(record.payload) +
    lengthOf(record.mediaMetadata) +
    sizeIf(record.replyToSeq, BIGINT_BYTES) +
    lengthOf(record.mentionTargets) +
    TINYINT_BYTES +
    sizeIf(record.recallEventSeq, BIGINT_BYTES) +
    lengthOf(record.editedAtActivityId) +
    BIGINT_BYTES +
    sizeIf(record.retentionClass, TINYINT_BYTES) +
    dekBytes(record.dekId)
  );
}

function lengthOf(bytes: Uint8Array | undefined): number {
  return bytes?.length ?? 0;
}

function textBytes(text: string | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(text, 'utf8');
}

function sizeIf(value: number | bigint | undefined, bytes: number): number {
  return value === undefined ? 0 : bytes;
}

/** A tuple's elements have their lengths, too. */
function dekBytes(dekId: DekId | undefined): number {
  if (dekId === undefined) return 0;
  return textBytes(dekId.scope) + textBytes(dekId.id) + INT_BYTES + 3 * LENGTH_BYTES;
}
