/** Where wrapped keys lie: insert once, destroy leaves a marker (D12), lists. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { KeyStore, StoredKey } from '../../src/domain/ports.js';
import type { Opened } from './contract.js';
import { dek } from './fixtures.js';

const CREATED = 1_748_736_000_000;

function key(over: Partial<StoredKey> = {}): StoredKey {
  return {
    dekId: dek(),
    wrapped: randomBytes(60),
    createdAtEpochMs: CREATED,
    destroyedAtEpochMs: undefined,
    ...over,
  };
}

const plainKey = (stored: StoredKey | undefined) =>
  stored && { ...stored, wrapped: stored.wrapped && Buffer.from(stored.wrapped).toString('hex') };

async function listed(keys: KeyStore, scope?: string, id?: string): Promise<StoredKey[]> {
  const found: StoredKey[] = [];
  for await (const stored of keys.list(scope, id)) found.push(stored);
  return found;
}

const names = (found: readonly StoredKey[]) =>
  found.map(({ dekId }) => `${dekId.scope}|${dekId.id}|${dekId.version}`).sort();

export function keyStoreContract(opened: Opened): void {
  describe('key store', () => {
    it('answers in the order asked, undefined where a key never existed', async () => {
      const { keys } = opened();
      const [a, b] = [key(), key()];
      expect(await keys.insert(a)).toBe(true);
      expect(await keys.insert(b)).toBe(true);
      const got = await keys.fetch([b.dekId, dek(), a.dekId, b.dekId]);
      expect(got.map(plainKey)).toEqual([plainKey(b), undefined, plainKey(a), plainKey(b)]);
    });

    it('answers nothing for nothing', async () => {
      expect(await opened().keys.fetch([])).toEqual([]);
    });

    it('an id is inserted once; the second insert changes nothing', async () => {
      const { keys } = opened();
      const first = key();
      expect(await keys.insert(first)).toBe(true);
      expect(await keys.insert({ ...first, wrapped: randomBytes(60) })).toBe(false);
      expect(plainKey((await keys.fetch([first.dekId]))[0])).toEqual(plainKey(first));
    });

    it('of concurrent inserts of one id exactly one wins', async () => {
      const { keys } = opened();
      const dekId = dek();
      const tries = Array.from({ length: 8 }, () => key({ dekId }));
      const answers = await Promise.all(tries.map((each) => keys.insert(each)));
      expect(answers.filter(Boolean).length).toBe(1);
      const winner = tries[answers.indexOf(true)];
      expect(plainKey((await keys.fetch([dekId]))[0])).toEqual(plainKey(winner));
    });

    it('B37 D12 a destroyed key leaves a marker without its bytes, and stays destroyed', async () => {
      const { keys } = opened();
      const stored = key();
      await keys.insert(stored);
      expect(await keys.destroy(stored.dekId, CREATED + 5)).toBe(true);
      const gone = { ...stored, wrapped: undefined, destroyedAtEpochMs: CREATED + 5 };
      expect(plainKey((await keys.fetch([stored.dekId]))[0])).toEqual(plainKey(gone));
      expect(await keys.insert(stored)).toBe(false);
      expect((await keys.fetch([stored.dekId]))[0]?.wrapped).toBeUndefined();
    });

    it('destroying twice is no error; destroying what never existed is false and leaves nothing', async () => {
      const { keys } = opened();
      const stored = key();
      await keys.insert(stored);
      expect(await keys.destroy(stored.dekId, CREATED + 5)).toBe(true);
      expect(await keys.destroy(stored.dekId, CREATED + 9)).toBe(true);
      expect((await keys.fetch([stored.dekId]))[0]?.wrapped).toBeUndefined();
      const never = dek();
      expect(await keys.destroy(never, CREATED)).toBe(false);
      expect(await keys.fetch([never])).toEqual([undefined]);
    });

    it('B37 destroying one version leaves its neighbours alone', async () => {
      const { keys } = opened();
      const scope = dek().scope;
      const versions = [1, 2, 3].map((version) => key({ dekId: { scope, id: 'k', version } }));
      for (const each of versions) await keys.insert(each);
      await keys.destroy({ scope, id: 'k', version: 2 }, CREATED + 1);
      const got = await keys.fetch(versions.map((each) => each.dekId));
      expect(got.map((each) => each?.wrapped !== undefined)).toEqual([true, false, true]);
    });

    it('lists all, a scope, or the versions of one id, markers included', async () => {
      const { keys } = opened();
      const [scope, other] = [dek().scope, dek().scope];
      const stored = [
        key({ dekId: { scope, id: 'a', version: 1 } }),
        key({ dekId: { scope, id: 'a', version: 2 } }),
        key({ dekId: { scope, id: 'ab', version: 1 } }),
        key({ dekId: { scope: other, id: 'a', version: 1 } }),
      ];
      for (const each of stored) await keys.insert(each);
      await keys.destroy({ scope, id: 'a', version: 1 }, CREATED + 1);
      expect(names(await listed(keys, scope, 'a'))).toEqual(names(stored.slice(0, 2)));
      expect(names(await listed(keys, scope))).toEqual(names(stored.slice(0, 3)));
      expect(names(await listed(keys))).toEqual(expect.arrayContaining(names(stored)));
      expect((await listed(keys, scope, 'a')).filter((each) => each.wrapped === undefined).length).toBe(1);
      expect(await listed(keys, dek().scope)).toEqual([]);
    });

    it('keeps ids apart whose texts run together', async () => {
      const { keys } = opened();
      const scope = dek().scope;
      const [ab, b] = [
        key({ dekId: { scope: `${scope}a`, id: 'b', version: 1 } }),
        key({ dekId: { scope, id: 'ab', version: 1 } }),
      ];
      expect(await keys.insert(ab)).toBe(true);
      expect(await keys.insert(b)).toBe(true);
      expect(names(await listed(keys, scope))).toEqual(names([b]));
    });

    it('records one check value of the KEK, the first, whoever else records one at once or later', async () => {
      const { keys } = opened();
      expect(await keys.kekCheckValue()).toBeUndefined();
      const hex = (value: Uint8Array | undefined) => value && Buffer.from(value).toString('hex');
      const values = Array.from({ length: 4 }, () => randomBytes(73));
      const answers = await Promise.all(values.map((value) => keys.recordKekCheckValue(value)));
      const [recorded] = answers.map(hex);
      expect(values.map(hex)).toContain(recorded);
      expect(new Set(answers.map(hex))).toEqual(new Set([recorded]));
      expect(hex(await keys.recordKekCheckValue(randomBytes(73)))).toBe(recorded);
      expect(hex(await keys.kekCheckValue())).toBe(recorded);
    });

    it('tells which keys were destroyed since a time, that time included', async () => {
      const { keys } = opened();
      const destroyedAt = Date.now();
      const [gone, kept] = [key(), key()];
      for (const each of [gone, kept]) await keys.insert(each);
      await keys.destroy(gone.dekId, destroyedAt);
      const since = await keys.destroyedSince(destroyedAt);
      expect(since).toContainEqual(gone.dekId);
      expect(since).not.toContainEqual(kept.dekId);
      expect(await keys.destroyedSince(destroyedAt - 60_000)).toContainEqual(gone.dekId);
    });
  });
}
