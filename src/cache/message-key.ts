/**
 * A message's name and coordinates as words, in the order of a slot's header, and their seeded 64-bit hash.
 *
 * One instance is scratch space of its owner: reading a key overwrites the last one and allocates nothing. The hash
 * covers tenant and message id only (B42: the tenant is part of every key), because a message is cached once, whatever
 * coordinates a reference claims; those are compared at the hit. It resists chosen ids as far as the seed is secret,
 * and is no more than a hint: the words are compared in full at every hit.
 */
import type { ConversationId, MessageId, TenantId } from '../domain/ids.js';
import type { DekId } from '../domain/message.js';
import type { MessageAt } from '../domain/ports.js';
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

// Odd multipliers with mixed bits; any would do.
const MULTIPLIER_A = 0x9e3779b1 | 0;
const MULTIPLIER_B = 0x85ebca77 | 0;
const MULTIPLIER_C = 0xc2b2ae3d | 0;

export class MessageKey {
  readonly words = new Int32Array(KEY_WORDS);
  hashHi = 0;
  hashLo = 0;
  readonly #seedHi: number;
  readonly #seedLo: number;

  constructor(seedHi: number, seedLo: number) {
    this.#seedHi = seedHi | 0;
    this.#seedLo = seedLo | 0;
  }

  /** A reference of a request: name, coordinates and hash. */
  readReference(at: MessageAt): void {
    const words = this.words;
    const { tenantId, bytes, messageAt, conversationAt } = at;
    for (let i = 0; i < 4; i++) {
      words[i] = wordOf(tenantId, i * 4);
      words[KEY_MESSAGE + i] = wordOf(bytes, messageAt + i * 4);
      words[KEY_CONVERSATION + i] = wordOf(bytes, conversationAt + i * 4);
    }
    words[KEY_SEQ_HI] = at.seqHi;
    words[KEY_SEQ_LO] = at.seqLo;
    this.#hashName();
  }

  /** Only the name of a reference, and its hash. */
  readReferenceName(at: MessageAt): void {
    const words = this.words;
    const { tenantId, bytes, messageAt } = at;
    for (let i = 0; i < 4; i++) {
      words[i] = wordOf(tenantId, i * 4);
      words[KEY_MESSAGE + i] = wordOf(bytes, messageAt + i * 4);
    }
    this.#hashName();
  }

  /** A name in two arrays of its own; the coordinates are left as they are. */
  readName(tenantId: TenantId, messageId: MessageId): void {
    const words = this.words;
    for (let i = 0; i < 4; i++) {
      words[i] = wordOf(tenantId, i * 4);
      words[KEY_MESSAGE + i] = wordOf(messageId, i * 4);
    }
    this.#hashName();
  }

  readCoordinates(conversationId: ConversationId, seq: bigint): void {
    const words = this.words;
    for (let i = 0; i < 4; i++) words[KEY_CONVERSATION + i] = wordOf(conversationId, i * 4);
    // An Int32Array keeps the low 32 bits as they are.
    words[KEY_SEQ_HI] = Number(seq >> 32n);
    words[KEY_SEQ_LO] = Number(seq & 0xffff_ffffn);
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

  #hashName(): void {
    const words = this.words;
    let a = this.#seedHi;
    let b = this.#seedLo;
    for (let i = 0; i < KEY_NAME_WORDS; i += 2) {
      a = (Math.imul(rotate(a ^ (words[i] as number), 13), MULTIPLIER_A) + b) | 0;
      b = Math.imul(rotate(b ^ (words[i + 1] as number), 17), MULTIPLIER_B) ^ a;
    }
    this.hashHi = spread((a + rotate(b, 9)) | 0);
    this.hashLo = spread(b ^ this.hashHi);
  }
}

/**
 * The seeded 64-bit hash of a DEK's name; equal hashes are taken for equal keys (2^-64 for each pair). Remembers the last one, because the
 * rows of a group mostly share theirs. 0, 0 stands for "no key" and is never a key's hash.
 */
export class DekHash {
  hashHi = 0;
  hashLo = 0;
  #last: DekId | undefined;
  readonly #seedHi: number;
  readonly #seedLo: number;

  constructor(seedHi: number, seedLo: number) {
    this.#seedHi = seedHi | 0;
    this.#seedLo = seedLo | 0;
  }

  read(dek: DekId | undefined): void {
    if (dek === undefined) {
      this.#last = undefined;
      this.hashHi = 0;
      this.hashLo = 0;
      return;
    }
    const last = this.#last;
    if (last !== undefined && last.version === dek.version && last.id === dek.id && last.scope === dek.scope)
      return;
    this.#last = dek;
    let a = this.#seedHi ^ dek.scope.length;
    let b = this.#seedLo ^ dek.version;
    for (const text of [dek.scope, dek.id]) {
      for (let i = 0; i < text.length; i++) {
        a = (Math.imul(rotate(a ^ text.charCodeAt(i), 13), MULTIPLIER_A) + b) | 0;
        b = Math.imul(rotate(b, 17), MULTIPLIER_B) ^ a;
      }
    }
    this.hashHi = spread((a + rotate(b, 9)) | 0);
    this.hashLo = spread(b ^ this.hashHi) || 1;
  }
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** Makes every bit of the result depend on every bit of the value; one to one. */
function spread(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), MULTIPLIER_C);
  mixed = Math.imul(mixed ^ (mixed >>> 13), MULTIPLIER_A);
  return mixed ^ (mixed >>> 16);
}

/** Four bytes as the word that the region's memory would show. */
function wordOf(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}
