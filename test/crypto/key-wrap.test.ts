import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { unwrapDek, wrapDek } from '../../src/crypto/key-wrap.js';

const kek = randomBytes(32);
const dek = randomBytes(32);
const dekId = { scope: 'tenant', id: 'chat', version: 1 };

describe('unwrapDek', () => {
  const wrapped = wrapDek(kek, dekId, dek);

  it('does not open under another KEK, nor under any other id, also where the texts run together', () => {
    expect(unwrapDek(randomBytes(32), dekId, wrapped)).toBeUndefined();
    for (const other of [
      { ...dekId, version: 2 },
      { ...dekId, scope: 'tenan' },
      { ...dekId, scope: 'tenantc', id: 'hat' },
      { scope: 'tenan', id: 'tchat', version: 1 },
      { scope: dekId.id, id: dekId.scope, version: 1 },
    ]) {
      expect(unwrapDek(kek, other, wrapped)).toBeUndefined();
    }
  });

  it('does not open with any byte changed, nor cut, nor with a byte more', () => {
    for (let at = 0; at < wrapped.length; at++) {
      const changed = Uint8Array.from(wrapped);
      changed[at] = (changed[at] as number) ^ 0x80;
      expect(unwrapDek(kek, dekId, changed)).toBeUndefined();
      expect(unwrapDek(kek, dekId, wrapped.subarray(0, at))).toBeUndefined();
    }
    expect(unwrapDek(kek, dekId, Buffer.concat([wrapped, Buffer.alloc(1)]))).toBeUndefined();
  });

  it('gives the DEK back, from an odd offset too', () => {
    const moved = new Uint8Array(wrapped.length + 1);
    moved.set(wrapped, 1);
    expect(unwrapDek(kek, dekId, moved.subarray(1))).toEqual(dek);
  });
});

describe('wrapDek', () => {
  it('wraps the same key differently each time', () => {
    expect(wrapDek(kek, dekId, dek)).not.toEqual(wrapDek(kek, dekId, dek));
  });

  it('asserts on a DEK of another length', () => {
    expect(() => wrapDek(kek, dekId, randomBytes(16))).toThrow(/32 bytes/);
  });
});
