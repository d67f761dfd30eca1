import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { conversationKeyId, parseConversationKeyId } from '../../src/crypto/conversation-key.js';
import { ConversationSealer } from '../../src/crypto/conversation-sealer.js';
import { DekCache } from '../../src/crypto/dek-cache.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { openPayload } from '../../src/crypto/payload.js';
import { openPreview, parsePreview } from '../../src/crypto/preview.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { formatUuid } from '../../src/domain/ids.js';
import { DEK_CACHE_TTL_MS_DEFAULT, KEY_SETTLE_MS } from '../../src/domain/limits.js';
import type { Keyring } from '../../src/domain/ports.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { conversation, somewhere, tenant } from '../stores/fixtures.js';

const UUID = '00112233-4455-6677-8899-aabbccddeeff';

async function sealing() {
  const clock = new SetClock();
  const { keys: store } = await openFor(temporaryDirectory(), clock);
  const kek = randomBytes(32);
  const keys = new KeyAdmin(store, kek, clock);
  const keyring = new DekCache({ provider: new LocalKeyProvider(store, kek), clock });
  const another = () => new ConversationSealer({ keys, keyring, clock });
  return { clock, keys, keyring, another, sealer: another() };
}

describe('a conversation’s key_id', () => {
  it.each([
    '',
    'x',
    '/',
    '0'.repeat(36),
    `${UUID}`,
    `${UUID}/`,
    `/${UUID}`,
    `${UUID}/x`,
    `${UUID}/${UUID}/${UUID}`,
  ])('is none: %j', (text) => expect(parseConversationKeyId(text)).toBeUndefined());

  it('is read as it is written, in capitals too', () => {
    const { tenantId, conversationId } = somewhere();
    const id = conversationKeyId(tenantId, conversationId);
    expect(parseConversationKeyId(id)).toBe(id);
    expect(parseConversationKeyId(id.toUpperCase())).toBe(id);
  });
});

