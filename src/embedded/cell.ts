/**
 * One column of one row with the write that set it, and Cassandra's rule for which of two writes wins.
 * Pure. A row is a map of cells; an expired cell stays in it, because it still hides older writes (D8, D14).
 */
import { MailjoinError } from '../domain/errors.js';

/** What a column can hold; a dek_id is (key_scope, key_id, key_version), R1. */
export type CellValue = Uint8Array | string | number | bigint | readonly [string, string, number];

export interface Cell {
  readonly value: CellValue;
  /** The write's timestamp: microseconds for message_record (D14), summary_version for summaries (D19). */
  readonly timestamp: bigint;
  /** The second since 1970 from which on the cell is absent; NEVER = no TTL. */
  readonly expiresAtS: number;
}

export const NEVER = 0;

/** Cells by column: a number for a column, a text for an entry of the map column `counts`. */
export type Row = ReadonlyMap<number | string, Cell>;

/**
 * The second at which a cell written now expires, as Cassandra counts: the writer's whole second plus the TTL.
 * So a row lives up to a second less than its TTL, and never longer.
 */
export function expiryOf(ttlSeconds: number | undefined, nowS: number): number {
  return ttlSeconds === undefined ? NEVER : nowS + ttlSeconds;
}

export function isLive(cell: Cell, nowS: number): boolean {
  return cell.expiresAtS === NEVER || nowS < cell.expiresAtS;
}

/**
 * The cell that wins, whatever the order of arrival: the higher timestamp; at equal ones a cell that expires over one
 * that does not, then the one that expires later, then the greater value by its bytes in CQL's encoding.
 */
export function reconcile(a: Cell, b: Cell): Cell {
  if (a.timestamp !== b.timestamp) return a.timestamp > b.timestamp ? a : b;
  if (a.expiresAtS !== b.expiresAtS) {
    if (a.expiresAtS === NEVER) return b;
    if (b.expiresAtS === NEVER) return a;
    return a.expiresAtS > b.expiresAtS ? a : b;
  }
  return Buffer.compare(cqlBytes(a.value), cqlBytes(b.value)) >= 0 ? a : b;
}

/** A row with the cells of one write merged in. The former row is not changed. */
export function merge(
  row: Row | undefined,
  columns: Iterable<readonly [number | string, CellValue]>,
  timestamp: bigint,
  expiresAtS: number,
): Row {
  const merged = new Map(row);
  for (const [column, value] of columns) {
    const written = { value, timestamp, expiresAtS };
    const former = merged.get(column);
    merged.set(column, former === undefined ? written : reconcile(former, written));
  }
  return merged;
}

/** The second at which the last cell of a row expires; NEVER when one does not. */
export function lastExpiry(row: Row): number {
  let last = NEVER;
  for (const { expiresAtS } of row.values()) {
    if (expiresAtS === NEVER) return NEVER;
    if (expiresAtS > last) last = expiresAtS;
  }
  return last;
}

/** The live value of a column that holds bytes, else undefined. */
export function bytesAt(row: Row, column: number, nowS: number): Uint8Array | undefined {
  const value = valueAt(row, column, nowS);
  if (value === undefined || value instanceof Uint8Array) return value;
  throw wrongType(column);
}

/** The live value of a column that holds text, else undefined. */
export function textAt(row: Row, column: number, nowS: number): string | undefined {
  const value = valueAt(row, column, nowS);
  if (value === undefined || typeof value === 'string') return value;
  throw wrongType(column);
}

/** The live value of a column that holds a small number, else undefined. */
export function numberAt(row: Row, column: number, nowS: number): number | undefined {
  const value = valueAt(row, column, nowS);
  if (value === undefined || typeof value === 'number') return value;
  throw wrongType(column);
}

/** The live value of a column that holds a bigint, else undefined. */
export function bigintAt(row: Row, column: number, nowS: number): bigint | undefined {
  const value = valueAt(row, column, nowS);
  if (value === undefined || typeof value === 'bigint') return value;
  throw wrongType(column);
}

/** The live value of a column of any type, else undefined. */
export function valueAt(row: Row, column: number, nowS: number): CellValue | undefined {
  const cell = row.get(column);
  return cell !== undefined && isLive(cell, nowS) ? cell.value : undefined;
}

function wrongType(column: number): MailjoinError {
  return new MailjoinError('STORE_CORRUPT', `column ${column} holds a value of another type`);
}

/** A value as CQL would send it, for the comparison of equal timestamps only. */
function cqlBytes(value: CellValue): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  const bytes = Buffer.alloc(8);
  if (typeof value === 'bigint') {
    bytes.writeBigInt64BE(value);
    return bytes;
  }
  if (typeof value === 'number') {
    bytes.writeInt32BE(value);
    return bytes.subarray(0, 4);
  }
  const [scope, id, version] = value;
  return Buffer.concat([...[cqlBytes(scope), cqlBytes(id), cqlBytes(version)].flatMap(withLength)]);
}

/** An element of a CQL tuple: its length in 4 bytes, then itself. */
function withLength(bytes: Uint8Array): Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return [length, bytes];
}
