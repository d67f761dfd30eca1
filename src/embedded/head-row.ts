/** conversation_head as cells, and back (D2). Column numbers are part of the file's format. Pure. */
import { MailjoinError } from '../domain/errors.js';
import { type HeadFence, previewOf, senderOf, storedPreview, storedSender } from '../domain/head.js';
import { activityIdOf, messageIdOf, userIdOf } from '../domain/ids.js';
import type { ConversationHead, HeadWrite } from '../domain/write-ports.js';
import { bigintAt, bytesAt, type CellValue, numberAt, type Row } from './cell.js';

const Column = {
  LATEST_SEQ: 0,
  EARLIEST_AVAILABLE_SEQ: 1,
  LAST_MESSAGE_ID: 2,
  LAST_ACTIVITY_ID: 3,
  LAST_SENDER_ID: 4,
  PREVIEW: 5,
  MEMBER_COUNT: 6,
  UPDATED_AT: 7,
  FENCING_EPOCH: 8,
  HEAD_VERSION: 9,
} as const;

type Columns = [number, CellValue][];

export function headColumns(write: HeadWrite): Columns {
  return [
    [Column.LATEST_SEQ, write.latestSeq],
    [Column.LAST_MESSAGE_ID, write.lastMessageId],
    [Column.LAST_ACTIVITY_ID, write.lastActivityId],
    [Column.LAST_SENDER_ID, storedSender(write.lastSenderId)],
    [Column.UPDATED_AT, write.updatedAtMs],
    [Column.PREVIEW, storedPreview(write.preview)],
    ...fenceColumns(write),
  ];
}

export function fenceColumns({ fencingEpoch, headVersion }: HeadFence): Columns {
  return [
    [Column.FENCING_EPOCH, fencingEpoch],
    [Column.HEAD_VERSION, headVersion],
  ];
}

export function earliestColumns(earliestSeq: bigint): Columns {
  return [[Column.EARLIEST_AVAILABLE_SEQ, earliestSeq]];
}

/** Head cells have no TTL (R2), so no time is needed to read them. */
const ANY_SECOND = 0;

export function readHeadRow(row: Row): ConversationHead {
  return {
    latestSeq: bigintAt(row, Column.LATEST_SEQ, ANY_SECOND),
    earliestAvailableSeq: bigintAt(row, Column.EARLIEST_AVAILABLE_SEQ, ANY_SECOND),
    lastMessageId: idAt(row, Column.LAST_MESSAGE_ID, messageIdOf),
    lastActivityId: idAt(row, Column.LAST_ACTIVITY_ID, activityIdOf),
    lastSenderId: senderOf(idAt(row, Column.LAST_SENDER_ID, userIdOf)),
    preview: previewOf(bytesAt(row, Column.PREVIEW, ANY_SECOND)),
    memberCount: numberAt(row, Column.MEMBER_COUNT, ANY_SECOND),
    updatedAtMs: bigintAt(row, Column.UPDATED_AT, ANY_SECOND),
    fencingEpoch: bigintAt(row, Column.FENCING_EPOCH, ANY_SECOND),
    headVersion: bigintAt(row, Column.HEAD_VERSION, ANY_SECOND),
  };
}

function idAt<T>(row: Row, column: number, parse: (bytes: Uint8Array) => T | undefined): T | undefined {
  const bytes = bytesAt(row, column, ANY_SECOND);
  if (bytes === undefined) return undefined;
  const id = parse(bytes);
  if (id === undefined) throw new MailjoinError('STORE_CORRUPT', 'an id is not 16 bytes long');
  return id;
}
