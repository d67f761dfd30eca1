/**
 * The two AEADs behind the envelope (D10): XChaCha20-Poly1305 and AES-256-GCM, always with a tag of 16 bytes.
 *
 * XChaCha20-Poly1305 is put together from @noble/ciphers' HChaCha20 (the subkey) and OpenSSL's ChaCha20-Poly1305
 * (the bulk), as draft-irtf-cfrg-xchacha defines it. Everything is synchronous and runs on whichever thread calls it;
 * the scratch memory belongs to that thread and is zeroed before a call returns. Input bytes may be views on shared
 * memory at any offset; they are not changed. A result is private memory, and is plaintext only once its tag is verified.
 */
import { strict as assert } from 'node:assert';
import { type CipherGCM, createCipheriv, createDecipheriv, type DecipherGCM } from 'node:crypto';
import { hchacha } from '@noble/ciphers/chacha.js';
import { DEK_BYTES, GCM_NONCE_BYTES, TAG_BYTES, XCHACHA_NONCE_BYTES } from '../domain/envelope.js';

/** An AEAD without its place in the envelope; payload and preview suites of the same cipher share one. */
export const Aead = { XCHACHA20_POLY1305: 1, AES_256_GCM: 2 } as const;
export type Aead = (typeof Aead)[keyof typeof Aead];

const HCHACHA_NONCE_BYTES = 16;
const CHACHA_NONCE_BYTES = 12;
const AUTH = { authTagLength: TAG_BYTES } as const;

// HChaCha20 reads words. These are word views on byte scratch, filled bytewise, so that neither the alignment of a
// caller's buffer (B34) nor the machine's byte order matters.
const sigmaBytes = new TextEncoder().encode('expand 32-byte k');
const keyBytes = new Uint8Array(DEK_BYTES);
const prefixBytes = new Uint8Array(HCHACHA_NONCE_BYTES);
const subkeyBytes = new Uint8Array(DEK_BYTES);
const sigmaWords = new Uint32Array(sigmaBytes.slice().buffer);
const keyWords = new Uint32Array(keyBytes.buffer);
const prefixWords = new Uint32Array(prefixBytes.buffer);
const subkeyWords = new Uint32Array(subkeyBytes.buffer);
/** 4 zero bytes || the last 8 of the 24 (draft-irtf-cfrg-xchacha §2.3). */
const innerNonce = new Uint8Array(CHACHA_NONCE_BYTES);

/** Leaves HChaCha20(key, nonce[0..16]) in subkeyBytes and the inner nonce in innerNonce (§2.2, §2.3). */
function deriveSubkey(key: Uint8Array, nonce: Uint8Array): void {
  keyBytes.set(key);
  for (let i = 0; i < HCHACHA_NONCE_BYTES; i++) prefixBytes[i] = nonce[i] as number;
  hchacha(sigmaWords, keyWords, prefixWords, subkeyWords);
  keyBytes.fill(0);
  for (let i = HCHACHA_NONCE_BYTES; i < XCHACHA_NONCE_BYTES; i++) innerNonce[i - 12] = nonce[i] as number;
}

function cipherOf(aead: Aead, key: Uint8Array, nonce: Uint8Array): CipherGCM {
  if (aead === Aead.AES_256_GCM) return createCipheriv('aes-256-gcm', key, nonce, AUTH);
  deriveSubkey(key, nonce);
  try {
    return createCipheriv('chacha20-poly1305', subkeyBytes, innerNonce, AUTH);
  } finally {
    subkeyBytes.fill(0);
  }
}

function decipherOf(aead: Aead, key: Uint8Array, nonce: Uint8Array): DecipherGCM {
  if (aead === Aead.AES_256_GCM) return createDecipheriv('aes-256-gcm', key, nonce, AUTH);
  deriveSubkey(key, nonce);
  try {
    return createDecipheriv('chacha20-poly1305', subkeyBytes, innerNonce, AUTH);
  } finally {
    subkeyBytes.fill(0);
  }
}

function assertShapes(aead: Aead, key: Uint8Array, nonce: Uint8Array): void {
  assert.equal(key.length, DEK_BYTES, 'a key has 32 bytes');
  const expected = aead === Aead.AES_256_GCM ? GCM_NONCE_BYTES : XCHACHA_NONCE_BYTES;
  assert.equal(nonce.length, expected, 'the nonce fits the cipher');
}

/** Seals `plaintext` and writes ciphertext || tag to `target` at `at`: plaintext.length + 16 bytes. */
export function sealAead(
  aead: Aead,
  key: Uint8Array,
  nonce: Uint8Array,
  aad: Uint8Array,
  plaintext: Uint8Array,
  target: Uint8Array,
  at: number,
): void {
  assertShapes(aead, key, nonce);
  const cipher = cipherOf(aead, key, nonce);
  cipher.setAAD(aad);
  target.set(cipher.update(plaintext), at);
  cipher.final();
  target.set(cipher.getAuthTag(), at + plaintext.length);
}

/**
 * Opens `ciphertext`: the plaintext in memory of its own, or undefined when it does not authenticate, a tag of any
 * length but 16 included (B33). Unverified plaintext is zeroed and never returned.
 */
export function openAead(
  aead: Aead,
  key: Uint8Array,
  nonce: Uint8Array,
  aad: Uint8Array,
  tag: Uint8Array,
  ciphertext: Uint8Array,
): Buffer | undefined {
  if (tag.length !== TAG_BYTES) return undefined;
  assertShapes(aead, key, nonce);
  const decipher = decipherOf(aead, key, nonce);
  decipher.setAAD(aad);
  decipher.setAuthTag(tag);
  const plaintext = decipher.update(ciphertext);
  try {
    // OpenSSL compares the tag here, in constant time; with both ciphers this is the only way that final() fails.
    decipher.final();
  } catch {
    plaintext.fill(0);
    return undefined;
  }
  return plaintext;
}
