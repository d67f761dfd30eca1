/**
 * DEKs wrapped by the key-encryption key (KEK): XChaCha20-Poly1305 with the DEK's id as AAD, so that a wrapped key does
 * not open under another id.
 *
 *     wrapped:  format 1 (0x01) | nonce 24 | ciphertext 32 | tag 16                                    = 73 bytes
 *     AAD:      scope length u32 BE | scope | id length u32 BE | id | key_version i32 BE               (texts in UTF-8)
 */
import { strict as assert } from 'node:assert';
import { randomFillSync } from 'node:crypto';
import { DEK_BYTES, TAG_BYTES, XCHACHA_NONCE_BYTES } from '../domain/envelope.js';
import type { DekId } from '../domain/message.js';
import { Aead, openAead, sealAead } from './suites.js';

const FORMAT = 0x01;
const NONCE_AT = 1;
const SEALED_AT = NONCE_AT + XCHACHA_NONCE_BYTES;
const TAG_AT = SEALED_AT + DEK_BYTES;
const WRAPPED_BYTES = TAG_AT + TAG_BYTES;

function wrapAad(dekId: DekId): Uint8Array {
  const scope = Buffer.from(dekId.scope, 'utf8');
  const id = Buffer.from(dekId.id, 'utf8');
  const aad = Buffer.alloc(4 + scope.length + 4 + id.length + 4);
  let at = aad.writeUInt32BE(scope.length, 0);
  at += scope.copy(aad, at);
  at = aad.writeUInt32BE(id.length, at);
  at += id.copy(aad, at);
  aad.writeInt32BE(dekId.version, at);
  return aad;
}

/** The wrapped form of a DEK, with a fresh random nonce. */
export function wrapDek(kek: Uint8Array, dekId: DekId, dek: Uint8Array): Uint8Array {
  assert.equal(dek.length, DEK_BYTES, 'a DEK has 32 bytes');
  const wrapped = new Uint8Array(WRAPPED_BYTES);
  wrapped[0] = FORMAT;
  const nonce = wrapped.subarray(NONCE_AT, SEALED_AT);
  randomFillSync(nonce);
  sealAead(Aead.XCHACHA20_POLY1305, kek, nonce, wrapAad(dekId), dek, wrapped, SEALED_AT);
  return wrapped;
}

/** The DEK, in memory that belongs to the caller, or undefined when it does not open under this KEK and id. */
export function unwrapDek(kek: Uint8Array, dekId: DekId, wrapped: Uint8Array): Uint8Array | undefined {
  if (wrapped.length !== WRAPPED_BYTES || wrapped[0] !== FORMAT) return undefined;
  return openAead(
    Aead.XCHACHA20_POLY1305,
    kek,
    wrapped.subarray(NONCE_AT, SEALED_AT),
    wrapAad(dekId),
    wrapped.subarray(TAG_AT),
    wrapped.subarray(SEALED_AT, TAG_AT),
  );
}
