/**
 * Seals what writers commit (R6.1): the Sealer on the key store and the keyring. A conversation of a tenant has a data key
 * of its own (conversation-key.ts); the first message makes its first version.
 *
 * Versions of a conversation are remembered for a while, so a rotation is used that much later, by everybody; which
 * version is current at a time never depends on who asks, or when. Opened keys are asked of the keyring for each seal and
 * their copies zeroed. Fails with KEY_DESTROYED, KEY_UNKNOWN, KEY_FILE, KEY_UNAVAILABLE or STORE_*: where the keyring tells
 * why it has no key, with that reason.
 */
import { LRUCache } from 'lru-cache';
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, TenantId } from '../domain/ids.js';
import { DEK_CACHE_ENTRIES_MAX, DEK_CACHE_TTL_MS_DEFAULT, KEY_SETTLE_MS } from '../domain/limits.js';
import type { Coordinates, DekId } from '../domain/message.js';
import type { Clock, Keyring } from '../domain/ports.js';
import type { Sealer } from '../domain/sealing.js';
import { CONVERSATION_SCOPE, conversationKeyId } from './conversation-key.js';
import type { KeyAdmin } from './key-admin.js';
import { type SealPlace, sealPayload } from './payload.js';
import { sealPreview } from './preview.js';

export interface ConversationSealerOptions {
  readonly keys: Pick<KeyAdmin, 'create' | 'list'>;
  readonly keyring: Pick<Keyring, 'resolve'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

interface KeyVersion {
  readonly dekId: DekId;
  readonly createdAtEpochMs: number;
}

export class ConversationSealer implements Sealer {
  readonly #keys: Pick<KeyAdmin, 'create' | 'list'>;
  readonly #keyring: Pick<Keyring, 'resolve'>;
  readonly #versions: LRUCache<string, readonly KeyVersion[]>;

  constructor(options: ConversationSealerOptions) {
    this.#keys = options.keys;
    this.#keyring = options.keyring;
    this.#versions = new LRUCache({
      max: DEK_CACHE_ENTRIES_MAX,
      ttl: DEK_CACHE_TTL_MS_DEFAULT,
      ttlResolution: 0,
      perf: { now: () => options.clock.nowMs() },
    });
  }

  /** See Sealer.keyAt. Destroyed versions count: what was sealed under one then is not sealed under another now. */
  async keyAt(tenantId: TenantId, conversationId: ConversationId, epochMs: number): Promise<DekId> {
    const id = conversationKeyId(tenantId, conversationId);
    const versions = this.#versions.get(id) ?? (await this.#load(id));
    let current = versions[0] as KeyVersion;
    for (const version of versions) {
      if (version.createdAtEpochMs + KEY_SETTLE_MS <= epochMs) current = version;
    }
    return current.dekId;
  }

  sealPayload(where: Coordinates, dekId: DekId, plaintext: Uint8Array): Promise<Uint8Array> {
    return this.#withKey(where, dekId, (place) => sealPayload({ ...place, plaintext }));
  }

  sealPreview(where: Coordinates, dekId: DekId, plaintext: Uint8Array): Promise<Uint8Array> {
    return this.#withKey(where, dekId, (place) => sealPreview({ ...place, plaintext }));
  }

  /** All versions, ascending; at least one. */
  async #load(id: string): Promise<readonly KeyVersion[]> {
    let versions = await this.#list(id);
    if (versions.length === 0) {
      try {
        await this.#keys.create(CONVERSATION_SCOPE, id);
      } catch (error) {
        // Another process made it meanwhile.
        if (!(error instanceof MailjoinError && error.code === 'KEY_EXISTS')) throw error;
      }
      versions = await this.#list(id);
    }
    if (versions.length === 0) throw new MailjoinError('KEY_UNKNOWN', 'a key that was made is not there');
    this.#versions.set(id, versions);
    return versions;
  }

  async #list(id: string): Promise<readonly KeyVersion[]> {
    const versions: KeyVersion[] = [];
    for await (const { dekId, createdAtEpochMs } of this.#keys.list(CONVERSATION_SCOPE, id)) {
      versions.push({ dekId, createdAtEpochMs });
    }
    return versions.sort((a, b) => a.dekId.version - b.dekId.version);
  }

  async #withKey<T>(where: Coordinates, dekId: DekId, seal: (place: SealPlace) => T): Promise<T> {
    const [answer] = await this.#keyring.resolve([dekId]);
    if (answer?.status === 'ok') {
      try {
        return seal({ ...where, dek: answer.key, dekId });
      } finally {
        answer.key.fill(0);
      }
    }
    if (answer?.status === 'destroyed') throw new MailjoinError('KEY_DESTROYED');
    if (answer?.status === 'unknown') throw new MailjoinError('KEY_UNKNOWN');
    // Its own code says whether asking again can help: a store that is late, or a key that no repetition opens.
    if (answer?.cause instanceof MailjoinError) throw answer.cause;
    throw new MailjoinError('KEY_UNAVAILABLE', undefined, { cause: answer?.cause });
  }
}
