/**
 * The key provider that ships: KEK-wrapped DEKs kept beside the messages (KeyStore), opened with the KEK of a file.
 *
 * A destroyed key answers 'destroyed' by its marker; a key that was never made is 'unknown'; one that does not open under
 * this KEK is 'failed' with KEY_FILE, alone (D12: only the marker means destroyed). A store that does not answer fails the
 * call.
 */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import { UNWRAP_BATCH_MAX } from '../domain/limits.js';
import type { DekId } from '../domain/message.js';
import type { KeyProvider, KeyStore, StoredKey, Unwrapped } from '../domain/ports.js';
import { unwrapDek } from './key-wrap.js';

export class LocalKeyProvider implements KeyProvider {
  readonly #store: KeyStore;
  readonly #kek: Uint8Array;

  /** Takes the KEK over: close() zeroes it. */
  constructor(store: KeyStore, kek: Uint8Array) {
    this.#store = store;
    this.#kek = kek;
  }

  /** The keys in the answers belong to the caller. */
  async unwrap(ids: readonly DekId[]): Promise<readonly Unwrapped[]> {
    assert(ids.length <= UNWRAP_BATCH_MAX, 'the caller splits what it asks for');
    const stored = await this.#store.fetch(ids);
    assert.equal(stored.length, ids.length, 'a key store answers every id');
    return ids.map((id, index) => this.#answer(id, stored[index]));
  }

  /** Zeroes the KEK; nothing can be unwrapped afterwards. */
  close(): void {
    this.#kek.fill(0);
  }

  #answer(id: DekId, stored: StoredKey | undefined): Unwrapped {
    if (stored === undefined) return { status: 'unknown' };
    if (stored.wrapped === undefined || stored.destroyedAtEpochMs !== undefined)
      return { status: 'destroyed' };
    const key = unwrapDek(this.#kek, id, stored.wrapped);
    if (key !== undefined) return { status: 'ok', key };
    return {
      status: 'failed',
      cause: new MailjoinError('KEY_FILE', 'a data key does not open under this one'),
    };
  }
}
