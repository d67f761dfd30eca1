/**
 * Key administration: what the `mailjoin keys` command and writers ask. Keys are made here, wrapped before they leave
 * this file, and destroyed by leaving a marker (R3.2, D12). Every operation can be repeated after a failure: a version
 * is never written twice (KeyStore.insert), so two administrators at once get two versions or KEY_EXISTS.
 */
import { randomBytes } from 'node:crypto';
import { DEK_BYTES } from '../domain/envelope.js';
import { MailjoinError } from '../domain/errors.js';
import { type DekId, isKeyVersion, KEY_VERSION_MAX } from '../domain/message.js';
import type { Clock, KeyStore, StoredKey } from '../domain/ports.js';
import { wrapDek } from './key-wrap.js';

/** Bytes of a key's scope and of its id, in UTF-8; they stand in partition keys and before every preview (D23). */
const NAME_BYTES_MAX = 255;
/** Attempts of one rotation when others rotate the same key at once. */
const ROTATE_ATTEMPTS_MAX = 8;
/** A lone surrogate has no UTF-8 form, so that two such names would become the same bytes; the others deceive the eye. */
const UNFIT = /[\p{Cs}\p{Cc}\p{Zl}\p{Zp}]/u;

/** A key as an administrator sees it: never its bytes. */
export interface KeyInfo {
  readonly dekId: DekId;
  readonly createdAtEpochMs: number;
  readonly destroyedAtEpochMs: number | undefined;
}

export class KeyAdmin {
  readonly #store: KeyStore;
  readonly #kek: Uint8Array;
  readonly #clock: Pick<Clock, 'epochMs'>;

  constructor(store: KeyStore, kek: Uint8Array, clock: Pick<Clock, 'epochMs'>) {
    this.#store = store;
    this.#kek = kek;
    this.#clock = clock;
  }

  /** Version 1 of a new key. KEY_EXISTS when the key exists or existed; CONFIG_INVALID for an unusable name. */
  async create(scope: string, id: string): Promise<DekId> {
    checkName('scope', scope);
    checkName('id', id);
    const dekId = { scope, id, version: 1 };
    if (!(await this.#insertNew(dekId))) throw new MailjoinError('KEY_EXISTS', `${scope}/${id}`);
    return dekId;
  }

  /** The next version of a key, also when its versions were all destroyed. KEY_UNKNOWN when there is none. */
  async rotate(scope: string, id: string): Promise<DekId> {
    for (let attempt = 0; attempt < ROTATE_ATTEMPTS_MAX; attempt++) {
      const versions = await this.#versions(scope, id);
      const newest = versions.reduce((highest, key) => Math.max(highest, key.dekId.version), 0);
      if (newest === 0) throw new MailjoinError('KEY_UNKNOWN', `${scope}/${id}`);
      if (newest === KEY_VERSION_MAX)
        throw new MailjoinError('KEY_EXISTS', `${scope}/${id} has no further version`);
      const dekId = { scope, id, version: newest + 1 };
      if (await this.#insertNew(dekId)) return dekId;
    }
    throw new MailjoinError('KEY_EXISTS', `others rotate ${scope}/${id} at the same time`);
  }

  /** Every key, or those of one scope, or one key's versions; destroyed ones included. */
  async *list(scope?: string, id?: string): AsyncIterable<KeyInfo> {
    for await (const { dekId, createdAtEpochMs, destroyedAtEpochMs } of this.#store.list(scope, id)) {
      yield { dekId, createdAtEpochMs, destroyedAtEpochMs };
    }
  }

  /** Destroys one version for ever: everything under it becomes ERASED. Repeatable. KEY_UNKNOWN when it never existed. */
  async destroy(dekId: DekId): Promise<void> {
    // No store has a version that its key cannot hold.
    if (isKeyVersion(dekId.version) && (await this.#store.destroy(dekId, this.#clock.epochMs()))) return;
    throw new MailjoinError('KEY_UNKNOWN', `${dekId.scope}/${dekId.id}/${dekId.version}`);
  }

  /** The version that new payloads are sealed with: the highest that is not destroyed, or undefined. */
  async latestActive(scope: string, id: string): Promise<DekId | undefined> {
    let latest: DekId | undefined;
    for (const { dekId, wrapped, destroyedAtEpochMs } of await this.#versions(scope, id)) {
      if (wrapped === undefined || destroyedAtEpochMs !== undefined) continue;
      if (latest === undefined || dekId.version > latest.version) latest = dekId;
    }
    return latest;
  }

  async #versions(scope: string, id: string): Promise<readonly StoredKey[]> {
    const versions: StoredKey[] = [];
    for await (const key of this.#store.list(scope, id)) versions.push(key);
    return versions;
  }

  async #insertNew(dekId: DekId): Promise<boolean> {
    const dek = randomBytes(DEK_BYTES);
    try {
      const wrapped = wrapDek(this.#kek, dekId, dek);
      return await this.#store.insert({
        dekId,
        wrapped,
        createdAtEpochMs: this.#clock.epochMs(),
        destroyedAtEpochMs: undefined,
      });
    } finally {
      dek.fill(0);
    }
  }
}

function checkName(what: string, name: string): void {
  const bytes = Buffer.byteLength(name, 'utf8');
  if (bytes >= 1 && bytes <= NAME_BYTES_MAX && !UNFIT.test(name)) return;
  throw new MailjoinError(
    'CONFIG_INVALID',
    `a key's ${what} has 1 to ${NAME_BYTES_MAX} bytes of UTF-8 and no control characters`,
  );
}
