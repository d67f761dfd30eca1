/**
 * A KeyStore in memory, for tests: the port's contract and nothing more. `failing` makes every call fail.
 */
import { MailjoinError } from '../../src/domain/errors.js';
import { type DekId, dekKey } from '../../src/domain/message.js';
import type { KeyStore, StoredKey } from '../../src/domain/ports.js';

export class MemoryKeyStore implements KeyStore {
  readonly keys = new Map<string, StoredKey>();
  checkValue: Uint8Array | undefined;
  fetches = 0;
  failing = false;

  async fetch(ids: readonly DekId[]): Promise<readonly (StoredKey | undefined)[]> {
    this.#check();
    this.fetches++;
    return ids.map((id) => this.keys.get(dekKey(id)));
  }

  async insert(key: StoredKey): Promise<boolean> {
    this.#check();
    if (this.keys.has(dekKey(key.dekId))) return false;
    this.keys.set(dekKey(key.dekId), key);
    return true;
  }

  async destroy(dekId: DekId, epochMs: number): Promise<boolean> {
    this.#check();
    const key = this.keys.get(dekKey(dekId));
    if (key === undefined) return false;
    if (key.destroyedAtEpochMs === undefined) {
      this.keys.set(dekKey(dekId), { ...key, wrapped: undefined, destroyedAtEpochMs: epochMs });
    }
    return true;
  }

  async *list(scope?: string, id?: string): AsyncIterable<StoredKey> {
    this.#check();
    for (const key of [...this.keys.values()]) {
      if (scope !== undefined && key.dekId.scope !== scope) continue;
      if (id !== undefined && key.dekId.id !== id) continue;
      yield key;
    }
  }

  async destroyedSince(epochMs: number): Promise<readonly DekId[]> {
    this.#check();
    return [...this.keys.values()]
      .filter((key) => (key.destroyedAtEpochMs ?? Number.NEGATIVE_INFINITY) >= epochMs)
      .map((key) => key.dekId);
  }

  async kekCheckValue(): Promise<Uint8Array | undefined> {
    this.#check();
    return this.checkValue;
  }

  async recordKekCheckValue(value: Uint8Array): Promise<Uint8Array> {
    this.#check();
    this.checkValue ??= value;
    return this.checkValue;
  }

  #check(): void {
    if (this.failing) throw new MailjoinError('STORE_UNAVAILABLE', 'made to fail');
  }
}
