/**
 * message_record as cells, and back. Column numbers are part of the file's format: never renumbered, only added.
 * A row without message_id, created_at or state is incomplete (an update of a row that is not there, or one of
 * whose cells expired first) and reads as absent (B12, B15).
 */
import { MailjoinError } from '../domain/errors.js';
import { activityIdOf, messageIdOf, userIdOf } from '../domain/ids.js';
import { type DekId, type MessageRecord, MessageState } from '../domain/message.js';
import type { EditOfRecord, RecallOfRecord } from '../domain/ports.js';
import { bigintAt, bytesAt, type CellValue, NEVER, numberAt, type Row, textAt, valueAt } from './cell.js';

const Column = {
  MESSAGE_ID: 0,
  LAST_ACTIVITY_ID: 1,
  SENDER_ID: 2,
  SENDER_DEVICE_ID: 3,
  CLIENT_MESSAGE_ID: 4,
  MESSAGE_TYPE: 5,
  CUSTOM_TYPE: 6,
  SCHEMA_VERSION: 7,
  PAYLOAD: 8,
  MEDIA_METADATA: 9,
  REPLY_TO_SEQ: 10,
  MENTION_TARGETS: 11,
  STATE: 12,
  RECALL_EVENT_SEQ: 13,
  EDITED_AT_ACTIVITY_ID: 14,
  CREATED_AT: 15,
  RETENTION_CLASS: 16,
  DEK_ID: 17,
} as const;

type Columns = [number, CellValue][];

/** The columns of an INSERT; absent ones are not written (D18). */
export function insertColumns(record: MessageRecord): Columns {
  return present([
    [Column.MESSAGE_ID, record.messageId],
    [Column.LAST_ACTIVITY_ID, record.lastActivityId],
    [Column.SENDER_ID, record.senderId],
    [Column.SENDER_DEVICE_ID, record.senderDeviceId],
    [Column.CLIENT_MESSAGE_ID, record.clientMessageId],
    [Column.MESSAGE_TYPE, record.messageType],
    [Column.CUSTOM_TYPE, record.customType],
    [Column.SCHEMA_VERSION, record.schemaVersion],
    [Column.PAYLOAD, record.payload],
    [Column.MEDIA_METADATA, record.mediaMetadata],
    [Column.REPLY_TO_SEQ, record.replyToSeq],
    [Column.MENTION_TARGETS, record.mentionTargets],
    [Column.STATE, record.state],
    [Column.RECALL_EVENT_SEQ, record.recallEventSeq],
    [Column.EDITED_AT_ACTIVITY_ID, record.editedAtActivityId],
    [Column.CREATED_AT, record.createdAtMs],
    [Column.RETENTION_CLASS, record.retentionClass],
    [Column.DEK_ID, dekValue(record.dekId)],
  ]);
}

/** An edit never touches recall_event_conversation_seq (D14). */
export function editColumns(edit: EditOfRecord): Columns {
  return present([
    [Column.PAYLOAD, edit.payload],
    [Column.DEK_ID, dekValue(edit.dekId)],
    [Column.STATE, MessageState.EDITED],
    [Column.EDITED_AT_ACTIVITY_ID, edit.editedAtActivityId],
    [Column.LAST_ACTIVITY_ID, edit.lastActivityId],
  ]);
}

export function recallColumns(recall: RecallOfRecord): Columns {
  return [
    [Column.STATE, MessageState.RECALLED],
    [Column.RECALL_EVENT_SEQ, recall.recallEventSeq],
    [Column.LAST_ACTIVITY_ID, recall.lastActivityId],
  ];
}

