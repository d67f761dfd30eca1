/**
 * Protobuf's wire format, by hand: bounds-checked reading and exact-size writing of varints, tags and lengths.
 *
 * The reader never allocates for what a length claims, never recurses (groups are refused, B43) and throws
 * WireError for anything that is not well formed (B44, B45); its caller turns that into a coded error.
 * 64-bit varints are read and written as two unsigned 32-bit halves: no number above 2^53 is ever rounded (B01).
 */

/** The bytes are not a well-formed message. Carries no input. */
export class WireError extends Error {}

/** Protobuf wire types that are served; groups (3, 4) and 6, 7 are malformed. */
export const WireType = { VARINT: 0, I64: 1, BYTES: 2, I32: 5 } as const;

/** A tag as it stands on the wire. */
export function tagOf(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

export class WireReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte. */
  at: number;
  /** Offset behind the last byte of the message being read. */
  end: number;
  /** Halves of the last 64-bit value, unsigned. */
  hi = 0;
  lo = 0;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** The next tag, or 0 at the end. */
  tag(): number {
    if (this.at >= this.end) return 0;
    const tag = this.uint32();
    const wireType = tag & 7;
    if (tag >>> 3 === 0) throw new WireError('field number 0');
    if (wireType === 3 || wireType === 4 || wireType > 5) throw new WireError('wire type not served');
    return tag;
  }

  /** A varint of at most 32 bits of value; longer encodings keep the low 32 bits, as protobuf has it. */
  uint32(): number {
    const byte = this.at < this.end ? (this.bytes[this.at] as number) : 0x80;
    if (byte < 0x80) {
      this.at++;
      return byte;
    }
    this.uint64();
    return this.lo;
  }

  /** A varint of up to 64 bits into `hi` and `lo`. */
  uint64(): void {
    const { bytes, end } = this;
    let at = this.at;
    let lo = 0;
    let hi = 0;
    for (let index = 0; index < 10; index++) {
      if (at >= end) throw new WireError('cut inside a varint');
      const byte = bytes[at++] as number;
      const bits = byte & 0x7f;
      if (index < 4) lo |= bits << (7 * index);
      else if (index === 4) {
        lo |= bits << 28;
        hi = bits >>> 4;
      } else if (index < 9) hi |= bits << (7 * index - 32);
      else {
        if (byte > 1) throw new WireError('varint above 64 bits');
        hi |= bits << 31;
      }
      if (byte < 0x80) {
        this.at = at;
        this.lo = lo >>> 0;
        this.hi = hi >>> 0;
        return;
      }
    }
    throw new WireError('varint above 64 bits');
  }

  /** The last 64-bit value as an unsigned bigint. */
  get value64(): bigint {
    return (BigInt(this.hi) << 32n) | BigInt(this.lo);
  }

  /** The length of a length-delimited field, checked against what is left; `at` stands on its first byte. */
  length(): number {
    const first = this.at < this.end ? (this.bytes[this.at] as number) : 0x80;
    if (first < 0x80) {
      this.at++;
      this.hi = 0;
      this.lo = first;
    } else this.uint64();
    if (this.hi !== 0 || this.lo > this.end - this.at) throw new WireError('length beyond the message');
    return this.lo;
  }

  /** A view on the next length-delimited field. */
  view(): Uint8Array {
    const length = this.passBytes();
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Passes over a length-delimited field; returns its length. */
  passBytes(): number {
    const length = this.length();
    this.at += length;
    return length;
  }

  /** Passes over a field of an unknown number. */
  skip(tag: number): void {
    switch (tag & 7) {
      case WireType.VARINT:
        this.uint64();
        return;
      case WireType.BYTES:
        this.passBytes();
        return;
      default:
        this.advance((tag & 7) === WireType.I64 ? 8 : 4);
    }
  }

  /** A fixed 64-bit field into `hi` and `lo`. */
  fixed64(): void {
    this.advance(8);
    const { bytes, at } = this;
    const view = new DataView(bytes.buffer, bytes.byteOffset + at - 8, 8);
    this.lo = view.getUint32(0, true);
    this.hi = view.getUint32(4, true);
  }

  private advance(count: number): void {
    if (count > this.end - this.at) throw new WireError('cut inside a fixed field');
    this.at += count;
  }
}

/** Bytes of an unsigned 32-bit varint. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

/** Bytes of a 64-bit varint. */
export function varint64Bytes(value: bigint): number {
  let bytes = 1;
  for (let rest = BigInt.asUintN(64, value) >> 7n; rest > 0n; rest >>= 7n) bytes++;
  return bytes;
}

/** Writes an unsigned 32-bit varint; returns the offset behind it. */
export function writeVarint(target: Uint8Array, at: number, value: number): number {
  let rest = value;
  let next = at;
  while (rest > 0x7f) {
    target[next++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[next++] = rest;
  return next;
}

/** Writes a 64-bit varint given as unsigned halves; returns the offset behind it. */
export function writeVarint64(target: Uint8Array, at: number, hi: number, lo: number): number {
  let next = at;
  let high = hi;
  let low = lo;
  while (high !== 0 || low > 0x7f) {
    target[next++] = (low & 0x7f) | 0x80;
    low = ((low >>> 7) | (high << 25)) >>> 0;
    high >>>= 7;
  }
  target[next++] = low;
  return next;
}

/** Writes a bigint as a 64-bit varint (two's complement when negative); returns the offset behind it. */
export function writeVarintBig(target: Uint8Array, at: number, value: bigint): number {
  const unsigned = BigInt.asUintN(64, value);
  return writeVarint64(target, at, Number(unsigned >> 32n), Number(unsigned & 0xffff_ffffn));
}
