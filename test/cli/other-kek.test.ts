/** A key-encryption key that is not the store's: refused with KEY_FILE by whoever opens keys, before anything is sealed. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startSidecar } from '../../src/cli/compose.js';
import { openWriter } from '../../src/cli/library.js';
import { settingsWith } from '../../src/cli/settings.js';
import { systemClock } from '../../src/cli/system-clock.js';
import { createKekFile } from '../../src/crypto/kek-file.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { messageJson, programUnderTest, TENANT } from './write-program.js';

/** A store with one message under its own KEK, and the file of another KEK. */
async function withOtherKek() {
  const program = programUnderTest();
  const conversation = randomUUID();
  const message = () => messageJson({ conversation_id: conversation });
  const first = await program.run(['commit', '--json'], message());
  if (first.exitCode !== 0) throw new Error(first.errors);
  const otherKek = path.join(program.directory, 'other-kek');
  await createKekFile(otherKek);
  return { ...program, conversation, message, otherKek };
}

async function checkValueIn(dataDir: string): Promise<Uint8Array | undefined> {
  const opened = await openEmbedded(dataDir, systemClock);
  try {
    return await opened.keys.kekCheckValue();
  } finally {
    await opened.close();
  }
}

describe('another KEK than the store’s', () => {
  it.each<[readonly string[], object | undefined]>([
    [['commit', '--json'], messageJson()],
    [['keys', 'create', 'a', 'b'], undefined],
    [['keys', 'rotate', 'conversation', 'ID'], undefined],
    [['history', 'CONVERSATION', '--tenant', TENANT, '--content'], undefined],
    [['recover'], undefined],
    [['serve'], undefined],
  ])('%j: exit code 1, KEY_FILE with the file, and nothing is made', async (words, input) => {
    const { run, conversation, otherKek, directory } = await withOtherKek();
    const names: Record<string, string> = { CONVERSATION: conversation, ID: `${TENANT}/${conversation}` };
    const others = words[0] === 'serve' ? ['--socket', path.join(directory, 'join.sock')] : [];
    const given = words.map((word) => names[word] ?? word);
    const { exitCode, errors } = await run([...given, '--kek-file', otherKek, ...others], input);
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/^mailjoin: KEY_FILE: .*other-kek/)]);
    expect((await run(['keys', 'list', '--json'])).rows.length).toBe(1);
  });

  it('the store’s own goes on as before, and needs none to list and to destroy', async () => {
    const { run, message, conversation, otherKek } = await withOtherKek();
    await run(['commit', '--kek-file', otherKek], message());
    expect((await run(['commit', '--json'], message())).exitCode).toBe(0);
    const shown = await run(['history', conversation, '--tenant', TENANT, '--content']);
    expect(shown.out.match(/hello/g)?.length).toBe(2);
    const id = `${TENANT}/${conversation}`;
    expect((await run(['keys', 'destroy', 'conversation', id, '1', '--yes'])).exitCode).toBe(0);
  });

  it('two processes with different ones that start on a new store at once: one is refused', async () => {
    const { directory } = programUnderTest();
    const opening = ['a', 'b'].map(async (name) => {
      const kekFile = path.join(directory, name);
      await createKekFile(kekFile);
      return openWriter({ dataDir: path.join(directory, 'data'), kekFile }, { log: SILENT_LOG });
    });
    const results = await Promise.allSettled(opening);
    for (const result of results) if (result.status === 'fulfilled') await result.value.close(1_000);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'KEY_FILE', retryable: false } }]);
  });
});

it('a sidecar on a store that no key was made in starts, and leaves it to writers to say which KEK is the store’s', async () => {
  const { directory, dataDir, run } = programUnderTest();
  const otherKek = path.join(directory, 'other-kek');
  await createKekFile(otherKek);
  const settings = settingsWith({
    ...{ dataDir, socket: path.join(directory, 'join.sock'), kekFile: otherKek },
    ...{ workers: 1, cacheBytes: 4 * 1024 * 1024 },
  });
  const sidecar = await startSidecar(settings, SILENT_LOG);
  await sidecar.stop(100);
  expect(await checkValueIn(dataDir)).toBeUndefined();
  const ownKek = path.join(directory, 'own-kek');
  await createKekFile(ownKek);
  expect((await run(['commit', '--json', '--kek-file', ownKek], messageJson())).exitCode).toBe(0);
  expect(await checkValueIn(dataDir)).toBeDefined();
  await expect(startSidecar(settings, SILENT_LOG)).rejects.toMatchObject({ code: 'KEY_FILE' });
});