describe('ConversationSealer', () => {
  it.each([
    ['destroyed', 'KEY_DESTROYED'],
    ['unknown', 'KEY_UNKNOWN'],
    ['failed', 'KEY_UNAVAILABLE'],
  ] as const)('fails with a key that is %s: %s', async (status, code) => {
    const { keys, clock } = await sealing();
    const keyring: Pick<Keyring, 'resolve'> = { resolve: async () => [{ status, cause: new Error('x') }] };
    const sealer = new ConversationSealer({ keys, keyring, clock });
    const dekId = { scope: 's', id: 'i', version: 1 };
    await expect(sealer.sealPayload(somewhere(), dekId, randomBytes(3))).rejects.toMatchObject({ code });
  });

  it.each([
    ['KEY_FILE', false],
    ['STORE_UNAVAILABLE', true],
  ] as const)('tells why there is no key, and whether asking again can help: %s', async (code, retryable) => {
    const { keys, clock } = await sealing();
    const cause = new MailjoinError(code, 'the reason');
    const keyring: Pick<Keyring, 'resolve'> = { resolve: async () => [{ status: 'failed', cause }] };
    const sealer = new ConversationSealer({ keys, keyring, clock });
    const message = expect.stringContaining('the reason');
    for (const seal of ['sealPayload', 'sealPreview'] as const) {
      const sealed = sealer[seal](somewhere(), { scope: 's', id: 'i', version: 1 }, randomBytes(3));
      await expect(sealed).rejects.toMatchObject({ code, retryable, message });
    }
  });

  it('passes on that the key store fails, and remembers nothing of it', async () => {
    const { keys, keyring, clock } = await sealing();
    let failing = true;
    const sealer = new ConversationSealer({
      keyring,
      clock,
      keys: {
        create: (scope, id) =>
          failing ? Promise.reject(new MailjoinError('STORE_UNAVAILABLE')) : keys.create(scope, id),
        list: (scope, id) => keys.list(scope, id),
      },
    });
    const conversationId = conversation();
    await expect(sealer.keyAt(tenant(), conversationId, clock.ms)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    failing = false;
    expect(await sealer.keyAt(tenant(), conversationId, clock.ms)).toMatchObject({ version: 1 });
  });

  it('makes a conversation’s first key once, however many ask', async () => {
    const { sealer, keys, clock, keyring } = await sealing();
    const other = new ConversationSealer({ keys, keyring, clock });
    const { tenantId, conversationId } = somewhere();
    const asked = [sealer, other, sealer, other].map((one) => one.keyAt(tenantId, conversationId, clock.ms));
    const id = `${formatUuid(tenantId)}/${formatUuid(conversationId)}`;
    for (const dekId of await Promise.all(asked)) {
      expect(dekId).toEqual({ scope: 'conversation', id, version: 1 });
    }
  });

  it('B42: the same conversation of two tenants has two keys, and the versions of neither count for the other', async () => {
    const { sealer, keys, clock } = await sealing();
    const [{ tenantId, conversationId }, other] = [somewhere(), tenant()];
    const mine = await sealer.keyAt(tenantId, conversationId, clock.ms);
    const theirs = await sealer.keyAt(other, conversationId, clock.ms);
    expect(theirs).not.toEqual(mine);
    await keys.rotate(mine.scope, mine.id);
    clock.ms += KEY_SETTLE_MS + DEK_CACHE_TTL_MS_DEFAULT + 1;
    expect(await sealer.keyAt(tenantId, conversationId, clock.ms)).toEqual({ ...mine, version: 2 });
    expect(await sealer.keyAt(other, conversationId, clock.ms)).toEqual(theirs);
  });

  it('B42 B37: destroying the key of one tenant’s conversation leaves the other tenant’s', async () => {
    const { sealer, keys, keyring, clock } = await sealing();
    const [where, other] = [somewhere(), tenant()];
    const mine = await sealer.keyAt(where.tenantId, where.conversationId, clock.ms);
    const theirs = await sealer.keyAt(other, where.conversationId, clock.ms);
    await keys.destroy(mine);
    const statuses = (await keyring.resolve([mine, theirs])).map(({ status }) => status);
    expect(statuses).toEqual(['destroyed', 'ok']);
    await expect(sealer.sealPayload(where, mine, randomBytes(3))).rejects.toMatchObject({
      code: 'KEY_DESTROYED',
    });
    await sealer.sealPayload({ ...where, tenantId: other }, theirs, randomBytes(3));
  });

  it('names the version that was current at a time, also once it is destroyed, and after a rotation that was', async () => {
    const { sealer, keys, clock } = await sealing();
    const tenantId = tenant();
    const conversationId = conversation();
    const firstMs = clock.ms;
    const first = await sealer.keyAt(tenantId, conversationId, firstMs);
    clock.ms += 10_000;
    await keys.rotate(first.scope, first.id);
    await keys.destroy(first);
    clock.ms += DEK_CACHE_TTL_MS_DEFAULT + 1;
    const versionAt = async (epochMs: number) =>
      (await sealer.keyAt(tenantId, conversationId, epochMs)).version;
    expect(await versionAt(firstMs - 1)).toBe(1);
    expect(await versionAt(firstMs)).toBe(1);
    expect(await versionAt(firstMs + 10_000 + KEY_SETTLE_MS - 1)).toBe(1);
    expect(await versionAt(firstMs + 10_000 + KEY_SETTLE_MS)).toBe(2);
  });

  it('names the same version for the same time whoever asks, with versions remembered or just listed', async () => {
    const { sealer, keys, clock, another } = await sealing();
    const { tenantId, conversationId } = somewhere();
    const first = await sealer.keyAt(tenantId, conversationId, clock.ms);
    clock.ms += 1_000;
    await keys.rotate(first.scope, first.id);
    const fresh = another();
    for (const laterMs of [0, 1, 60_000, DEK_CACHE_TTL_MS_DEFAULT - 2_000]) {
      const atMs = clock.ms + laterMs;
      expect(await fresh.keyAt(tenantId, conversationId, atMs)).toEqual(
        await sealer.keyAt(tenantId, conversationId, atMs),
      );
    }
  });

  it('seals payloads and previews that open with the key, at their place only', async () => {
    const { sealer, keyring, clock } = await sealing();
    const where = somewhere(5n);
    const plaintext = Buffer.from('hello');
    const dekId = await sealer.keyAt(where.tenantId, where.conversationId, clock.ms);
    const envelope = await sealer.sealPayload(where, dekId, plaintext);
    const preview = parsePreview(await sealer.sealPreview(where, dekId, plaintext));
    const [answer] = await keyring.resolve([dekId]);
    if (answer?.status !== 'ok' || preview === undefined) throw new Error('no key or preview');
    const place = { ...where, dek: answer.key, dekId };
    expect(openPayload({ ...place, envelope })).toEqual(plaintext);
    expect(openPayload({ ...place, seq: 6n, envelope })).toBeUndefined();
    expect(preview).toMatchObject({ dekId, seq: 5n });
    expect(openPreview(where.tenantId, where.conversationId, answer.key, preview)).toEqual(plaintext);
  });
});
