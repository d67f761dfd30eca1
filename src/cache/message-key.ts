/**
 * A message's name and coordinates as words, in the order of a slot's header, and their seeded 64-bit hash.
 *
 * One instance is scratch space of its owner: reading a key overwrites the last one and allocates nothing, but for two
 * views when the arrays change; those of the last reference stay reachable until forget(). The hash
 * covers tenant and message id only (B42: the tenant is part of every key), because a message is cached once, whatever
 * coordinates a reference claims; those are compared at the hit. It resists chosen ids as far as the seed is secret,
 * and is no more than a hint: the words are compared in full at every hit.
 */
import type { ConversationId, MessageId, TenantId } from '../domain/ids.js';
import type { MessageAt } from '../domain/ports.js';
import { finishHi, finishLo, stepA, stepB } from './hash-lanes.js';
import {
  KEY_CONVERSATION,
  KEY_MESSAGE,
  KEY_NAME_WORDS,
  KEY_SEQ_HI,
  KEY_SEQ_LO,
  KEY_WORDS,
  SLOT_HASH_HI,
  SLOT_HASH_LO,
  SLOT_KEY,
} from './layout.js';

/** Splits 64-bit numbers into words without making bigints. */
const split64 = new BigInt64Array(1);
const split32 = new Int32Array(split64.buffer);
const NO_VIEW = new DataView(new ArrayBuffer(0));

export class MessageKey {
  readonly words = new Int32Array(KEY_WORDS);
  hashHi = 0;
  hashLo = 0;
  readonly #seedHi: number;
  readonly #seedLo: number;
  /** Views on the arrays of the last reference: a batch's references share theirs, and a view reads a word at once. */
  #tenantBytes: Uint8Array | undefined;
  #tenantView: DataView = NO_VIEW;
  #bytes: Uint8Array | undefined;
  #view: DataView = NO_VIEW;

  constructor(seedHi: number, seedLo: number) {
    this.#seedHi = seedHi | 0;
    this.#seedLo = seedLo | 0;
  }

  /** A reference of a request: name, coordinates and hash. */
  readReference(at: MessageAt): void {
    this.readReferenceName(at);
    const words = this.words;
    const view = this.#view;
    const { conversationAt } = at;
    words[KEY_CONVERSATION] = view.getInt32(conversationAt, true);
    words[KEY_CONVERSATION + 1] = view.getInt32(conversationAt + 4, true);
    words[KEY_CONVERSATION + 2] = view.getInt32(conversationAt + 8, true);
    words[KEY_CONVERSATION + 3] = view.getInt32(conversationAt + 12, true);
    words[KEY_SEQ_HI] = at.seqHi;
    words[KEY_SEQ_LO] = at.seqLo;
  }

  /** Only the name of a reference, and its hash. */
  readReferenceName(at: MessageAt): void {
    const { tenantId, bytes, messageAt } = at;
    if (tenantId !== this.#tenantBytes) {
      this.#tenantBytes = tenantId;
      this.#tenantView = viewOf(tenantId);
    }
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
    }
    const tenant = this.#tenantView;
    const view = this.#view;
    this.#setName(
      tenant.getInt32(0, true),
      tenant.getInt32(4, true),
      tenant.getInt32(8, true),
      tenant.getInt32(12, true),
      view.getInt32(messageAt, true),
      view.getInt32(messageAt + 4, true),
      view.getInt32(messageAt + 8, true),
      view.getInt32(messageAt + 12, true),
    );
  }

  /** A name in two arrays of its own; the coordinates are left as they are. */
  readName(tenantId: TenantId, messageId: MessageId): void {
    this.#setName(
      wordOf(tenantId, 0),
      wordOf(tenantId, 4),
      wordOf(tenantId, 8),
      wordOf(tenantId, 12),
      wordOf(messageId, 0),
      wordOf(messageId, 4),
      wordOf(messageId, 8),
      wordOf(messageId, 12),
    );
  }

  readCoordinates(conversationId: ConversationId, seq: bigint): void {
    const words = this.words;
    for (let i = 0; i < 4; i++) words[KEY_CONVERSATION + i] = wordOf(conversationId, i * 4);
    split64[0] = seq;
    words[KEY_SEQ_HI] = split32[1] as number;
    words[KEY_SEQ_LO] = split32[0] as number;
  }

  /** The key that a slot's header repeats. */
  readSlot(i32: Int32Array, slotWord: number): void {
    const words = this.words;
    const from = slotWord + SLOT_KEY;
    for (let i = 0; i < KEY_WORDS; i++) words[i] = i32[from + i] as number;
    this.hashHi = i32[slotWord + SLOT_HASH_HI] as number;
    this.hashLo = i32[slotWord + SLOT_HASH_LO] as number;
  }

  /** True when the key's words at `from` (a slot's or a copied header's) name this message. */
  namesSlot(i32: Int32Array, from: number): boolean {
    const words = this.words;
    for (let i = 0; i < KEY_NAME_WORDS; i++) if (words[i] !== i32[from + i]) return false;
    return true;
  }

  /** True when the key's words at `from` have these coordinates. */
  locatesSlot(i32: Int32Array, from: number): boolean {
    const words = this.words;
    for (let i = KEY_NAME_WORDS; i < KEY_WORDS; i++) if (words[i] !== i32[from + i]) return false;
    return true;
  }

  /** Lets the arrays of the last reference go. */
  forget(): void {
    this.#tenantBytes = undefined;
    this.#bytes = undefined;
    this.#tenantView = NO_VIEW;
    this.#view = NO_VIEW;
  }

  #setName(
    t0: number,
    t1: number,
    t2: number,
    t3: number,
    m0: number,
    m1: number,
    m2: number,
    m3: number,
  ): void {
    const words = this.words;
    words[0] = t0;
    words[1] = t1;
    words[2] = t2;
    words[3] = t3;
    words[KEY_MESSAGE] = m0;
    words[KEY_MESSAGE + 1] = m1;
    words[KEY_MESSAGE + 2] = m2;
    words[KEY_MESSAGE + 3] = m3;
    let a = stepA(this.#seedHi, this.#seedLo, t0);
    let b = stepB(a, this.#seedLo, t1);
    a = stepA(a, b, t2);
    b = stepB(a, b, t3);
    a = stepA(a, b, m0);
    b = stepB(a, b, m1);
    a = stepA(a, b, m2);
    b = stepB(a, b, m3);
    this.hashHi = finishHi(a, b);
    this.hashLo = finishLo(b, this.hashHi);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Four bytes as the word that the region's memory would show. */
export function wordOf(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}
