import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeyAdmin, type KeyInfo } from '../../src/crypto/key-admin.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { dekKey } from '../../src/domain/message.js';
import { ManualTime } from './manual-time.js';
import { MemoryKeyStore } from './memory-key-store.js';

function setUp() {
  const store = new MemoryKeyStore();
  const kek = randomBytes(32);
  const time = new ManualTime();
  return {
    store,
    kek,
    time,
    admin: new KeyAdmin(store, kek, time),
    provider: new LocalKeyProvider(store, kek),
  };
}

async function listed(keys: AsyncIterable<KeyInfo>): Promise<KeyInfo[]> {
  const all: KeyInfo[] = [];
  for await (const key of keys) all.push(key);
  return all;
}

describe('KeyAdmin: errors', () => {
  it('KEY_EXISTS for a key that exists, and for one that was destroyed', async () => {
    const { admin } = setUp();
    const dekId = await admin.create('t', 'c');
    await expect(admin.create('t', 'c')).rejects.toMatchObject({ code: 'KEY_EXISTS' });
    await admin.destroy(dekId);
    await expect(admin.create('t', 'c')).rejects.toMatchObject({ code: 'KEY_EXISTS' });
  });

  it('KEY_UNKNOWN for rotating or destroying what never existed', async () => {
    const { admin } = setUp();
    await expect(admin.rotate('t', 'c')).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
    await expect(admin.destroy({ scope: 't', id: 'c', version: 1 })).rejects.toMatchObject({
      code: 'KEY_UNKNOWN',
    });
  });

  it('CONFIG_INVALID for names that are empty, too long, no Unicode text or with control characters', async () => {
    const { admin, store } = setUp();
    for (const name of ['', 'ä'.repeat(128), '\ud800', 'a\nb', '\u001b[2J', '\u0000', '\u2028']) {
      await expect(admin.create(name, 'c')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      await expect(admin.create('t', name)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    expect(store.keys.size).toBe(0);
  });

  it('KEY_UNKNOWN for versions that no store can hold, without asking it', async () => {
    const { admin, store } = setUp();
    await admin.create('t', 'c');
    store.destroy = () => Promise.reject(new RangeError('out of range'));
    for (const version of [0, -1, 1.5, 2 ** 31, 4_000_000_000, Number.NaN]) {
      await expect(admin.destroy({ scope: 't', id: 'c', version })).rejects.toMatchObject({
        code: 'KEY_UNKNOWN',
      });
    }
  });

  it('KEY_EXISTS when the versions are used up', async () => {
    const { admin, store } = setUp();
    const dekId = { scope: 't', id: 'c', version: 2 ** 31 - 1 };
    await store.insert({
      dekId,
      wrapped: randomBytes(73),
      createdAtEpochMs: 1,
      destroyedAtEpochMs: undefined,
    });
    await expect(admin.rotate('t', 'c')).rejects.toMatchObject({ code: 'KEY_EXISTS' });
  });

  it('a store that does not answer fails the operation', async () => {
    const { admin, store } = setUp();
    store.failing = true;
    await expect(admin.create('t', 'c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(admin.latestActive('t', 'c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('KeyAdmin', () => {
  it('creates version 1 and rotates to the next: each its own key, none of them in the clear', async () => {
    const { admin, store, provider } = setUp();
    const ids = [await admin.create('t', 'c'), await admin.rotate('t', 'c'), await admin.rotate('t', 'c')];
    expect(ids.map((id) => id.version)).toEqual([1, 2, 3]);
    const opened = await provider.unwrap(ids);
    const keys = opened.map((answer) =>
      answer.status === 'ok' ? Buffer.from(answer.key).toString('hex') : '',
    );
    expect(new Set(keys).size).toBe(3);
    for (const [index, id] of ids.entries()) {
      const { wrapped } = store.keys.get(dekKey(id)) as { wrapped: Uint8Array };
      expect(Buffer.from(wrapped).toString('hex')).not.toContain(keys[index]);
    }
  });

  it('two administrators who rotate at once get two versions', async () => {
    const { admin } = setUp();
    await admin.create('t', 'c');
    const versions = (await Promise.all([admin.rotate('t', 'c'), admin.rotate('t', 'c')])).map(
      (id) => id.version,
    );
    expect(versions.sort()).toEqual([2, 3]);
  });

  it('destroys one version, with the time, and can repeat it; a rotation then skips its number', async () => {
    const { admin, time } = setUp();
    const first = await admin.create('t', 'c');
    const destroyedAtEpochMs = time.epochMs();
    await admin.destroy(first);
    time.advance(1_000);
    await admin.destroy(first);
    expect(await listed(admin.list())).toMatchObject([{ dekId: first, destroyedAtEpochMs }]);
    expect((await admin.rotate('t', 'c')).version).toBe(2);
  });

  it('the latest active version is the highest that is not destroyed', async () => {
    const { admin } = setUp();
    expect(await admin.latestActive('t', 'c')).toBeUndefined();
    const first = await admin.create('t', 'c');
    const second = await admin.rotate('t', 'c');
    await admin.create('t', 'other');
    expect(await admin.latestActive('t', 'c')).toEqual(second);
    await admin.destroy(second);
    expect(await admin.latestActive('t', 'c')).toEqual(first);
    await admin.destroy(first);
    expect(await admin.latestActive('t', 'c')).toBeUndefined();
  });

  it('lists all keys, one scope, one id; never the wrapped bytes', async () => {
    const { admin } = setUp();
    for (const [scope, id] of [
      ['t', 'c'],
      ['t', 'd'],
      ['u', 'c'],
    ] as const) {
      await admin.create(scope, id);
    }
    expect((await listed(admin.list())).length).toBe(3);
    expect((await listed(admin.list('t'))).map((key) => key.dekId.id)).toEqual(['c', 'd']);
    const one = await listed(admin.list('u', 'c'));
    expect(one.map((key) => Object.keys(key))).toEqual([['dekId', 'createdAtEpochMs', 'destroyedAtEpochMs']]);
  });
});

describe('LocalKeyProvider', () => {
  it('D12: destroyed by its marker, unknown when never made, failed under another KEK: each alone', async () => {
    const { admin, store, provider, time } = setUp();
    const good = await admin.create('t', 'good');
    const gone = await admin.create('t', 'gone');
    await admin.destroy(gone);
    const foreign = await new KeyAdmin(store, randomBytes(32), time).create('t', 'foreign');
    const never = { scope: 't', id: 'never', version: 1 };
    const answers = await provider.unwrap([gone, good, never, foreign]);
    expect(answers).toMatchObject([
      { status: 'destroyed' },
      { status: 'ok' },
      { status: 'unknown' },
      { status: 'failed', cause: { code: 'KEY_FILE' } },
    ]);
    expect(store.fetches).toBe(1);
  });

  it('a wrapped key copied to another id does not open there', async () => {
    const { admin, store, provider } = setUp();
    const mine = await admin.create('t', 'mine');
    const yours = { scope: 't', id: 'yours', version: 1 };
    const stored = store.keys.get(dekKey(mine));
    if (stored === undefined) throw new Error('no key');
    await store.insert({ ...stored, dekId: yours });
    expect((await provider.unwrap([yours]))[0]?.status).toBe('failed');
  });

  it('rejects when the store does not answer', async () => {
    const { store, provider } = setUp();
    store.failing = true;
    await expect(provider.unwrap([{ scope: 't', id: 'c', version: 1 }])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  it('opens nothing after close: the KEK is zeroed', async () => {
    const { admin, provider, kek } = setUp();
    const dekId = await admin.create('t', 'c');
    provider.close();
    expect(Uint8Array.from(kek)).toEqual(new Uint8Array(32));
    expect((await provider.unwrap([dekId]))[0]?.status).toBe('failed');
  });
});
