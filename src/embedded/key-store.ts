/**
 * The embedded KeyStore: KEK-wrapped data keys, and a marker for each destroyed one (D12), in the same file; the KEK's
 * check value beside the file's format.
 *
 * Insert and destroy run inside a write transaction, so of concurrent inserts one wins, also between processes.
 * Destroying removes the wrapped bytes from every later read; LMDB may keep the freed page's bytes in the file until
 * it uses the page again, where they stay unreadable without the KEK. A key destroyed by another process is seen by
 * the next read. Fails with STORE_UNAVAILABLE, or STORE_REFUSED for a name too long.
 */
import { MailjoinError } from '../domain/errors.js';
import type { DekId } from '../domain/message.js';
import type { KeyStore, StoredKey } from '../domain/ports.js';
import type { Environment } from './environment.js';
import { decodeValue, encodeValue } from './row-codec.js';
import { dekIdKey, dekKeyBytes, restOfKey, timeKey } from './row-key.js';

/** Keys read at once while listing, so that no read transaction is held while the caller works. */
const LIST_PAGE_KEYS = 256;
const KEK_CHECK_VALUE = Buffer.from('kek_check_value');

export class EmbeddedKeyStore implements KeyStore {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async fetch(ids: readonly DekId[]): Promise<readonly (StoredKey | undefined)[]> {
    const keys = ids.map(dekIdKey);
    return this.#environment.read(() => keys.map((key) => this.#get(key)));
  }

  async insert(stored: StoredKey): Promise<boolean> {
    const key = dekIdKey(stored.dekId);
    return this.#environment.write(() => {
      if (this.#environment.keys.get(key) !== undefined) return false;
      // Inside a transaction a put is done when it returns.
      void this.#environment.keys.put(key, encodeKey(stored));
      this.#indexDestroyed(key, stored);
      return true;
    });
  }

  async destroy(dekId: DekId, epochMs: number): Promise<boolean> {
    const key = dekIdKey(dekId);
    return this.#environment.write(() => {
      const stored = this.#get(key);
      if (stored === undefined) return false;
      // The first destruction's time stays: a repeat changes nothing.
      if (stored.destroyedAtEpochMs !== undefined) return true;
      const marker = { ...stored, wrapped: undefined, destroyedAtEpochMs: epochMs };
      void this.#environment.keys.put(key, encodeKey(marker));
      this.#indexDestroyed(key, marker);
      return true;
    });
  }

  async *list(scope?: string, id?: string): AsyncIterable<StoredKey> {
    const prefix = scope === undefined ? Buffer.alloc(0) : dekKeyBytes(scope, id);
    let start: Buffer = prefix;
    for (;;) {
      const page = this.#page(prefix, start);
      for (const { stored } of page) yield stored;
      const last = page.at(-1);
      if (last === undefined || page.length < LIST_PAGE_KEYS) return;
      // The least key above the last one.
      start = Buffer.concat([last.key, Buffer.alloc(1)]);
    }
  }

  async destroyedSince(epochMs: number): Promise<readonly DekId[]> {
    return this.#environment.read(() => {
      const since: DekId[] = [];
      for (const entry of this.#environment.destroyed.getKeys({ start: timeKey(epochMs) })) {
        const stored = this.#get(restOfKey(entry));
        if (stored !== undefined) since.push(stored.dekId);
      }
      return since;
    });
  }

  async kekCheckValue(): Promise<Uint8Array | undefined> {
    return this.#environment.read(() => this.#environment.meta.get(KEK_CHECK_VALUE));
  }

  async recordKekCheckValue(value: Uint8Array): Promise<Uint8Array> {
    return this.#environment.write(() => {
      const recorded = this.#environment.meta.get(KEK_CHECK_VALUE);
      if (recorded !== undefined) return recorded;
      void this.#environment.meta.put(KEK_CHECK_VALUE, Buffer.from(value));
      return value;
    });
  }

  #get(key: Buffer): StoredKey | undefined {
    const stored = this.#environment.keys.get(key);
    return stored && decodeKey(stored);
  }

  #indexDestroyed(key: Buffer, stored: StoredKey): void {
    if (stored.destroyedAtEpochMs === undefined) return;
    void this.#environment.destroyed.put(timeKey(stored.destroyedAtEpochMs, key), Buffer.alloc(0));
  }

  #page(prefix: Buffer, start: Buffer): { key: Buffer; stored: StoredKey }[] {
    return this.#environment.read(() => {
      const page: { key: Buffer; stored: StoredKey }[] = [];
      for (const { key, value } of this.#environment.keys.getRange({ start, limit: LIST_PAGE_KEYS })) {
        if (!key.subarray(0, prefix.length).equals(prefix)) break;
        page.push({ key, stored: decodeKey(value) });
      }
      return page;
    });
  }
}

function encodeKey({ dekId, wrapped, createdAtEpochMs, destroyedAtEpochMs }: StoredKey): Buffer {
  const { scope, id, version } = dekId;
  return encodeValue([scope, id, version, wrapped ?? null, createdAtEpochMs, destroyedAtEpochMs ?? null]);
}

function decodeKey(bytes: Uint8Array): StoredKey {
  const [scope, id, version, wrapped, createdAtEpochMs, destroyedAtEpochMs] = decodeValue(bytes);
  if (
    typeof scope !== 'string' ||
    typeof id !== 'string' ||
    typeof version !== 'number' ||
    typeof createdAtEpochMs !== 'number'
  ) {
    throw new MailjoinError('STORE_CORRUPT', 'a stored key has another shape');
  }
  return {
    dekId: { scope, id, version },
    wrapped: wrapped instanceof Uint8Array ? wrapped : undefined,
    createdAtEpochMs,
    destroyedAtEpochMs: typeof destroyedAtEpochMs === 'number' ? destroyedAtEpochMs : undefined,
  };
}
