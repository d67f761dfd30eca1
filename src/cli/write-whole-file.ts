/**
 * Writes a file whole or not at all: beside its place, synced, then renamed over what was there, so that nobody ever
 * reads half of it, and a crash leaves the former one.
 */
import { randomBytes } from 'node:crypto';
import { open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';

export async function writeWholeFile(place: string, content: string): Promise<void> {
  const beside = `${place}.${randomBytes(8).toString('hex')}.new`;
  const file = await open(beside, 'wx');
  try {
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, place);
  } catch (error) {
    await unlink(beside);
    throw error;
  }
  // The new name, too, is only on disk when its directory is.
  const directory = await open(path.dirname(place), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
