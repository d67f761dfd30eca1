/**
 * The seeded 64-bit hash of a DEK's name; equal hashes are taken for equal keys (2^-64 for each pair). Remembers the last one, because the
 * rows of a group mostly share theirs. 0, 0 stands for "no key" and is never a key's hash.
 */
import type { DekId } from '../domain/message.js';
import { finishHi, finishLo, stepA, stepB } from './hash-lanes.js';

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
        a = stepA(a, b, text.charCodeAt(i));
        b = stepB(a, b, 0);
      }
    }
    this.hashHi = finishHi(a, b);
    this.hashLo = finishLo(b, this.hashHi) || 1;
  }
}
