/**
 * The embedded store's directory: whether a path can be one, making it, and whether a store lies in it. Directories
 * are made one by one: Node's recursive mkdir never returns below a file system that takes none, such as /proc
 * (tried). Failure: CONFIG_INVALID, which names dataDir and the path.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { MailjoinError } from '../domain/errors.js';

const FILE_NAME = 'mailjoin.lmdb';

/** The file of the store in a directory. */
export function storeFile(directory: string): string {
  return join(directory, FILE_NAME);
}

/** Whether a store was made in the directory. */
export function storeExists(directory: string): boolean {
  return existsSync(storeFile(directory));
}

/** What keeps a path from being the directory, in words; undefined when nothing is known to. */
export function dataDirectoryProblem(path: string): string | undefined {
  try {
    const nearest = nearestExisting(resolve(path));
    if (statSync(nearest).isDirectory()) return undefined;
    return nearest === resolve(path) ? 'is no directory' : `cannot be made: ${nearest} is no directory`;
  } catch (error) {
    return `cannot be used: ${codeOf(error)}`;
  }
}

/** Makes the directory, and those above it, where they are missing: only their owner may enter them. */
export function makeDataDirectory(path: string): void {
  const problem = dataDirectoryProblem(path);
  if (problem !== undefined) throw unusable(path, problem);
  const missing: string[] = [];
  const nearest = nearestExisting(resolve(path));
  for (let at = resolve(path); at !== nearest; at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      // Another process that starts at the same time made it first.
      if (codeOf(error) !== 'EEXIST') throw unusable(path, `cannot be made: ${codeOf(error)}`, error);
    }
  }
}

/** The path itself, or the nearest above it that is there. */
function nearestExisting(path: string): string {
  let at = path;
  while (statSync(at, { throwIfNoEntry: false }) === undefined && dirname(at) !== at) at = dirname(at);
  return at;
}

function unusable(path: string, problem: string, cause?: unknown): MailjoinError {
  return new MailjoinError('CONFIG_INVALID', `dataDir (${path}): ${problem}`, { cause });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'failed';
}
