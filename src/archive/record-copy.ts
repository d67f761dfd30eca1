/**
 * A copy of the log as a new file of records (record-file.ts). It is written beside its place, under a name of its own
 * that ends in ".partial", and gets its name when all of it is on disk: what has the name is whole. A copy that fails or
 * is stopped leaves nothing; one that was killed leaves the ".partial". Nothing that exists is overwritten.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MailjoinError } from '../domain/errors.js';
import type { LogEntry, LogPosition, LogReader } from '../domain/write-ports.js';
import { errnoOf, fileProblem } from './file-problem.js';
import { HEADER, lengthOf } from './record-framing.js';

export type CopiedLog = Pick<LogReader, 'ends' | 'read'>;

export interface CopyTotals {
  readonly records: number;
  /** Of the file, so far. */
  readonly bytes: number;
  /** Records that are still to be copied, at most: the log may have dropped some of them as too old. */
  readonly leftAtMost: bigint;
}

export interface CopyOptions {
  /** Is asked for when the file is known to be writable. */
  readonly log: () => Promise<CopiedLog>;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onProgress?: ((totals: CopyTotals) => void) | undefined;
}

/** File systems without hard links say one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Copies the log as it is when it is asked for, from its beginning. Fails with CONFIG_INVALID for a path that cannot be
 * written, SHUTTING_DOWN when the signal aborts, or as the log does.
 */
export async function copyToFile({ log, path, signal, onProgress }: CopyOptions): Promise<CopyTotals> {
  await requireFree(path);
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`;
  const file = await written(path, () => open(partial, 'wx', 0o600));
  try {
    const copy = new Copy(file, path, onProgress);
    try {
      await copy.run(await log(), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      // Also a log that failed meanwhile: what the stop interrupted says no more than that.
      throw stopped(path, error);
    } finally {
      await file.close();
    }
    await publish(partial, path);
    return copy.totals();
  } finally {
    // Nothing to remove when it has its name.
    await rm(partial, { force: true }).catch(() => undefined);
  }
}

class Copy {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #onProgress: CopyOptions['onProgress'];
  readonly #left = new Map<number, bigint>();
  #records = 0;
  #bytes = HEADER.length;

  constructor(file: FileHandle, path: string, onProgress: CopyOptions['onProgress']) {
    this.#file = file;
    this.#path = path;
    this.#onProgress = onProgress;
  }

  totals(): CopyTotals {
    let leftAtMost = 0n;
    for (const left of this.#left.values()) leftAtMost += left;
    return { records: this.#records, bytes: this.#bytes, leftAtMost };
  }

  async run(log: CopiedLog, signal: AbortSignal): Promise<void> {
    const until = await log.ends();
    const ends = new Map(until.map(({ partition, offset }) => [partition, offset]));
    for (const [partition, end] of ends) this.#left.set(partition, end);
    await written(this.#path, () => this.#file.appendFile(HEADER));
    const onEntries = (entries: readonly LogEntry[]) => this.#add(entries, ends);
    await log.read({ from: [], until, signal, onEntries });
    // A read that was stopped ends as one that is done does.
    if (signal.aborted) throw stopped(this.#path, undefined);
    this.#left.clear();
    await written(this.#path, () => this.#file.sync());
  }

  async #add(entries: readonly LogEntry[], ends: ReadonlyMap<number, bigint>): Promise<void> {
    const bytes = Buffer.concat(entries.flatMap(({ value }) => [lengthOf(value), value]));
    await written(this.#path, () => this.#file.appendFile(bytes));
    this.#records += entries.length;
    this.#bytes += bytes.length;
    for (const position of entries) this.#left.set(position.partition, leftBehind(position, ends));
    this.#onProgress?.(this.totals());
  }
}

function stopped(path: string, cause: unknown): MailjoinError {
  return new MailjoinError('SHUTTING_DOWN', `the copy was stopped and ${path} not made`, { cause });
}

function leftBehind({ partition, offset }: LogPosition, ends: ReadonlyMap<number, bigint>): bigint {
  const left = (ends.get(partition) ?? 0n) - offset - 1n;
  return left > 0n ? left : 0n;
}

/** Links, since a rename would overwrite what came to lie at the path meanwhile. */
async function publish(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch (cause) {
    if (!NO_LINKS.has(errnoOf(cause))) throw fileProblem(path, 'cannot be made', cause);
    await requireFree(path);
    await written(path, () => rename(partial, path));
  }
  await syncDirectory(dirname(path));
}

async function requireFree(path: string): Promise<void> {
  const found = await lstat(path).then(
    () => true,
    // Whatever else is wrong with the path shows when the file is made.
    () => false,
  );
  if (found) throw new MailjoinError('CONFIG_INVALID', `the file ${path} is there already (EEXIST)`);
}

/** So that the name outlives a power cut. Where a directory cannot be opened, the file is as safe as it can be. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r').catch(() => undefined);
  await directory?.sync().catch(() => undefined);
  await directory?.close();
}

async function written<T>(path: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (cause) {
    throw fileProblem(path, 'cannot be written', cause);
  }
}
