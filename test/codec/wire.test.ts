// The wire format by hand, held to protobufjs and to hostile bytes (B43–B45).
import fc from 'fast-check';
import Long from 'long';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import {
  varint64Bytes,
  varintBytes,
  WireError,
  WireReader,
  writeVarint,
  writeVarint64,
  writeVarintBig,
} from '../../src/codec/wire.js';

const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

describe('WireReader', () => {
  it('refuses a varint that is cut', () => {
    expect(() => new WireReader(Uint8Array.of(0x80)).uint64()).toThrow(WireError);
    expect(() => new WireReader(Uint8Array.of(0xff, 0xff)).uint32()).toThrow(WireError);
  });

  it('refuses a varint above 64 bits', () => {
    const tooLarge = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02);
    expect(() => new WireReader(tooLarge).uint64()).toThrow(WireError);
    const tooLong = new Uint8Array(11).fill(0x80);
    expect(() => new WireReader(tooLong).uint64()).toThrow(WireError);
  });

  it('B43 refuses groups at once, however deep they are nested', () => {
    expect(() => new WireReader(new Uint8Array(21_000).fill(0x7b)).tag()).toThrow(WireError);
  });

  it.each([
    ['0A FFFFFFFF07', [0xff, 0xff, 0xff, 0xff, 0x07]],
    ['0A 8080808008', [0x80, 0x80, 0x80, 0x80, 0x08]],
    ['0A FFFFFFFF0F', [0xff, 0xff, 0xff, 0xff, 0x0f]],
    ['0A with 2^63', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
  ])('B44 refuses a length beyond the message: %s', (_, length) => {
    const reader = new WireReader(Uint8Array.of(0x0a, ...length));
    reader.tag();
    expect(() => reader.length()).toThrow(WireError);
  });

  it.each([0x0e, 0x0f, 0x0b, 0x0c, 0x00, 0x02])('B45 refuses the tag 0x%s', (tag) => {
    expect(() => new WireReader(Uint8Array.of(tag, 0)).tag()).toThrow(WireError);
  });

  it('B45 skips an unknown empty field, and fixed fields of every width', () => {
    const reader = new WireReader(Uint8Array.of(0x7a, 0, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4));
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) reader.skip(tag);
    expect(reader.at).toBe(16);
  });

  it('refuses a fixed field that is cut', () => {
    const reader = new WireReader(Uint8Array.of(0x79, 1, 2, 3));
    expect(() => reader.skip(reader.tag())).toThrow(WireError);
  });
});

describe('varints', () => {
  it('B01 are those of protobufjs, exactly, over all 64 bits', () => {
    fc.assert(
      fc.property(uint64, (value) => {
        const expected = protobuf.Writer.create().uint64(Long.fromString(value.toString(), true)).finish();
        const target = new Uint8Array(10);
        expect(writeVarintBig(target, 0, value)).toBe(expected.length);
        expect(target.subarray(0, expected.length)).toEqual(Uint8Array.from(expected));
        expect(varint64Bytes(value)).toBe(expected.length);
        const reader = new WireReader(target, 0, expected.length);
        reader.uint64();
        expect(reader.value64).toBe(value);
        const again = new Uint8Array(10);
        expect(writeVarint64(again, 0, reader.hi, reader.lo)).toBe(expected.length);
        expect(again).toEqual(target);
      }),
    );
  });

  it('of 32 bits have the length that varintBytes says', () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xffff_ffff }), (value) => {
        const target = new Uint8Array(8);
        expect(writeVarint(target, 0, value)).toBe(varintBytes(value));
        expect(new WireReader(target).uint32()).toBe(value);
      }),
    );
  });
});
