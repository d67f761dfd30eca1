import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { gcm } from '@noble/ciphers/aes.js';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Aead, openAead, sealAead } from '../../src/crypto/suites.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const NONCE_BYTES = { [Aead.XCHACHA20_POLY1305]: 24, [Aead.AES_256_GCM]: 12 } as const;
const AEADS = [Aead.XCHACHA20_POLY1305, Aead.AES_256_GCM] as const;

function seal(
  aead: Aead,
  key: Uint8Array,
  nonce: Uint8Array,
  aad: Uint8Array,
  plaintext: Uint8Array,
): Buffer {
  const sealed = Buffer.alloc(plaintext.length + 16);
  sealAead(aead, key, nonce, aad, plaintext, sealed, 0);
  return sealed;
}

function open(aead: Aead, key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, sealed: Uint8Array) {
  const tagAt = sealed.length - 16;
  return openAead(aead, key, nonce, aad, sealed.subarray(tagAt), sealed.subarray(0, tagAt));
}

const SUNSCREEN = Buffer.from(
  "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
);
const RFC_AAD = hex('50515253c0c1c2c3c4c5c6c7');
const RFC_KEY = hex('808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f');

describe('AEADs: what does not authenticate', () => {
  for (const aead of AEADS) {
    it(`refuses every single flipped bit of ciphertext, tag, nonce, AAD and key (${aead})`, () => {
      const parts = {
        key: randomBytes(32),
        nonce: randomBytes(NONCE_BYTES[aead]),
        aad: randomBytes(44),
        sealed: Buffer.alloc(0) as Buffer,
      };
      parts.sealed = seal(aead, parts.key, parts.nonce, parts.aad, Buffer.from('hello'));
      expect(open(aead, parts.key, parts.nonce, parts.aad, parts.sealed)?.toString()).toBe('hello');
      for (const part of Object.values(parts)) {
        for (let bit = 0; bit < part.length * 8; bit++) {
          const mask = 1 << (bit & 7);
          part[bit >> 3] = (part[bit >> 3] as number) ^ mask;
          expect(open(aead, parts.key, parts.nonce, parts.aad, parts.sealed)).toBeUndefined();
          part[bit >> 3] = (part[bit >> 3] as number) ^ mask;
        }
      }
    });

    it(`B33: refuses tags of 0, 4, 8, 12, 15 and 17 bytes (${aead})`, () => {
      const key = randomBytes(32);
      const nonce = randomBytes(NONCE_BYTES[aead]);
      const aad = randomBytes(44);
      const sealed = seal(aead, key, nonce, aad, Buffer.from('short tags'));
      const ciphertext = sealed.subarray(0, -16);
      const tag = Buffer.concat([sealed.subarray(-16), Buffer.alloc(1)]);
      expect(openAead(aead, key, nonce, aad, tag.subarray(0, 16), ciphertext)).toBeDefined();
      for (const length of [0, 4, 8, 12, 15, 17]) {
        expect(openAead(aead, key, nonce, aad, tag.subarray(0, length), ciphertext)).toBeUndefined();
      }
    });

    it(`asserts on a key that is not 32 bytes (${aead})`, () => {
      const nonce = randomBytes(NONCE_BYTES[aead]);
      expect(() => seal(aead, randomBytes(31), nonce, RFC_AAD, SUNSCREEN)).toThrow(/32 bytes/);
    });

    it(`asserts on a nonce of another cipher (${aead})`, () => {
      expect(() =>
        seal(aead, randomBytes(32), randomBytes(36 - NONCE_BYTES[aead]), RFC_AAD, SUNSCREEN),
      ).toThrow();
    });
  }
});

