import fs from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EMBEDDED_FREE_BYTES_MIN } from '../../src/domain/limits.js';
import { Environment } from '../../src/embedded/environment.js';
import { FreeSpace } from '../../src/embedded/free-space.js';
import { temporaryDirectory } from './embedded-fixtures.js';

/** A disk with so many bytes left: one that is full cannot be had without rights of its own. */
function diskWith(bytes: { left: number }) {
  const real = fs.statfsSync.bind(fs);
  const looks = vi.spyOn(fs, 'statfsSync').mockImplementation((directory) => {
    return { ...real(directory), bavail: bytes.left / 512, bsize: 512 };
  });
  onTestFinished(() => looks.mockRestore());
  return looks;
}

it('is short below the reserve, looks at most every 50 ms, and never throws', () => {
  const bytes = { left: EMBEDDED_FREE_BYTES_MIN };
  const looks = diskWith(bytes);
  const clock = { ms: 0 };
  const space = new FreeSpace(temporaryDirectory(), () => clock.ms);
  expect(space.isShort()).toBe(false);
  bytes.left = EMBEDDED_FREE_BYTES_MIN - 512;
  clock.ms = 49;
  expect(space.isShort()).toBe(false);
  clock.ms = 50;
  expect(space.isShort()).toBe(true);
  expect(looks).toHaveBeenCalledTimes(2);
  looks.mockImplementation(() => {
    throw new Error('no answer');
  });
  clock.ms = 100;
  expect(space.isShort()).toBe(false);
});

it('writes on a disk that is nearly full are refused before LMDB fails, and go on once there is room', async () => {
  const bytes = { left: EMBEDDED_FREE_BYTES_MIN };
  diskWith(bytes);
  const environment = new Environment(temporaryDirectory());
  onTestFinished(() => environment.close());
  const write = (key: string) =>
    environment.write(() => void environment.meta.put(Buffer.from(key), Buffer.from('x')));
  await write('before');
  bytes.left = 0;
  await new Promise((resolve) => setTimeout(resolve, 60));
  await expect(write('full')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
  expect(environment.read(() => environment.meta.get(Buffer.from('full')))).toBeUndefined();
  expect(environment.read(() => environment.meta.get(Buffer.from('before')))).toEqual(Buffer.from('x'));
  bytes.left = EMBEDDED_FREE_BYTES_MIN;
  await new Promise((resolve) => setTimeout(resolve, 60));
  await write('full');
  expect(environment.read(() => environment.meta.get(Buffer.from('full')))).toEqual(Buffer.from('x'));
});
