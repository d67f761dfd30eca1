/**
 * Writes protobuf fields at exact size in two passes over the same code: a counting sink learns the size, a writing
 * sink fills a buffer of it. For records that are written once (the log); bodies have their own tight loop (body.ts).
 * Text of unpaired surrogates is written as U+FFFD, like every UTF-8 encoder does.
 */
import { strict as assert } from 'node:assert';
import { tagOf, varint64Bytes, varintBytes, WireType, writeVarint, writeVarintBig } from './wire.js';

/** What a message's fields are given to. Field numbers, then values; an undefined value is no field. */
export interface FieldSink {
  bytes(field: number, value: Uint8Array | undefined): void;
  text(field: number, value: string | undefined): void;
  /** uint64, int64 (two's complement), uint32 and int32 (sign-extended to 64 bits, as protobuf has it). */
  varint(field: number, value: bigint | number | undefined): void;
  /** sint32: zigzag. */
  zigzag(field: number, value: number | undefined): void;
  fixed64(field: number, value: bigint): void;
  /** A submessage, whose fields `write` gives to the sink that it gets. */
  message<T>(field: number, value: T | undefined, write: (sink: FieldSink, value: T) => void): void;
}

/** The bytes of a message. */
export function encodeFields<T>(value: T, write: (sink: FieldSink, value: T) => void): Uint8Array {
  const target = new Uint8Array(sizeOf(value, write));
  const sink = new WritingSink(target);
  write(sink, value);
  assert(sink.at === target.length, 'both passes write the same');
  return target;
}

function sizeOf<T>(value: T, write: (sink: FieldSink, value: T) => void): number {
  const sink = new CountingSink();
  write(sink, value);
  return sink.count;
}

class CountingSink implements FieldSink {
  count = 0;

  bytes(field: number, value: Uint8Array | undefined): void {
    if (value !== undefined) this.#delimited(field, value.length);
  }

  text(field: number, value: string | undefined): void {
    if (value !== undefined) this.#delimited(field, Buffer.byteLength(value, 'utf8'));
  }

  varint(field: number, value: bigint | number | undefined): void {
    if (value !== undefined) this.count += tagBytes(field) + varint64Bytes(BigInt(value));
  }

  zigzag(field: number, value: number | undefined): void {
    if (value !== undefined) this.count += tagBytes(field) + varintBytes(zigzagOf(value));
  }

  fixed64(field: number): void {
    this.count += tagBytes(field) + 8;
  }

  message<T>(field: number, value: T | undefined, write: (sink: FieldSink, value: T) => void): void {
    if (value !== undefined) this.#delimited(field, sizeOf(value, write));
  }

  #delimited(field: number, length: number): void {
    this.count += tagBytes(field) + varintBytes(length) + length;
  }
}

class WritingSink implements FieldSink {
  at = 0;
  readonly #target: Uint8Array;

  constructor(target: Uint8Array) {
    this.#target = target;
  }

  bytes(field: number, value: Uint8Array | undefined): void {
    if (value === undefined) return;
    this.#head(field, WireType.BYTES);
    this.at = writeVarint(this.#target, this.at, value.length);
    this.#target.set(value, this.at);
    this.at += value.length;
  }

  text(field: number, value: string | undefined): void {
    if (value !== undefined) this.bytes(field, Buffer.from(value, 'utf8'));
  }

  varint(field: number, value: bigint | number | undefined): void {
    if (value === undefined) return;
    this.#head(field, WireType.VARINT);
    this.at = writeVarintBig(this.#target, this.at, BigInt(value));
  }

  zigzag(field: number, value: number | undefined): void {
    if (value === undefined) return;
    this.#head(field, WireType.VARINT);
    this.at = writeVarint(this.#target, this.at, zigzagOf(value));
  }

  fixed64(field: number, value: bigint): void {
    this.#head(field, WireType.I64);
    const view = new DataView(this.#target.buffer, this.#target.byteOffset, this.#target.byteLength);
    view.setBigUint64(this.at, value, true);
    this.at += 8;
  }

  message<T>(field: number, value: T | undefined, write: (sink: FieldSink, value: T) => void): void {
    if (value === undefined) return;
    this.#head(field, WireType.BYTES);
    this.at = writeVarint(this.#target, this.at, sizeOf(value, write));
    write(this, value);
  }

  #head(field: number, wireType: number): void {
    this.at = writeVarint(this.#target, this.at, tagOf(field, wireType));
  }
}

function tagBytes(field: number): number {
  return varintBytes(tagOf(field, WireType.VARINT));
}

function zigzagOf(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}
