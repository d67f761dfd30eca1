import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createKekFile, loadKekFile } from '../../src/crypto/kek-file.js';

const folder = mkdtempSync(join(tmpdir(), 'mailjoin-kek-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

function fileWith(content: string | Uint8Array, mode = 0o600): string {
  const path = join(folder, `kek-${files++}`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

describe('loadKekFile: KEY_FILE', () => {
  const kek = randomBytes(32);

  for (const mode of [0o640, 0o604, 0o660, 0o620, 0o644, 0o601]) {
    it(`refuses mode 0${mode.toString(8)}, and says which`, async () => {
      const path = fileWith(kek.toString('hex'), mode);
      const error = await loadKekFile(path).catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'KEY_FILE' });
      expect(String(error)).toContain(`0${mode.toString(8)}`);
    });
  }

  it('refuses a missing file, a folder and a named pipe, without waiting', async () => {
    await expect(loadKekFile(join(folder, 'none'))).rejects.toMatchObject({ code: 'KEY_FILE' });
    await expect(loadKekFile(folder)).rejects.toMatchObject({ code: 'KEY_FILE' });
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', ['-m', '600', pipe]);
    await expect(loadKekFile(pipe)).rejects.toMatchObject({ code: 'KEY_FILE' });
  });

  it('refuses other contents, and never repeats them in its message', async () => {
    const hex = kek.toString('hex');
    for (const content of [
      '',
      hex.slice(1),
      `${hex}00`,
      `${hex.slice(2)}zz`,
      kek,
      randomBytes(31).toString('base64'),
    ]) {
      const error = await loadKekFile(fileWith(content)).catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'KEY_FILE' });
      expect(String(error)).not.toContain(hex.slice(2, 34));
    }
    const large = fileWith('a'.repeat(1024 * 1024));
    await expect(loadKekFile(large)).rejects.toMatchObject({ code: 'KEY_FILE' });
  });
});

describe('loadKekFile', () => {
  it('reads 32 bytes as hexadecimal or base64, with or without a final newline, at mode 0600 or 0400', async () => {
    const kek = randomBytes(32);
    const base64 = kek.toString('base64');
    for (const text of [
      kek.toString('hex'),
      kek.toString('hex').toUpperCase(),
      base64,
      base64.replace('=', ''),
    ]) {
      expect(await loadKekFile(fileWith(text))).toEqual(Uint8Array.from(kek));
      expect(await loadKekFile(fileWith(`${text}\n`, 0o400))).toEqual(Uint8Array.from(kek));
    }
  });
});

describe('createKekFile', () => {
  it('never overwrites: KEY_EXISTS, and leaves nothing behind', async () => {
    const path = fileWith('precious');
    const before = readdirSync(folder).length;
    await expect(createKekFile(path)).rejects.toMatchObject({ code: 'KEY_EXISTS' });
    expect(readFileSync(path, 'utf8')).toBe('precious');
    expect(readdirSync(folder).length).toBe(before);
  });

  it('says KEY_FILE when the folder does not exist', async () => {
    await expect(createKekFile(join(folder, 'no', 'kek'))).rejects.toMatchObject({ code: 'KEY_FILE' });
  });

  it('makes a file of mode 0600 that loads, a different key each time', async () => {
    const paths = [join(folder, 'new-1'), join(folder, 'new-2')] as const;
    for (const path of paths) {
      await createKekFile(path);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    expect(await loadKekFile(paths[0])).not.toEqual(await loadKekFile(paths[1]));
  });

  it('of ten that make the same file at once, one succeeds', async () => {
    const path = join(folder, 'contended');
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => createKekFile(path)));
    expect(results.filter((result) => result.status === 'fulfilled').length).toBe(1);
    expect((await loadKekFile(path)).length).toBe(32);
  });
});
