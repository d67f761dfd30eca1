/** An embedded store that lies where this user may not go, or which it may not write: told as that, with what the system said. */
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type ProgramUnderTest, programUnderTest, type Ran } from './write-program.js';

const NOBODY = 65_534;

/** Runs as a user who is not the owner of the files; root may do everything, so it steps down for a while. */
async function withoutRights(program: ProgramUnderTest, words: readonly string[]): Promise<Ran> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await program.run(words);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

async function filled(): Promise<ProgramUnderTest> {
  const program = programUnderTest();
  expect((await program.run(['keys', 'create', 'a', 'b'])).exitCode).toBe(0);
  fs.chmodSync(program.directory, 0o755);
  return program;
}

const COMMANDS = [
  ['keys', 'list'],
  ['keys', 'create', 'a', 'c'],
  ['heads', '00112233-4455-6677-8899-aabbccddeeff', '00112233-4455-6677-8899-aabbccddeeff'],
];

it('a directory that may not be entered is no missing store', async () => {
  const program = await filled();
  fs.chmodSync(program.dataDir, 0o000);
  for (const words of COMMANDS) {
    const { exitCode, errors } = await withoutRights(program, words);
    expect([exitCode, errors]).toEqual([2, expect.stringContaining('CONFIG_INVALID')]);
    expect(errors).toContain(`dataDir (${program.dataDir}): cannot be used: EACCES`);
  }
  fs.chmodSync(program.dataDir, 0o700);
});

it.each([0o444, 0o000])('a file of mode %o is not told as one that does not answer', async (mode) => {
  const program = await filled();
  fs.chmodSync(program.dataDir, 0o755);
  fs.chmodSync(path.join(program.dataDir, 'mailjoin.lmdb'), mode);
  const { exitCode, errors } = await withoutRights(program, COMMANDS[0] ?? []);
  expect([exitCode, errors]).toEqual([1, expect.stringContaining('CONFIG_INVALID')]);
  expect(errors).toContain(
    `dataDir (${program.dataDir}): mailjoin.lmdb cannot be opened for reading and writing: EACCES`,
  );
});
