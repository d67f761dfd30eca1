/**
 * Files that are written together, each whole: all of them or none. Their places are taken first, by empty files beside
 * them, so that one that cannot be written is known before the work for it is done. At the end the files beside are
 * filled and synced, and only then renamed over what was there, the first place last: where its file is new, the others
 * are. Nobody ever reads half of one, and a crash leaves a former one. When a rename fails, what was renamed before is put
 * back. Whoever reserves also discards.
 */
import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

/** A place where no file can be written. */
export class PlaceError extends Error {
  readonly place: string;

  constructor(place: string, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.place = place;
  }
}

interface Reserved {
  readonly place: string;
  readonly beside: string;
  readonly former: string;
  readonly file: FileHandle;
}

export class FilesTogether {
  readonly #files: readonly Reserved[];

  private constructor(files: readonly Reserved[]) {
    this.#files = files;
  }

  /** PlaceError for the first place that cannot be had; then nothing is left beside the others. */
  static async reserve(places: readonly string[]): Promise<FilesTogether> {
    const files: Reserved[] = [];
    try {
      for (const place of places) files.push(await reserved(place));
    } catch (error) {
      await new FilesTogether(files).discard();
      throw error;
    }
    return new FilesTogether(files);
  }

  /** One content for each place. Fails with the system's error, and then every place is as it was. */
  async write(contents: readonly string[]): Promise<void> {
    assert(contents.length === this.#files.length, 'a content for each place');
    for (const [index, { file }] of this.#files.entries()) {
      await file.writeFile(contents[index] as string);
      await file.sync();
    }
    const renamed: Reserved[] = [];
    try {
      for (const each of this.#files.toReversed()) {
        await keepFormer(each);
        await rename(each.beside, each.place);
        renamed.push(each);
      }
    } catch (error) {
      for (const each of renamed) await putBack(each);
      throw error;
    }
    for (const directory of new Set(this.#files.map(({ place }) => path.dirname(place)))) {
      await syncDirectory(directory);
    }
  }

  /** Removes what lies beside the places; after write() that is nothing but former files. */
  async discard(): Promise<void> {
    for (const { file, beside, former } of this.#files) {
      await file.close();
      await rm(beside, { force: true });
      await rm(former, { force: true });
    }
  }
}

async function reserved(place: string): Promise<Reserved> {
  if (place === '') throw new PlaceError(place, 'a file needs a name');
  const found = await stat(place).catch(() => undefined);
  if (found?.isFile() === false) throw new PlaceError(place, `${place} is no file`);
  const name = `${place}.${randomBytes(8).toString('hex')}`;
  const beside = `${name}.new`;
  try {
    return { place, beside, former: `${name}.old`, file: await open(beside, 'wx') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new PlaceError(place, `no file can be made at ${place}${code}`, error);
  }
}

/** A second name for what a rename replaces, where the file system has such. */
async function keepFormer({ place, former }: Reserved): Promise<void> {
  await link(place, former).catch(() => undefined);
}

async function putBack({ place, former }: Reserved): Promise<void> {
  // Without a former file there was none, and now there is none again.
  await rename(former, place).catch(() => rm(place, { force: true }));
}

/** A new name, too, is only on disk when its directory is. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
