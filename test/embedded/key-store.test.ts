import { describe, expect, it } from 'vitest';
import { dek } from '../stores/fixtures.js';
import { openFor, SetClock, temporaryDirectory } from './embedded-fixtures.js';

const key = (dekId: { scope: string; id: string; version: number }, destroyedAtEpochMs?: number) => ({
  dekId,
  wrapped: destroyedAtEpochMs === undefined ? Buffer.from('wrapped') : undefined,
  createdAtEpochMs: 1_748_736_000_000,
  destroyedAtEpochMs,
});

describe('EmbeddedKeyStore', () => {
  it('refuses names that are too long for a key, and takes 255 bytes', async () => {
    const { keys } = await openFor(temporaryDirectory(), new SetClock());
    const long = dek({ scope: 'x'.repeat(901) });
    await expect(keys.insert(key(long))).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    await expect(keys.fetch([long])).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    const longest = { scope: 'é'.repeat(127), id: 'é'.repeat(127), version: 2 ** 31 - 1 };
    expect(await keys.insert(key(longest))).toBe(true);
    await keys.destroy(longest, 5);
    expect(await keys.destroyedSince(0)).toEqual([longest]);
  });

  it('refuses versions that are no CQL int, as Cassandra does', async () => {
    const { keys } = await openFor(temporaryDirectory(), new SetClock());
    for (const version of [2 ** 31, 4_000_000_000, -(2 ** 31) - 1, 1.5, Number.NaN]) {
      const refused = { code: 'STORE_REFUSED' };
      await expect(keys.insert(key(dek({ version })))).rejects.toMatchObject(refused);
      await expect(keys.fetch([dek({ version })])).rejects.toMatchObject(refused);
      await expect(keys.destroy(dek({ version }), 1)).rejects.toMatchObject(refused);
    }
  });

  it('lists more keys than one page holds, each once', async () => {
    const { keys } = await openFor(temporaryDirectory(), new SetClock());
    const ids = Array.from({ length: 600 }, (_, i) => String(i));
    await Promise.all(ids.map((id) => keys.insert(key({ scope: 's', id, version: 1 }))));
    const found: string[] = [];
    for await (const { dekId } of keys.list('s')) found.push(dekId.id);
    expect(found.length).toBe(600);
    expect(new Set(found)).toEqual(new Set(ids));
  });

  it('leaves out keys destroyed before the time asked for', async () => {
    const { keys } = await openFor(temporaryDirectory(), new SetClock());
    const [early, late, marker] = [dek(), dek(), dek()];
    await keys.insert(key(early));
    await keys.insert(key(late));
    await keys.destroy(early, 1000);
    await keys.destroy(late, 2000);
    await keys.insert(key(marker, 3000));
    expect(await keys.destroyedSince(1001)).toEqual([late, marker]);
    expect(await keys.destroyedSince(-5)).toEqual([early, late, marker]);
    expect(await keys.destroyedSince(3000.5)).toEqual([marker]);
  });

  it('keeps the time of the first destruction', async () => {
    const { keys } = await openFor(temporaryDirectory(), new SetClock());
    const id = dek();
    await keys.insert(key(id));
    await keys.destroy(id, 1000);
    await keys.destroy(id, 2000);
    expect((await keys.fetch([id]))[0]?.destroyedAtEpochMs).toBe(1000);
  });
});
