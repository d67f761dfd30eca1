/**
 * A row's bytes in the file: MessagePack of the writes that its cells come from,
 *
 *     [ [timestamp, expiresAtS, [column, value, column, value, …]], … ]
 *
 * so that a message written once repeats nothing. bigints are stored as 64-bit integers and come back exact; a
 * decoded value views the buffer that was decoded, which the caller hands over. Unreadable bytes → STORE_CORRUPT.
 */
import { Packr } from 'msgpackr';
import { MailjoinError } from '../domain/errors.js';
import type { Cell, CellValue, Row } from './cell.js';

// No records (a dictionary of shapes kept beside the rows): every row is readable by itself.
const packr = new Packr({ useRecords: false, variableMapSize: true });

type StoredWrite = [timestamp: bigint, expiresAtS: number, columns: (number | string | CellValue)[]];

/** The bytes of a value that needs no cells (a stored key). */
export function encodeValue(value: readonly unknown[]): Buffer {
  return packr.pack(value);
}

/** What encodeValue packed. */
export function decodeValue(bytes: Uint8Array): unknown[] {
  let value: unknown;
  try {
    value = packr.unpack(bytes);
  } catch (cause) {
    throw new MailjoinError('STORE_CORRUPT', 'a stored value cannot be decoded', { cause });
  }
  if (!Array.isArray(value)) throw new MailjoinError('STORE_CORRUPT', 'a stored value has another shape');
  return value;
}

export function encodeRow(row: Row): Buffer {
  const writes: StoredWrite[] = [];
  for (const [column, { value, timestamp, expiresAtS }] of row) {
    // A row comes from a handful of writes at most, so a linear search is the cheapest.
    let write = writes.find((each) => each[0] === timestamp && each[1] === expiresAtS);
    if (write === undefined) {
      write = [timestamp, expiresAtS, []];
      writes.push(write);
    }
    write[2].push(column, value);
  }
  return encodeValue(writes);
}

export function decodeRow(bytes: Uint8Array): Row {
  const row = new Map<number | string, Cell>();
  for (const write of decodeValue(bytes)) {
    if (!isStoredWrite(write)) throw new MailjoinError('STORE_CORRUPT', 'a stored row has another shape');
    const [timestamp, expiresAtS, columns] = write;
    for (let i = 0; i + 1 < columns.length; i += 2) {
      // Columns and values alternate (see the header); each column's reader checks its value's type.
      row.set(columns[i] as number | string, { value: columns[i + 1] as CellValue, timestamp, expiresAtS });
    }
  }
  return row;
}

function isStoredWrite(value: unknown): value is StoredWrite {
  return (
    Array.isArray(value) &&
    typeof value[0] === 'bigint' &&
    typeof value[1] === 'number' &&
    Array.isArray(value[2])
  );
}
