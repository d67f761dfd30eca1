/**
 * The sealed envelope and its AAD, byte by byte (R6.1, D10, D23). Layout only: no key and no cipher is used here.
 *
 *     envelope:  suite 1 | nonce 12 or 24 | ciphertext | tag 16
 *     AAD:       tenant_id 16 | conversation_id 16 | conversation_seq 8 BE | key_version 4 BE     = 44 bytes
 *
 * The length of the plaintext is known before anything is opened: envelope − suite − nonce − tag.
 * A preview's suites have the high bit set, so that a preview never opens as a payload (D23).
 */
import type { ConversationId, TenantId } from './ids.js';

export const Suite = {
  XCHACHA20_POLY1305: 0x01,
  AES_256_GCM: 0x02,
  PREVIEW_XCHACHA20_POLY1305: 0x81,
  PREVIEW_AES_256_GCM: 0x82,
} as const;
export type Suite = (typeof Suite)[keyof typeof Suite];

export const DEK_BYTES = 32;
export const TAG_BYTES = 16;
export const XCHACHA_NONCE_BYTES = 24;
export const GCM_NONCE_BYTES = 12;
export const AAD_BYTES = 44;
const SUITE_BYTES = 1;

/** Nonce length of a suite in bytes; 0 for an unknown suite. */
export function nonceBytes(suite: number): number {
  switch (suite) {
    case Suite.XCHACHA20_POLY1305:
    case Suite.PREVIEW_XCHACHA20_POLY1305:
      return XCHACHA_NONCE_BYTES;
    case Suite.AES_256_GCM:
    case Suite.PREVIEW_AES_256_GCM:
      return GCM_NONCE_BYTES;
    default:
      return 0;
  }
}

/** Envelope bytes beside the ciphertext, for a known suite. */
export function envelopeOverhead(suite: number): number {
  return SUITE_BYTES + nonceBytes(suite) + TAG_BYTES;
}

/**
 * Length of the plaintext inside a payload's envelope, or −1 when it is no payload envelope (unknown suite, a
 * preview's suite, or too short): such a payload is TAMPERED without any attempt to open it.
 */
export function payloadPlaintextBytes(envelope: Uint8Array): number {
  const suite = envelope[0];
  if (suite !== Suite.XCHACHA20_POLY1305 && suite !== Suite.AES_256_GCM) return -1;
  return Math.max(-1, envelope.length - envelopeOverhead(suite));
}

/** Writes the 44 bytes of AAD at an offset (D10). */
export function writeAad(
  target: Uint8Array,
  at: number,
  tenantId: TenantId,
  conversationId: ConversationId,
  seq: bigint,
  keyVersion: number,
): void {
  target.set(tenantId, at);
  target.set(conversationId, at + 16);
  writeBigEndian(target, at + 32, Number(seq >> 32n));
  writeBigEndian(target, at + 36, Number(seq & 0xffff_ffffn));
  writeBigEndian(target, at + 40, keyVersion);
}

/** 32 bits, signed or not. */
function writeBigEndian(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}
