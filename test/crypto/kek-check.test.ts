/** Whether a KEK is a store's own: an error for another one, before anything is sealed under it. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { requireKek } from '../../src/crypto/kek-check.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { MemoryKeyStore } from './memory-key-store.js';

const FILE = '/etc/mailjoin/kek';
const USES = ['wrap', 'open'] as const;
const FOREIGN = { code: 'KEY_FILE', retryable: false, message: expect.stringContaining(FILE) };

function setUp() {
  const store = new MemoryKeyStore();
  const [own, other] = [randomBytes(32), randomBytes(32)];
  const adminWith = (kek: Uint8Array) => new KeyAdmin(store, kek, { epochMs: () => 1_000 });
  return { store, own, other, adminWith };
}

describe('requireKek refuses', () => {
  it.each(USES)('another KEK than the recorded one: to %s', async (use) => {
    const { store, own, other } = setUp();
    await requireKek(store, own, FILE, 'wrap');
    const recorded = store.checkValue;
    const error: Error = await requireKek(store, other, FILE, use).then(
      () => expect.unreachable(),
      (cause) => cause,
    );
    expect(error).toMatchObject(FOREIGN);
    expect(error.message).not.toContain(other.toString('hex'));
    expect(store.checkValue).toBe(recorded);
  });

  it.each(USES)('a KEK that opens none of the keys, where nothing is recorded: to %s', async (use) => {
    const { store, own, other, adminWith } = setUp();
    await adminWith(own).create('t', 'c');
    await expect(requireKek(store, other, FILE, use)).rejects.toMatchObject(FOREIGN);
    expect(store.checkValue).toBeUndefined();
  });

  it('the second of two first ones with different keys', async () => {
    const { store, own, other } = setUp();
    const results = await Promise.allSettled([own, other].map((kek) => requireKek(store, kek, FILE, 'wrap')));
    expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: FOREIGN }]);
    await requireKek(store, own, FILE, 'open');
  });

  it('every KEK where the check value is damaged', async () => {
    const { store, own } = setUp();
    for (const damaged of [new Uint8Array(0), new Uint8Array(73), randomBytes(60)]) {
      store.checkValue = damaged;
      await expect(requireKek(store, own, FILE, 'wrap')).rejects.toMatchObject(FOREIGN);
    }
  });

  it('nothing when the store does not answer: its own error', async () => {
    const { store, own } = setUp();
    store.failing = true;
    await expect(requireKek(store, own, FILE, 'open')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('requireKek', () => {
  it('records a check value for who wraps, once, and takes the same KEK from then on', async () => {
    const { store, own } = setUp();
    for (const use of ['wrap', 'wrap', 'open'] as const) await requireKek(store, own, FILE, use);
    expect(store.checkValue?.length).toBe(73);
    expect(Buffer.from(store.checkValue ?? []).includes(own)).toBe(false);
  });

  it('who only opens records nothing, and starts where nothing may be written', async () => {
    const { store, own, other } = setUp();
    store.recordKekCheckValue = async () => {
      throw new MailjoinError('STORE_REFUSED');
    };
    await requireKek(store, own, FILE, 'open');
    await requireKek(store, other, FILE, 'open');
  });

  it('one key that opens is enough, beside damaged and destroyed ones', async () => {
    const { store, own, other, adminWith } = setUp();
    await adminWith(other).create('t', 'foreign');
    await adminWith(own).destroy(await adminWith(own).create('t', 'gone'));
    await adminWith(own).create('t', 'good');
    await requireKek(store, own, FILE, 'wrap');
    await expect(requireKek(store, other, FILE, 'wrap')).rejects.toMatchObject(FOREIGN);
  });

  it('destroyed keys say nothing about the KEK', async () => {
    const { store, own, other, adminWith } = setUp();
    await adminWith(own).destroy(await adminWith(own).create('t', 'gone'));
    await requireKek(store, other, FILE, 'wrap');
  });

  it('the check value is no data key, and no data key passes for it', async () => {
    const { store, own, other, adminWith } = setUp();
    const dekId = await adminWith(other).create('mailjoin', 'kek check value');
    const [stored] = await store.fetch([dekId]);
    store.checkValue = stored?.wrapped;
    await expect(requireKek(store, other, FILE, 'open')).rejects.toMatchObject(FOREIGN);
    await expect(requireKek(store, own, FILE, 'open')).rejects.toMatchObject(FOREIGN);
  });
});
