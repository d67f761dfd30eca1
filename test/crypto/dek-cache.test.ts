import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DekCache, type DekCacheOptions } from '../../src/crypto/dek-cache.js';
import { type DekId, dekKey } from '../../src/domain/message.js';
import type { KeyProvider, Unwrapped } from '../../src/domain/ports.js';
import { ManualTime } from './manual-time.js';

const idOf = (id: string, version = 1): DekId => ({ scope: 'tenant', id, version });

/** Answers when told to; keeps the very bytes that it gave away. */
class StubProvider implements KeyProvider {
  readonly calls: (readonly DekId[])[] = [];
  readonly given = new Map<string, Uint8Array>();
  readonly special = new Map<string, Unwrapped>();
  #waiting: (() => void)[] = [];
  held = false;
  failure: Error | undefined;

  async unwrap(ids: readonly DekId[]): Promise<readonly Unwrapped[]> {
    this.calls.push(ids);
    if (this.held) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.failure !== undefined) throw this.failure;
    return ids.map((id) => {
      const special = this.special.get(id.id);
      if (special !== undefined) return special;
      const key = randomBytes(32);
      this.given.set(dekKey(id), key);
      return { status: 'ok', key };
    });
  }

  letGo(): void {
    this.held = false;
    for (const waiting of this.#waiting.splice(0)) waiting();
  }

  keyOf(id: DekId): Uint8Array {
    return this.given.get(dekKey(id)) as Uint8Array;
  }
}

function setUp(options: Partial<DekCacheOptions> = {}) {
  const provider = new StubProvider();
  const time = new ManualTime();
  const cache = new DekCache({ provider, clock: time, scheduler: time, ...options });
  return { provider, time, cache };
}

