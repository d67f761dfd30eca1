/** Files that are written whole or not at all. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeWholeFile } from '../../src/cli/write-whole-file.js';
import { temporaryDirectory } from '../server/server-fixture.js';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

it('what cannot be written leaves nothing beside its place', async () => {
  const taken = path.join(directory, 'taken');
  fs.mkdirSync(path.join(taken, 'by-a-folder'), { recursive: true });
  await expect(writeWholeFile(taken, 'x')).rejects.toMatchObject({ syscall: 'rename' });
  await expect(writeWholeFile(path.join(directory, 'missing', 'file'), 'x')).rejects.toMatchObject({
    code: 'ENOENT',
  });
  expect(fs.readdirSync(directory)).toEqual(['taken']);
});

it('a file that was there is replaced as a whole, and a reader who has it open goes on with the former one', async () => {
  const place = path.join(directory, 'file');
  await writeWholeFile(place, 'first');
  const reader = fs.openSync(place, 'r');
  await writeWholeFile(place, 'the second');
  expect(fs.readFileSync(reader, 'utf8')).toBe('first');
  fs.closeSync(reader);
  expect(fs.readFileSync(place, 'utf8')).toBe('the second');
  expect(fs.readdirSync(directory)).toEqual(['file']);
});
