// A key provider that answers nonsense: every key is answered with 'failed', and nothing rejects unheard.
import { expect, it } from 'vitest';
import { DekCache } from '../../src/crypto/dek-cache.js';
import type { Unwrapped } from '../../src/domain/ports.js';

const ID = { scope: 'test', id: 'k', version: 1 };
// What the types forbid and a provider written elsewhere may still answer.
const NONSENSE = [
  undefined,
  null,
  7,
  'ok',
  {},
  [undefined],
  [null],
  [{}],
  [{ status: 'maybe' }],
  [{ status: 'ok' }],
];

it.each(NONSENSE.map((answer) => [JSON.stringify(answer) ?? 'undefined', answer]))(
  '%s',
  async (_, answer) => {
    const provider = { unwrap: async () => answer as unknown as readonly Unwrapped[] };
    const cache = new DekCache({ provider, clock: { nowMs: () => 0 } });
    expect(await cache.resolve([ID])).toMatchObject([{ status: 'failed' }]);
    expect(cache.peek(ID)).toBeUndefined();
    cache.close();
  },
);