/** Every promise callback and next tick that is due has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ZERO_KEY = new Uint8Array(32);
const plain = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes);
const statuses = (answers: readonly Unwrapped[]): string[] => answers.map((answer) => answer.status);

describe('DekCache: failures', () => {
  it('B36: a failure is not cached: a provider that throttles is asked again', async () => {
    const { provider, cache } = setUp();
    provider.failure = new Error('throttled');
    expect(await cache.resolve([idOf('a')])).toEqual([{ status: 'failed', cause: provider.failure }]);
    expect(cache.peek(idOf('a'))).toBeUndefined();
    provider.failure = undefined;
    expect(statuses(await cache.resolve([idOf('a')]))).toEqual(['ok']);
    expect(provider.calls.length).toBe(2);
  });

  it('D12: a key that is merely unknown is not cached, nor taken for destroyed', async () => {
    const { provider, cache } = setUp();
    provider.special.set('a', { status: 'unknown' });
    expect(statuses(await cache.resolve([idOf('a')]))).toEqual(['unknown']);
    provider.special.clear();
    expect(statuses(await cache.resolve([idOf('a')]))).toEqual(['ok']);
  });

  it("one key's failure is not its neighbours'", async () => {
    const { provider, cache } = setUp();
    provider.special.set('b', { status: 'failed', cause: new Error('kms') });
    provider.special.set('c', { status: 'destroyed' });
    expect(statuses(await cache.resolve(['a', 'b', 'c', 'd'].map((id) => idOf(id))))).toEqual([
      'ok',
      'failed',
      'destroyed',
      'ok',
    ]);
  });

  it('a call that is not answered in time fails; its late keys are zeroed and not cached', async () => {
    const { provider, time, cache } = setUp({ unwrapTimeoutMs: 2_000 });
    provider.held = true;
    const answers = cache.resolve([idOf('a')]);
    await settled();
    time.advance(1_999);
    time.advance(1);
    expect(await answers).toMatchObject([{ status: 'failed', cause: { code: 'KEY_UNAVAILABLE' } }]);
    provider.letGo();
    await settled();
    expect(plain(provider.keyOf(idOf('a')))).toEqual(ZERO_KEY);
    expect(cache.peek(idOf('a'))).toBeUndefined();
  });

  it('a provider that throws at once, and one that answers too few keys, fail all keys of the call', async () => {
    const time = new ManualTime();
    const late = randomBytes(32);
    const answers: (() => Promise<readonly Unwrapped[]>)[] = [
      () => {
        throw new Error('at once');
      },
      async () => [{ status: 'ok', key: late }],
    ];
    const provider: KeyProvider = {
      unwrap: () => (answers.shift() as () => Promise<readonly Unwrapped[]>)(),
    };
    const cache = new DekCache({ provider, clock: time, scheduler: time });
    expect(statuses(await cache.resolve([idOf('a'), idOf('b')]))).toEqual(['failed', 'failed']);
    expect(statuses(await cache.resolve([idOf('a'), idOf('b')]))).toEqual(['failed', 'failed']);
    expect(plain(late)).toEqual(ZERO_KEY);
    expect(cache.stats().unwrapFailures).toBe(4);
    expect(time.pending).toBe(0);
  });

  it('a key of another length is a failure of the provider, not a tampered payload later', async () => {
    const { provider, cache } = setUp();
    provider.special.set('a', { status: 'ok', key: randomBytes(16) });
    expect(await cache.resolve([idOf('a')])).toMatchObject([
      { status: 'failed', cause: { code: 'KEY_UNAVAILABLE' } },
    ]);
  });

  it('refuses keys beyond the bound on keys under way, at once, and takes more when these are answered', async () => {
    const { provider, cache } = setUp({ entriesMax: 2 });
    provider.held = true;
    const first = cache.resolve([idOf('a'), idOf('b')]);
    expect(await cache.resolve([idOf('c')])).toMatchObject([
      { status: 'failed', cause: { code: 'KEY_UNAVAILABLE' } },
    ]);
    await settled();
    provider.letGo();
    expect(statuses(await first)).toEqual(['ok', 'ok']);
    expect(statuses(await cache.resolve([idOf('c')]))).toEqual(['ok']);
  });
});

describe('DekCache: destroyed keys', () => {
  it('B37: markDestroyed acts at once: peeks answer destroyed, the key is zeroed, others are untouched', async () => {
    const { provider, cache } = setUp();
    await cache.resolve([idOf('a', 1), idOf('a', 2)]);
    cache.markDestroyed(idOf('a', 1));
    expect(cache.peek(idOf('a', 1))).toEqual({ status: 'destroyed' });
    expect(plain(provider.keyOf(idOf('a', 1)))).toEqual(ZERO_KEY);
    expect(cache.peek(idOf('a', 2))?.status).toBe('ok');
    expect(statuses(await cache.resolve([idOf('a', 1)]))).toEqual(['destroyed']);
    expect(provider.calls.length).toBe(1);
  });

  it('B37: a key that is destroyed while it is being resolved is destroyed for all who wait', async () => {
    const { provider, cache } = setUp();
    provider.held = true;
    const answers = Promise.all([cache.resolve([idOf('a')]), cache.resolve([idOf('a'), idOf('b')])]);
    await settled();
    cache.markDestroyed(idOf('a'));
    provider.letGo();
    expect((await answers).map(statuses)).toEqual([['destroyed'], ['destroyed', 'ok']]);
    expect(plain(provider.keyOf(idOf('a')))).toEqual(ZERO_KEY);
    expect(cache.peek(idOf('a'))).toEqual({ status: 'destroyed' });
  });

  it('a key destroyed meanwhile is destroyed even when the provider then fails', async () => {
    const { provider, cache } = setUp();
    provider.held = true;
    provider.failure = new Error('down');
    const answers = cache.resolve([idOf('a')]);
    await settled();
    cache.markDestroyed(idOf('a'));
    provider.letGo();
    expect(statuses(await answers)).toEqual(['destroyed']);
  });

  it("remembers a provider's destroyed, beyond the time limit", async () => {
    const { provider, time, cache } = setUp({ ttlMs: 1_000 });
    provider.special.set('a', { status: 'destroyed' });
    await cache.resolve([idOf('a')]);
    time.advance(1_000_000);
    expect(cache.peek(idOf('a'))).toEqual({ status: 'destroyed' });
    expect(provider.calls.length).toBe(1);
  });
});

describe('DekCache: whose bytes a key is', () => {
  it('hands out copies: zeroing one changes neither the cache nor another', async () => {
    const { provider, cache } = setUp();
    const [first, second] = await cache.resolve([idOf('a'), idOf('a')]);
    const peeked = cache.peek(idOf('a'));
    if (first?.status !== 'ok' || second?.status !== 'ok' || peeked?.status !== 'ok')
      throw new Error('no key');
    const key = plain(provider.keyOf(idOf('a')));
    first.key.fill(0);
    expect(plain(second.key)).toEqual(key);
    peeked.key.fill(0);
    const again = cache.peek(idOf('a'));
    expect(again?.status === 'ok' && plain(again.key)).toEqual(key);
  });

  it('zeroes what it drops, but no copy that an open job may hold: evicted, expired, closed', async () => {
    for (const drop of ['evict', 'expire', 'close'] as const) {
      const { provider, time, cache } = setUp({ entriesMax: 1, ttlMs: 1_000 });
      const [answer] = await cache.resolve([idOf('a')]);
      if (answer?.status !== 'ok') throw new Error('no key');
      const copy = plain(answer.key);
      if (drop === 'evict') await cache.resolve([idOf('b')]);
      if (drop === 'expire') time.advance(1_251);
      if (drop === 'close') cache.close();
      expect(plain(provider.keyOf(idOf('a')))).toEqual(ZERO_KEY);
      expect(plain(answer.key)).toEqual(copy);
      expect(copy).not.toEqual(ZERO_KEY);
    }
  });

  it('caches nothing that arrives after close', async () => {
    const { provider, cache } = setUp();
    provider.held = true;
    const answers = cache.resolve([idOf('a')]);
    await settled();
    cache.close();
    provider.letGo();
    expect(statuses(await answers)).toEqual(['ok']);
    expect(plain(provider.keyOf(idOf('a')))).toEqual(ZERO_KEY);
    expect(cache.stats().entries).toBe(0);
  });
});

describe('DekCache: sharing', () => {
  it('B36: a hundred cold batches with one key cost one provider call', async () => {
    const { provider, cache } = setUp();
    provider.held = true;
    const batches = Array.from({ length: 100 }, () => cache.resolve([idOf('a')]));
    await settled();
    batches.push(cache.resolve([idOf('a')]));
    provider.letGo();
    for (const answers of await Promise.all(batches)) {
      expect(answers[0]?.status === 'ok' && plain(answers[0].key)).toEqual(plain(provider.keyOf(idOf('a'))));
    }
    expect(provider.calls.map((ids) => ids.length)).toEqual([1]);
  });

  it('what is asked in one tick, also from promise callbacks, shares calls of at most the batch size', async () => {
    const { provider, cache } = setUp({ unwrapBatchMax: 100 });
    const direct = cache.resolve(Array.from({ length: 150 }, (_, i) => idOf(`d${i}`)));
    const chained = Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => cache.resolve(Array.from({ length: 60 }, (_, i) => idOf(`c${i}`))));
    expect((await direct).length + (await chained).length).toBe(210);
    expect(provider.calls.map((ids) => ids.length)).toEqual([100, 100, 10]);
  });

  it('tells apart ids whose texts run together', async () => {
    const { provider, cache } = setUp();
    await cache.resolve([
      { scope: 'a', id: 'bc', version: 1 },
      { scope: 'ab', id: 'c', version: 1 },
      { scope: 'ab', id: 'c1', version: 1 },
      { scope: 'ab', id: 'c', version: 11 },
    ]);
    expect(provider.calls[0]?.length).toBe(4);
  });

  it('R6.2: a key is asked for again after its time', async () => {
    const { provider, time, cache } = setUp({ ttlMs: 1_000 });
    await cache.resolve([idOf('a')]);
    time.advance(1_000);
    expect(cache.peek(idOf('a'))?.status).toBe('ok');
    time.advance(1);
    expect(cache.peek(idOf('a'))).toBeUndefined();
    expect(statuses(await cache.resolve([idOf('a')]))).toEqual(['ok']);
    expect(provider.calls.length).toBe(2);
  });

  it('an empty cache keeps no timer', async () => {
    const { time, cache } = setUp({ ttlMs: 1_000 });
    await cache.resolve([idOf('a')]);
    expect(time.pending).toBe(1);
    time.advance(2_000);
    expect(time.pending).toBe(0);
    await cache.resolve([idOf('a')]);
    cache.close();
    expect(time.pending).toBe(0);
  });

  it('counts hits, misses and calls', async () => {
    const { cache } = setUp();
    await cache.resolve([idOf('a')]);
    await cache.resolve([idOf('a'), idOf('b')]);
    cache.peek(idOf('b'));
    expect(cache.stats()).toEqual({ entries: 2, hits: 2, misses: 2, unwrapCalls: 2, unwrapFailures: 0 });
  });
});