/** The row as it reads at a second, or undefined when it is absent or incomplete. */
export function readRecord(seq: bigint, row: Row, nowS: number): MessageRecord | undefined {
  const messageId = bytesAt(row, Column.MESSAGE_ID, nowS);
  const createdAtMs = bigintAt(row, Column.CREATED_AT, nowS);
  const state = numberAt(row, Column.STATE, nowS);
  if (messageId === undefined || createdAtMs === undefined || state === undefined) return undefined;
  return {
    seq,
    messageId: required(messageId, messageIdOf),
    lastActivityId: optional(bytesAt(row, Column.LAST_ACTIVITY_ID, nowS), activityIdOf),
    senderId: optional(bytesAt(row, Column.SENDER_ID, nowS), userIdOf),
    senderDeviceId: optional(bytesAt(row, Column.SENDER_DEVICE_ID, nowS), userIdOf),
    clientMessageId: textAt(row, Column.CLIENT_MESSAGE_ID, nowS),
    messageType: numberAt(row, Column.MESSAGE_TYPE, nowS),
    customType: textAt(row, Column.CUSTOM_TYPE, nowS),
    schemaVersion: numberAt(row, Column.SCHEMA_VERSION, nowS),
    payload: bytesAt(row, Column.PAYLOAD, nowS),
    mediaMetadata: bytesAt(row, Column.MEDIA_METADATA, nowS),
    replyToSeq: bigintAt(row, Column.REPLY_TO_SEQ, nowS),
    mentionTargets: bytesAt(row, Column.MENTION_TARGETS, nowS),
    state,
    recallEventSeq: bigintAt(row, Column.RECALL_EVENT_SEQ, nowS),
    editedAtActivityId: optional(bytesAt(row, Column.EDITED_AT_ACTIVITY_ID, nowS), activityIdOf),
    createdAtMs,
    retentionClass: numberAt(row, Column.RETENTION_CLASS, nowS),
    dekId: dekIdOf(valueAt(row, Column.DEK_ID, nowS)),
    ttlSeconds: remaining(row, nowS),
    lastsInPart: lastsInPart(row, nowS) ? true : undefined,
  };
}

/** What CQL's WRITETIME() tells of the insert, and of the last change of the row. */
export function writtenAt(row: Row): { insertedAtMicros: bigint; changedAtMicros: bigint } {
  const insertedAtMicros = row.get(Column.CREATED_AT)?.timestamp ?? 0n;
  let changedAtMicros = insertedAtMicros;
  for (const column of [Column.PAYLOAD, Column.STATE]) {
    const timestamp = row.get(column)?.timestamp ?? 0n;
    if (timestamp > changedAtMicros) changedAtMicros = timestamp;
  }
  return { insertedAtMicros, changedAtMicros };
}

/**
 * What CQL's TTL() tells, the least of created_at's, the payload's and the state's; undefined = none of them expires.
 * State is among them because a recall may write it with less time than the row has, and the row goes with it.
 */
function remaining(row: Row, nowS: number): number | undefined {
  let least: number | undefined;
  for (const column of [Column.CREATED_AT, Column.PAYLOAD, Column.STATE]) {
    const expiresAtS = row.get(column)?.expiresAtS ?? NEVER;
    // An expired payload no longer says anything: the row goes on without it.
    if (expiresAtS === NEVER || expiresAtS <= nowS) continue;
    least = least === undefined ? expiresAtS - nowS : Math.min(least, expiresAtS - nowS);
  }
  return least;
}

/** Whether some of these columns expire and others do not. */
function lastsInPart(row: Row, nowS: number): boolean {
  let expiring = false;
  let lasting = false;
  for (const column of [Column.CREATED_AT, Column.PAYLOAD, Column.STATE]) {
    const expiresAtS = row.get(column)?.expiresAtS;
    if (expiresAtS === NEVER) lasting = true;
    else if (expiresAtS !== undefined && expiresAtS > nowS) expiring = true;
  }
  return expiring && lasting;
}

function present(columns: readonly (readonly [number, CellValue | undefined])[]): Columns {
  const written: Columns = [];
  for (const [column, value] of columns) if (value !== undefined) written.push([column, value]);
  return written;
}

function dekValue(dekId: DekId | undefined): CellValue | undefined {
  return dekId && [dekId.scope, dekId.id, dekId.version];
}

function dekIdOf(value: CellValue | undefined): DekId | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw new MailjoinError('STORE_CORRUPT', 'a dek_id is no tuple');
  const [scope, id, version] = value;
  return { scope, id, version };
}

function required<T>(bytes: Uint8Array, parse: (bytes: Uint8Array) => T | undefined): T {
  const id = parse(bytes);
  if (id === undefined) throw new MailjoinError('STORE_CORRUPT', 'an id is not 16 bytes long');
  return id;
}

function optional<T>(
  bytes: Uint8Array | undefined,
  parse: (bytes: Uint8Array) => T | undefined,
): T | undefined {
  return bytes && required(bytes, parse);
}
