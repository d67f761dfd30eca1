import { describe, expect, it, onTestFinished } from 'vitest';
import { Environment } from '../../src/embedded/environment.js';
import { temporaryDirectory } from './embedded-fixtures.js';

function openEnvironment(): Environment {
  const environment = new Environment(temporaryDirectory());
  onTestFinished(() => environment.close());
  return environment;
}

describe('Environment', () => {
  it('rolls a whole group back when one of its writes fails for an unknown reason', async () => {
    const environment = openEnvironment();
    const [first, second] = [Buffer.from('first'), Buffer.from('second')];
    const put = (key: Buffer) => () => void environment.keys.put(key, Buffer.from('x'));
    const outcomes = await Promise.allSettled([
      environment.write(put(first)),
      environment.write(() => {
        throw new Error('the disk is full');
      }),
      environment.write(put(second)),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected', 'rejected']);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'STORE_UNAVAILABLE' } });
    expect(environment.read(() => [first, second].map((key) => environment.keys.get(key)))).toEqual([
      undefined,
      undefined,
    ]);
    await environment.write(put(first));
    expect(environment.read(() => environment.keys.get(first))?.toString()).toBe('x');
  });

  it('refuses writes beyond its queue at once, and does those that wait', async () => {
    const environment = openEnvironment();
    const waiting = Array.from({ length: 65_536 }, (_, i) => environment.write(() => i));
    await expect(environment.write(() => -1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const done = await Promise.all(waiting);
    expect(done.length).toBe(65_536);
    expect(done.at(-1)).toBe(65_535);
  });

  it('a read fails with the cause kept', () => {
    const environment = openEnvironment();
    const cause = new Error('no such page');
    const reading = () =>
      environment.read(() => {
        throw cause;
      });
    expect(reading).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE', cause }));
  });

  it.each([-30_797, -30_796, -30_794, -30_793, -30_787, -30_784, -30_779])(
    'LMDB’s code %i, a file that cannot be trusted, is STORE_CORRUPT: asking again cannot help',
    (code) => {
      const environment = openEnvironment();
      const cause = Object.assign(new Error('damaged'), { code });
      const reading = () =>
        environment.read(() => {
          throw cause;
        });
      expect(reading).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT', retryable: false, cause }));
    },
  );
});