describe('AEADs: published vectors', () => {
  it('draft-irtf-cfrg-xchacha A.3.1: AEAD_XChaCha20_Poly1305', () => {
    const nonce = hex('404142434445464748494a4b4c4d4e4f5051525354555657');
    const sealed = seal(Aead.XCHACHA20_POLY1305, RFC_KEY, nonce, RFC_AAD, SUNSCREEN);
    expect(sealed.toString('hex')).toBe(
      hex(`bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb
           731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452
           2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9
           21f9664c97637da9768812f615c68b13b52e
           c0875924c1c7987947deafd8780acf49`).toString('hex'),
    );
    expect(open(Aead.XCHACHA20_POLY1305, RFC_KEY, nonce, RFC_AAD, sealed)).toEqual(SUNSCREEN);
  });

  it('draft-irtf-cfrg-xchacha 2.2.1: the HChaCha20 subkey keys the bulk cipher', () => {
    const key = hex('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f');
    const subkey = hex('82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc');
    const tail = hex('a0a1a2a3a4a5a6a7');
    const nonce = Buffer.concat([hex('000000090000004a0000000031415927'), tail]);
    const bulk = createCipheriv('chacha20-poly1305', subkey, Buffer.concat([Buffer.alloc(4), tail]), {
      authTagLength: 16,
    });
    bulk.setAAD(RFC_AAD, { plaintextLength: SUNSCREEN.length });
    const expected = Buffer.concat([bulk.update(SUNSCREEN), bulk.final(), bulk.getAuthTag()]);
    expect(seal(Aead.XCHACHA20_POLY1305, key, nonce, RFC_AAD, SUNSCREEN)).toEqual(expected);
  });

  it("RFC 8439 2.8.2: this platform's ChaCha20-Poly1305 is the standard's", () => {
    const decipher = createDecipheriv('chacha20-poly1305', RFC_KEY, hex('070000004041424344454647'), {
      authTagLength: 16,
    });
    decipher.setAAD(RFC_AAD, { plaintextLength: SUNSCREEN.length });
    decipher.setAuthTag(hex('1ae10b594f09e26a7e902ecbd0600691'));
    const plaintext = decipher.update(
      hex(`d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
           3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
           92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
           3ff4def08e4b7a9de576d26586cec64b6116`),
    );
    decipher.final();
    expect(plaintext).toEqual(SUNSCREEN);
  });

  it('NIST GCM test case 13: AES-256, nothing to seal', () => {
    const sealed = seal(
      Aead.AES_256_GCM,
      Buffer.alloc(32),
      Buffer.alloc(12),
      Buffer.alloc(0),
      Buffer.alloc(0),
    );
    expect(sealed.toString('hex')).toBe('530f8afbc74536b9a963b4f1c4cb738b');
  });

  it('NIST GCM test case 14: AES-256, one block', () => {
    const sealed = seal(
      Aead.AES_256_GCM,
      Buffer.alloc(32),
      Buffer.alloc(12),
      Buffer.alloc(0),
      Buffer.alloc(16),
    );
    expect(sealed.toString('hex')).toBe('cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919');
  });

  it('NIST GCM test case 16: AES-256 with AAD', () => {
    const key = hex('feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308');
    const nonce = hex('cafebabefacedbaddecaf888');
    const aad = hex('feedfacedeadbeeffeedfacedeadbeefabaddad2');
    const plaintext = hex(`d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
                           1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39`);
    const sealed = seal(Aead.AES_256_GCM, key, nonce, aad, plaintext);
    expect(sealed.toString('hex')).toBe(
      hex(`522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
           8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
           76fc6ece0f4e1768cddf8853bb2d551b`).toString('hex'),
    );
    expect(open(Aead.AES_256_GCM, key, nonce, aad, sealed)).toEqual(plaintext);
  });
});

describe('AEADs against @noble/ciphers alone', () => {
  const noble = {
    [Aead.XCHACHA20_POLY1305]: xchacha20poly1305,
    [Aead.AES_256_GCM]: gcm,
  } as const;

  for (const aead of AEADS) {
    it(`seals to the same bytes and opens what it sealed (${aead})`, () => {
      fc.assert(
        fc.property(
          fc.uint8Array({ minLength: 32, maxLength: 32 }),
          fc.uint8Array({ minLength: NONCE_BYTES[aead], maxLength: NONCE_BYTES[aead] }),
          fc.uint8Array({ maxLength: 64 }),
          fc.uint8Array({ maxLength: 300 }),
          (key, nonce, aad, plaintext) => {
            const theirs = noble[aead](key, nonce, aad).encrypt(plaintext);
            expect(Buffer.from(theirs).equals(seal(aead, key, nonce, aad, plaintext))).toBe(true);
            expect(open(aead, key, nonce, aad, theirs)?.equals(plaintext)).toBe(true);
          },
        ),
        { numRuns: 100 },
      );
    });

    it(`B34: 41 bytes at offsets 1 to 3 of shared memory open like anywhere else (${aead})`, () => {
      const key = randomBytes(32);
      const nonce = randomBytes(NONCE_BYTES[aead]);
      const aad = randomBytes(44);
      const plaintext = randomBytes(41);
      const sealed = noble[aead](key, nonce, aad).encrypt(plaintext);
      for (const offset of [0, 1, 2, 3]) {
        const at = (bytes: Uint8Array): Uint8Array => {
          const view = new Uint8Array(new SharedArrayBuffer(bytes.length + 8), offset, bytes.length);
          view.set(bytes);
          return view;
        };
        expect(open(aead, at(key), at(nonce), at(aad), at(sealed))).toEqual(plaintext);
      }
    });
  }
});
