import { randomBytes } from 'node:crypto';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import { describe, expect, it } from 'vitest';
import { openPayload, type PayloadSuite, sealPayload } from '../../src/crypto/payload.js';
import { Suite } from '../../src/domain/envelope.js';
import type { ConversationId, TenantId } from '../../src/domain/ids.js';
import { PAYLOAD_BYTES_MAX } from '../../src/domain/limits.js';

const SUITES: readonly PayloadSuite[] = [Suite.XCHACHA20_POLY1305, Suite.AES_256_GCM];

function place() {
  return {
    tenantId: randomBytes(16) as Uint8Array as TenantId,
    conversationId: randomBytes(16) as Uint8Array as ConversationId,
    seq: 2n ** 53n + 1n,
    dek: randomBytes(32),
    dekId: { scope: 'tenant', id: 'chat', version: 3 },
  };
}

describe('openPayload: TAMPERED', () => {
  const here = place();
  for (const suite of SUITES) {
    const envelope = sealPayload({ ...here, suite, plaintext: Buffer.from('moved elsewhere') });

    it(`D10: does not open with another tenant, conversation, seq or key version (${suite})`, () => {
      expect(openPayload({ ...here, envelope })).toEqual(Buffer.from('moved elsewhere'));
      const other = place();
      expect(openPayload({ ...here, tenantId: other.tenantId, envelope })).toBeUndefined();
      expect(openPayload({ ...here, conversationId: other.conversationId, envelope })).toBeUndefined();
      expect(openPayload({ ...here, seq: here.seq - 1n, envelope })).toBeUndefined();
      expect(openPayload({ ...here, dek: other.dek, envelope })).toBeUndefined();
      expect(openPayload({ ...here, dekId: { ...here.dekId, version: 4 }, envelope })).toBeUndefined();
    });

    it(`does not open cut at any byte, nor with a byte more (B33, ${suite})`, () => {
      for (let length = 0; length < envelope.length; length++) {
        expect(openPayload({ ...here, envelope: envelope.subarray(0, length) })).toBeUndefined();
      }
      expect(openPayload({ ...here, envelope: Buffer.concat([envelope, Buffer.alloc(1)]) })).toBeUndefined();
    });

    it(`does not open with any other suite byte (${suite})`, () => {
      const changed = Uint8Array.from(envelope);
      for (let byte = 0; byte < 256; byte++) {
        if (byte === suite) continue;
        changed[0] = byte;
        expect(openPayload({ ...here, envelope: changed })).toBeUndefined();
      }
    });
  }

  it('does not open more than a payload may have', () => {
    const envelope = new Uint8Array(1 + 24 + PAYLOAD_BYTES_MAX + 1 + 16);
    envelope[0] = Suite.XCHACHA20_POLY1305;
    expect(openPayload({ ...here, envelope })).toBeUndefined();
  });
});

describe('sealPayload', () => {
  it('D6: asserts before anything is sealed when bit 63 of the seq is set', () => {
    expect(() => sealPayload({ ...place(), seq: 2n ** 63n, plaintext: Buffer.alloc(1) })).toThrow(/bit 63/);
    expect(() => sealPayload({ ...place(), seq: -1n, plaintext: Buffer.alloc(1) })).toThrow(/bit 63/);
  });

  for (const suite of SUITES) {
    it(`round-trips payloads of 0, 1, 600 and 65,536 bytes, and leaves its input alone (${suite})`, () => {
      for (const length of [0, 1, 600, 65_536]) {
        const plaintext = randomBytes(length);
        const before = Buffer.from(plaintext);
        const here = place();
        const envelope = sealPayload({ ...here, suite, plaintext });
        expect(plaintext.equals(before)).toBe(true);
        expect(Buffer.from(openPayload({ ...here, envelope }) ?? []).equals(plaintext)).toBe(true);
      }
    });

    it(`draws a new nonce each time: an edit seals the same seq again (${suite})`, () => {
      const here = place();
      const seen = new Set<string>();
      for (let i = 0; i < 100; i++) {
        const envelope = sealPayload({ ...here, suite, plaintext: Buffer.from('same') });
        seen.add(Buffer.from(envelope.subarray(1, 13)).toString('hex'));
      }
      expect(seen.size).toBe(100);
    });
  }

  it('lays suite, nonce, ciphertext and tag out as D10 says: @noble/ciphers alone opens it', () => {
    const here = place();
    const envelope = sealPayload({ ...here, plaintext: Buffer.from('by the book') });
    expect(envelope[0]).toBe(1);
    expect(envelope.length).toBe(1 + 24 + 11 + 16);
    const aad = Buffer.alloc(44);
    aad.set(here.tenantId, 0);
    aad.set(here.conversationId, 16);
    aad.writeBigUInt64BE(here.seq, 32);
    aad.writeInt32BE(here.dekId.version, 40);
    const opened = xchacha20poly1305(here.dek, envelope.subarray(1, 25), aad).decrypt(envelope.subarray(25));
    expect(Buffer.from(opened).toString()).toBe('by the book');
  });

  it('R6.3: an end-to-end encrypted payload comes out as it went in, byte by byte', () => {
    const here = place();
    const inner = sealPayload({ ...place(), plaintext: Buffer.from('not for the server') });
    expect(
      Uint8Array.from(openPayload({ ...here, envelope: sealPayload({ ...here, plaintext: inner }) }) ?? []),
    ).toEqual(inner);
  });
});
