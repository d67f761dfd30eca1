/**
 * Reads one field's value after its tag, holding the tag to the wire type that the field has. Throws WireError.
 */
import { WireError, type WireReader, WireType } from './wire.js';

// A byte order mark is part of a text, not to be dropped.
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A view on the bytes of a length-delimited field. */
export function bytesOf(reader: WireReader, tag: number): Uint8Array {
  requireType(tag, WireType.BYTES);
  return reader.view();
}

/** A string; bytes that are no UTF-8 are malformed (B45). */
export function textOf(reader: WireReader, tag: number): string {
  const bytes = bytesOf(reader, tag);
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new WireError(`field ${tag >>> 3} is not UTF-8`);
  }
}

/** A uint64, or the two's complement of an int64. */
export function bigintOf(reader: WireReader, tag: number): bigint {
  requireType(tag, WireType.VARINT);
  reader.uint64();
  return reader.value64;
}

/** An int32: the low 32 bits, as protobuf has it. */
export function int32Of(reader: WireReader, tag: number): number {
  requireType(tag, WireType.VARINT);
  reader.uint64();
  return reader.lo | 0;
}

/** A sint32: zigzag. */
export function zigzagOf(reader: WireReader, tag: number): number {
  requireType(tag, WireType.VARINT);
  reader.uint64();
  return (reader.lo >>> 1) ^ -(reader.lo & 1);
}

/** A fixed64 as an unsigned bigint. */
export function fixed64Of(reader: WireReader, tag: number): bigint {
  requireType(tag, WireType.I64);
  reader.fixed64();
  return reader.value64;
}

function requireType(tag: number, wireType: number): void {
  if ((tag & 7) !== wireType) throw new WireError(`field ${tag >>> 3} has another wire type`);
}
