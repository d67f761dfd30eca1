/**
 * The embedded store's directory: whether a path can be one, making it, and whether a store lies in it. Directories
 * are made one by one: Node's recursive mkdir never returns below a file system that takes none, such as /proc
 * (tried). Failure: CONFIG_INVALID, which names dataDir and the path.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { getSystemErrorName } from 'node:util';
import { MailjoinError } from '../domain/errors.js';

const FILE_NAME = 'mailjoin.lmdb';
/** What the system says to a user who may not, also of a file system that is mounted to be read alone. */
const REFUSALS: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS']);

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
    if (statSync(nearest).isDirectory()) {
      // Fails where it may not be entered, in which nothing would seem to lie.
      statSync(`${nearest}/.`);
      return undefined;
    }
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

/**
 * CONFIG_INVALID for a file of the directory that this user may not open so; undefined for every other failure. LMDB
 * gives the system's numbers, Node its names.
 */
export function openingRefused(directory: string, error: unknown): MailjoinError | undefined {
  const name = systemErrorName(error);
  if (name === undefined || !REFUSALS.has(name)) return undefined;
  return unusable(directory, `${FILE_NAME} cannot be opened for reading and writing: ${name}`, error);
}

/** "EACCES" and the like, of an error of the system. */
export function systemErrorName(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  if (typeof error.code === 'string') return error.code;
  return typeof error.code === 'number' && error.code > 0 ? getSystemErrorName(-error.code) : undefined;
}

function unusable(path: string, problem: string, cause?: unknown): MailjoinError {
  return new MailjoinError('CONFIG_INVALID', `dataDir (${path}): ${problem}`, { cause });
}

function codeOf(error: unknown): string {
  return systemErrorName(error) ?? 'failed';
}
