/**
 * Seals and opens one message payload under its conversation's DEK (R6.1, D10).
 *
 * The nonce is random for every call, never derived from the seq: an edit seals the same seq again. Opening answers
 * undefined for whatever does not authenticate (TAMPERED), and never a byte of unverified plaintext. Seqs and keys come
 * from inside, so a wrong one is a bug and asserted (D6). Groups are opened by open-items.ts instead.
 */
import { strict as assert } from 'node:assert';
import { randomFillSync } from 'node:crypto';
import {
  AAD_BYTES,
  envelopeOverhead,
  nonceBytes,
  payloadPlaintextBytes,
  Suite,
  TAG_BYTES,
  writeAad,
} from '../domain/envelope.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { PAYLOAD_BYTES_MAX } from '../domain/limits.js';
import type { DekId } from '../domain/message.js';
import { assertSeq } from '../domain/seq.js';
import { Aead, openAead, sealAead } from './suites.js';

/** The suites that a payload may have. */
export type PayloadSuite = typeof Suite.XCHACHA20_POLY1305 | typeof Suite.AES_256_GCM;

/** Where sealed bytes belong and what they are sealed with. */
export interface SealPlace {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  /** 32 bytes; not kept, not changed. */
  readonly dek: Uint8Array;
  /** Only its version enters the AAD; scope and id choose the key. */
  readonly dekId: DekId;
}

export interface PayloadToSeal extends SealPlace {
  /** At most PAYLOAD_BYTES_MAX; the writer has refused longer ones (B50). */
  readonly plaintext: Uint8Array;
  /** XChaCha20-Poly1305 unless said otherwise. */
  readonly suite?: PayloadSuite;
}

export interface PayloadToOpen extends SealPlace {
  readonly envelope: Uint8Array;
}

/** The AAD of a place (D10). */
export function aadOf(place: SealPlace): Uint8Array {
  const aad = new Uint8Array(AAD_BYTES);
  writeAad(aad, 0, place.tenantId, place.conversationId, place.seq, place.dekId.version);
  return aad;
}

/** The AEAD of a suite, or undefined for an unknown one. */
export function aeadOf(suite: number): Aead | undefined {
  switch (suite) {
    case Suite.XCHACHA20_POLY1305:
    case Suite.PREVIEW_XCHACHA20_POLY1305:
      return Aead.XCHACHA20_POLY1305;
    case Suite.AES_256_GCM:
    case Suite.PREVIEW_AES_256_GCM:
      return Aead.AES_256_GCM;
    default:
      return undefined;
  }
}

/** Writes an envelope (suite | nonce | ciphertext | tag) to `target` at `at`, with a fresh random nonce. */
export function writeEnvelope(
  suite: Suite,
  key: Uint8Array,
  aad: Uint8Array,
  plaintext: Uint8Array,
  target: Uint8Array,
  at: number,
): void {
  const aead = aeadOf(suite);
  assert(aead !== undefined, 'the suite is known');
  const sealedAt = at + 1 + nonceBytes(suite);
  const nonce = target.subarray(at + 1, sealedAt);
  target[at] = suite;
  randomFillSync(nonce);
  sealAead(aead, key, nonce, aad, plaintext, target, sealedAt);
}

/** Opens an envelope of a known suite and sufficient length; undefined when it does not authenticate. */
export function readEnvelope(
  suite: Suite,
  key: Uint8Array,
  aad: Uint8Array,
  envelope: Uint8Array,
): Uint8Array | undefined {
  const aead = aeadOf(suite);
  assert(aead !== undefined, 'the suite is known');
  const sealedAt = 1 + nonceBytes(suite);
  const tagAt = envelope.length - TAG_BYTES;
  return openAead(
    aead,
    key,
    envelope.subarray(1, sealedAt),
    aad,
    envelope.subarray(tagAt),
    envelope.subarray(sealedAt, tagAt),
  );
}

/** The sealed envelope of a payload, in memory of its own. */
export function sealPayload(input: PayloadToSeal): Uint8Array {
  assertSeq(input.seq, 'conversation_seq');
  assert(input.plaintext.length <= PAYLOAD_BYTES_MAX, 'the writer has refused longer payloads');
  const suite = input.suite ?? Suite.XCHACHA20_POLY1305;
  const envelope = new Uint8Array(envelopeOverhead(suite) + input.plaintext.length);
  writeEnvelope(suite, input.dek, aadOf(input), input.plaintext, envelope, 0);
  return envelope;
}

/** The plaintext of a payload's envelope, in memory of its own, or undefined: TAMPERED. */
export function openPayload(input: PayloadToOpen): Uint8Array | undefined {
  assertSeq(input.seq, 'conversation_seq');
  const { envelope } = input;
  const plaintextBytes = payloadPlaintextBytes(envelope);
  if (plaintextBytes < 0 || plaintextBytes > PAYLOAD_BYTES_MAX) return undefined;
  // payloadPlaintextBytes answers −1 for every byte that is no payload suite.
  return readEnvelope(envelope[0] as PayloadSuite, input.dek, aadOf(input), envelope);
}
