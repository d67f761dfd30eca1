import { hkdfSync, randomBytes } from 'node:crypto';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openPayload, sealPayload } from '../../src/crypto/payload.js';
import { openPreview, type PreviewSuite, parsePreview, sealPreview } from '../../src/crypto/preview.js';
import { Suite } from '../../src/domain/envelope.js';
import type { ConversationId, TenantId } from '../../src/domain/ids.js';

const SUITES: readonly PreviewSuite[] = [Suite.PREVIEW_XCHACHA20_POLY1305, Suite.PREVIEW_AES_256_GCM];

const here = {
  tenantId: randomBytes(16) as Uint8Array as TenantId,
  conversationId: randomBytes(16) as Uint8Array as ConversationId,
  seq: 2n ** 63n - 1n,
  dek: randomBytes(32),
  dekId: { scope: 'mandant-ä', id: 'chat:1', version: 7 },
};
const plaintext = Buffer.from('See you at …');

function parse(bytes: Uint8Array) {
  const preview = parsePreview(bytes);
  if (preview === undefined) throw new Error('no preview');
  return preview;
}

describe('previews: TAMPERED', () => {
  for (const suite of SUITES) {
    const sealed = sealPreview({ ...here, suite, plaintext });

    it(`D23: a preview never opens as a payload, even when its suite byte is changed (${suite})`, () => {
      const envelope = Uint8Array.from(parse(sealed).envelope);
      for (let byte = 0; byte < 256; byte++) {
        envelope[0] = byte;
        expect(openPayload({ ...here, envelope })).toBeUndefined();
      }
    });

    it(`D23: a payload never opens as a preview, even when its suite byte is changed (${suite})`, () => {
      const payloadSuite = suite === Suite.PREVIEW_AES_256_GCM ? Suite.AES_256_GCM : Suite.XCHACHA20_POLY1305;
      const envelope = sealPayload({ ...here, suite: payloadSuite, plaintext });
      for (let byte = 0; byte < 256; byte++) {
        envelope[0] = byte;
        const preview = { dekId: here.dekId, seq: here.seq, envelope };
        expect(openPreview(here.tenantId, here.conversationId, here.dek, preview)).toBeUndefined();
      }
    });

    it(`no byte of the seq, the key version or the envelope can be changed (${suite})`, () => {
      const from = 4 + Buffer.byteLength(here.dekId.scope) + Buffer.byteLength(here.dekId.id);
      for (let at = from; at < sealed.length; at++) {
        const changed = Uint8Array.from(sealed);
        changed[at] = (changed[at] as number) ^ 1;
        const preview = parsePreview(changed);
        if (preview === undefined) continue;
        expect(openPreview(here.tenantId, here.conversationId, here.dek, preview)).toBeUndefined();
      }
    });

    it(`does not open for another tenant (${suite})`, () => {
      const tenantId = randomBytes(16) as Uint8Array as TenantId;
      expect(openPreview(tenantId, here.conversationId, here.dek, parse(sealed))).toBeUndefined();
    });
  }
});

describe('parsePreview', () => {
  const sealed = sealPreview({ ...here, plaintext });

  it('answers undefined for a prefix cut at any byte', () => {
    const prefixBytes = sealed.length - parse(sealed).envelope.length;
    for (let length = 0; length < prefixBytes; length++) {
      expect(parsePreview(sealed.subarray(0, length))).toBeUndefined();
    }
  });

  it('answers undefined for a seq with bit 63 set (R1.1) and for names that are no UTF-8', () => {
    const seqAt = sealed.length - parse(sealed).envelope.length - 8;
    const flipped = Uint8Array.from(sealed);
    flipped[seqAt] = 0xff;
    expect(parsePreview(flipped)).toBeUndefined();
    const broken = Uint8Array.from(sealed);
    broken[2] = 0xff;
    expect(parsePreview(broken)).toBeUndefined();
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const preview = parsePreview(bytes);
        if (preview === undefined) return;
        expect(openPreview(here.tenantId, here.conversationId, here.dek, preview)).toBeUndefined();
      }),
    );
  });

  it('gives key and seq back, from a view at an odd offset of shared memory', () => {
    const view = new Uint8Array(new SharedArrayBuffer(sealed.length + 3), 3, sealed.length);
    view.set(sealed);
    const preview = parse(view);
    expect(preview.dekId).toEqual(here.dekId);
    expect(preview.seq).toBe(here.seq);
    expect(openPreview(here.tenantId, here.conversationId, here.dek, preview)).toEqual(plaintext);
  });
});

describe('sealPreview', () => {
  it('is what its grammar says: HKDF-SHA256 and @noble/ciphers alone open it', () => {
    const { envelope } = parse(sealPreview({ ...here, plaintext }));
    const key = new Uint8Array(hkdfSync('sha256', here.dek, '', 'mailjoin preview', 32));
    const aad = Buffer.alloc(44);
    aad.set(here.tenantId, 0);
    aad.set(here.conversationId, 16);
    aad.writeBigUInt64BE(here.seq, 32);
    aad.writeInt32BE(here.dekId.version, 40);
    expect(envelope[0]).toBe(0x81);
    const opened = xchacha20poly1305(key, envelope.subarray(1, 25), aad).decrypt(envelope.subarray(25));
    expect(Buffer.from(opened)).toEqual(plaintext);
  });

  it('leaves the DEK as it was', () => {
    const dek = Uint8Array.from(here.dek);
    sealPreview({ ...here, dek, plaintext });
    expect(dek).toEqual(Uint8Array.from(here.dek));
  });
});
