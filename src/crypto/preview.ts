/**
 * The preview of conversation_head (R6.1, D23): a sealed text preceded by the key and seq that the table has no column for.
 *
 *     preview:  scope length u16 BE | scope | id length u16 BE | id | key_version i32 BE | conversation_seq u64 BE | envelope
 *
 * A preview's AAD can coincide with its message's payload. Two things keep one from opening as the other: the suite
 * byte (0x81, 0x82), and a subkey of its own, HKDF-SHA256(DEK, no salt, info "mailjoin preview", 32 bytes). So changing
 * the suite byte gains nothing. What is read is input: parsePreview answers undefined for bytes that are no preview.
 */
import { strict as assert } from 'node:assert';
import { hkdfSync } from 'node:crypto';
import { DEK_BYTES, envelopeOverhead, Suite } from '../domain/envelope.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { PAYLOAD_BYTES_MAX } from '../domain/limits.js';
import type { DekId } from '../domain/message.js';
import { assertSeq, isSeq } from '../domain/seq.js';
import { aadOf, readEnvelope, type SealPlace, writeEnvelope } from './payload.js';

/** The suites that a preview may have. */
export type PreviewSuite = typeof Suite.PREVIEW_XCHACHA20_POLY1305 | typeof Suite.PREVIEW_AES_256_GCM;

const INFO = 'mailjoin preview';
const NAME_LENGTH_BYTES = 2;
const NAME_BYTES_MAX = 0xffff;
const VERSION_BYTES = 4;
const SEQ_BYTES = 8;

export interface PreviewToSeal extends SealPlace {
  readonly plaintext: Uint8Array;
  /** XChaCha20-Poly1305 unless said otherwise. */
  readonly suite?: PreviewSuite;
}

/** A preview taken apart: which key opens it, and of which message it is. */
export interface SealedPreview {
  readonly dekId: DekId;
  readonly seq: bigint;
  /** A view on the parsed bytes. */
  readonly envelope: Uint8Array;
}

function withPreviewKey<T>(dek: Uint8Array, use: (key: Uint8Array) => T): T {
  assert.equal(dek.length, DEK_BYTES, 'a DEK has 32 bytes');
  const key = new Uint8Array(hkdfSync('sha256', dek, '', INFO, DEK_BYTES));
  try {
    return use(key);
  } finally {
    key.fill(0);
  }
}

/** The bytes of preview_or_placeholder, in memory of their own. */
export function sealPreview(input: PreviewToSeal): Uint8Array {
  assertSeq(input.seq, 'conversation_seq');
  const scope = Buffer.from(input.dekId.scope, 'utf8');
  const id = Buffer.from(input.dekId.id, 'utf8');
  assert(scope.length <= NAME_BYTES_MAX && id.length <= NAME_BYTES_MAX, 'key names are bounded when made');
  const suite = input.suite ?? Suite.PREVIEW_XCHACHA20_POLY1305;
  const envelopeAt = 2 * NAME_LENGTH_BYTES + scope.length + id.length + VERSION_BYTES + SEQ_BYTES;
  const preview = Buffer.alloc(envelopeAt + envelopeOverhead(suite) + input.plaintext.length);
  let at = preview.writeUInt16BE(scope.length, 0);
  at += scope.copy(preview, at);
  at = preview.writeUInt16BE(id.length, at);
  at += id.copy(preview, at);
  at = preview.writeInt32BE(input.dekId.version, at);
  at = preview.writeBigUInt64BE(input.seq, at);
  withPreviewKey(input.dek, (key) => writeEnvelope(suite, key, aadOf(input), input.plaintext, preview, at));
  return preview;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Takes a preview apart without opening it; undefined when the bytes are none. */
export function parsePreview(bytes: Uint8Array): SealedPreview | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const readName = (): string | undefined => {
    if (at + NAME_LENGTH_BYTES > bytes.length) return undefined;
    const from = at + NAME_LENGTH_BYTES;
    const to = from + view.getUint16(at);
    if (to > bytes.length) return undefined;
    at = to;
    try {
      // A copy: TextDecoder takes no shared memory.
      return utf8.decode(new Uint8Array(bytes.subarray(from, to)));
    } catch {
      return undefined;
    }
  };
  const scope = readName();
  const id = scope === undefined ? undefined : readName();
  if (scope === undefined || id === undefined || at + VERSION_BYTES + SEQ_BYTES > bytes.length)
    return undefined;
  const version = view.getInt32(at);
  const seq = view.getBigUint64(at + VERSION_BYTES);
  if (!isSeq(seq)) return undefined;
  return { dekId: { scope, id, version }, seq, envelope: bytes.subarray(at + VERSION_BYTES + SEQ_BYTES) };
}

/** The plaintext of a preview, in memory of its own, or undefined: TAMPERED. */
export function openPreview(
  tenantId: TenantId,
  conversationId: ConversationId,
  dek: Uint8Array,
  preview: SealedPreview,
): Uint8Array | undefined {
  const { envelope, dekId, seq } = preview;
  const suite = envelope[0];
  if (suite !== Suite.PREVIEW_XCHACHA20_POLY1305 && suite !== Suite.PREVIEW_AES_256_GCM) return undefined;
  const plaintextBytes = envelope.length - envelopeOverhead(suite);
  if (plaintextBytes < 0 || plaintextBytes > PAYLOAD_BYTES_MAX) return undefined;
  const aad = aadOf({ tenantId, conversationId, seq, dek, dekId });
  return withPreviewKey(dek, (key) => readEnvelope(suite, key, aad, envelope));
}
