/** Files that are written together: all of them whole, or none. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FilesTogether } from '../../src/cli/files-together.js';
import { temporaryDirectory } from '../server/server-fixture.js';

let directory: string;
let first: string;
let second: string;
beforeEach(() => {
  directory = temporaryDirectory();
  first = path.join(directory, 'first');
  second = path.join(directory, 'second');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

const read = (place: string) => fs.readFileSync(place, 'utf8');

describe('places that cannot be had', () => {
  it.each([
    ['no name', () => '', 'a file needs a name'],
    ['a folder', () => directory, 'is no file'],
    ['a folder that is not there', () => path.join(directory, 'missing', 'file'), 'ENOENT'],
    ['a name that ends like a folder’s', () => `${path.join(directory, 'missing')}/`, 'ENOENT'],
    ['a file in place of a folder', () => path.join(import.meta.filename, 'file'), 'ENOTDIR'],
    // Who may do everything passes a look at its permissions.
    ['a folder that says it can be written', () => '/proc/self/file', 'no file can be made at'],
    ['a name that leaves no room beside it', () => path.join(directory, 'x'.repeat(250)), 'ENAMETOOLONG'],
  ])('%s: told by the place, and nothing is left beside the others', async (_, place, reason) => {
    const reserving = FilesTogether.reserve([first, place()]);
    await expect(reserving).rejects.toMatchObject({
      place: place(),
      message: expect.stringContaining(reason),
    });
    expect(fs.readdirSync(directory)).toEqual([]);
  });
});

describe('files', () => {
  it('take their places, and leave them as they were when they are discarded', async () => {
    fs.writeFileSync(second, 'former');
    const files = await FilesTogether.reserve([first, second]);
    expect(fs.readdirSync(directory)).toHaveLength(3);
    await files.discard();
    expect(fs.readdirSync(directory)).toEqual(['second']);
    expect(read(second)).toBe('former');
  });

  it.each([
    ['there were former ones', 'former'],
    ['there were none', undefined],
  ])('are none when one cannot be put into its place: %s', async (_, former) => {
    if (former !== undefined) fs.writeFileSync(first, former);
    const files = await FilesTogether.reserve([second, first]);
    fs.mkdirSync(path.join(second, 'by-a-folder'), { recursive: true });
    await expect(files.write(['new', 'new'])).rejects.toMatchObject({ syscall: 'rename' });
    await files.discard();
    expect(fs.existsSync(first) ? read(first) : undefined).toBe(former);
    expect(fs.readdirSync(directory).filter((name) => name !== 'first')).toEqual(['second']);
  });

  it('replace what was there as a whole, and a reader who has it open goes on with the former one', async () => {
    fs.writeFileSync(first, 'former');
    const reader = fs.openSync(first, 'r');
    const files = await FilesTogether.reserve([first, second]);
    await files.write(['one', 'two']);
    await files.discard();
    expect([fs.readFileSync(reader, 'utf8'), read(first), read(second)]).toEqual(['former', 'one', 'two']);
    fs.closeSync(reader);
    expect(fs.readdirSync(directory).sort()).toEqual(['first', 'second']);
  });
});
