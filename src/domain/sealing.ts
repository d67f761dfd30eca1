/**
 * The port through which writers seal (R6.1, D10, D23): which data key a conversation's content goes under, and the
 * sealed bytes. Fails with KEY_UNKNOWN, KEY_DESTROYED, KEY_FILE, KEY_UNAVAILABLE or STORE_*. Plaintext is neither kept
 * nor changed.
 */
import type { ConversationId, TenantId } from './ids.js';
import type { Coordinates, DekId } from './message.js';

export interface Sealer {
  /**
   * The key version that was current at a time: the highest one made by then, or the first one where none was.
   * undefined: the conversation's content is stored as it is (D22), that is end-to-end encrypted content only.
   *
   * It depends on the time alone, never on when it is asked. A retry seals for the created_at of the first attempt and
   * so under the same version: both may insert the same row with the same timestamp, and the store then reconciles
   * column by column, so payload and dek_id of two versions could end up side by side, which would never open again.
   */
  keyAt(tenantId: TenantId, conversationId: ConversationId, epochMs: number): Promise<DekId | undefined>;
  /** The envelope of a payload at its coordinates, under a fresh nonce. */
  sealPayload(where: Coordinates, dekId: DekId, plaintext: Uint8Array): Promise<Uint8Array>;
  /** The preview of the message at these coordinates, preceded by its key and seq (D23). */
  sealPreview(where: Coordinates, dekId: DekId, plaintext: Uint8Array): Promise<Uint8Array>;
}
