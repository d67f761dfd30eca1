/**
 * Reads a file that a setting names, whole and synchronously, since a start looks at all of them together. What cannot be
 * read is said in words that hold nothing of its content, which may be what nobody should see.
 */
import fs from 'node:fs';
import { SETTINGS_FILE_BYTES_MAX } from '../domain/limits.js';

export interface FileProblem {
  readonly problem: string;
}

export function readSettingsFile(
  path: string,
  bytesMax = SETTINGS_FILE_BYTES_MAX,
): { readonly text: string } | FileProblem {
  let file: number | undefined;
  try {
    // O_NONBLOCK: a named pipe is refused below instead of keeping the whole process, its signals too, for a writer.
    file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const stat = fs.fstatSync(file);
    if (!stat.isFile()) return { problem: 'is no regular file' };
    if (stat.size > bytesMax) return { problem: `is larger than such a file, ${bytesMax} bytes at most` };
    return { text: fs.readFileSync(file, 'utf8') };
  } catch {
    return { problem: 'cannot be read' };
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

export function readSettingsJson(
  path: string,
  bytesMax?: number,
): { readonly content: unknown } | FileProblem {
  const file = readSettingsFile(path, bytesMax);
  if ('problem' in file) return file;
  try {
    return { content: JSON.parse(file.text) };
  } catch {
    return { problem: 'is no JSON' };
  }
}
