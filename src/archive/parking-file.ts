/**
 * Where poison goes (R3.3): one line of JSON for each record that cannot be archived, with its place in the log, a code
 * and a reason, and its bytes where they are not too many. A record's bytes are sealed content at most, and the file is
 * its owner's alone. Lines are on disk before the archiver commits, so a record is parked at least once: a repetition
 * has the same partition and offset.
 *
 * Bounded: when the file is full, records are only counted and logged; the log itself keeps them for its own time. The
 * file is looked at, and made, before anything is consumed: a record that must be parked and cannot be holds up all that
 * come after it.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { MailjoinError } from '../domain/errors.js';
import { PARKED_VALUE_BYTES_MAX, PARKING_FILE_BYTES_MAX } from '../domain/limits.js';
import type { Poison } from './archive-work.js';
import { fileProblem } from './file-problem.js';

export interface ParkingLot {
  /** Resolves when all are on disk; answers how many found no room. Fails with the system's error. */
  park(records: readonly Poison[]): Promise<number>;
}

export class ParkingFile implements ParkingLot {
  readonly #path: string;
  readonly #bytesMax: number;

  constructor(path: string, bytesMax: number = PARKING_FILE_BYTES_MAX) {
    this.#path = path;
    this.#bytesMax = bytesMax;
  }

  /** Opens it as parking does, and makes it where it is not there. CONFIG_INVALID when that is not possible. */
  async prepare(): Promise<void> {
    let isFile: boolean;
    try {
      const file = await open(this.#path, 'a+', 0o600);
      try {
        isFile = (await file.stat()).isFile();
      } finally {
        await file.close();
      }
    } catch (cause) {
      throw fileProblem(this.#path, 'cannot be opened as parking file', cause);
    }
    if (!isFile)
      throw new MailjoinError('CONFIG_INVALID', `the parking file ${this.#path} is no regular file`);
  }

  async park(records: readonly Poison[]): Promise<number> {
    if (records.length === 0) return 0;
    const file = await open(this.#path, 'a+', 0o600);
    try {
      return await this.#append(file, records);
    } finally {
      await file.close();
    }
  }

  async #append(file: FileHandle, records: readonly Poison[]): Promise<number> {
    const { size } = await file.stat();
    // A line that a crash cut off must not swallow the next one.
    let text = size > 0 && !(await endsLine(file, size)) ? '\n' : '';
    let bytes = size + text.length;
    let left = 0;
    for (const record of records) {
      const line = lineOf(record);
      bytes += line.length;
      if (bytes > this.#bytesMax) {
        bytes -= line.length;
        left++;
      } else text += line;
    }
    if (text !== '') {
      await file.appendFile(text);
      await file.datasync();
    }
    return left;
  }
}

async function endsLine(file: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}

/** ASCII only, so that its length is its bytes. */
function lineOf({ entry, code, reason }: Poison): string {
  const { partition, offset, appendedAtMs, value } = entry;
  const content =
    value.length <= PARKED_VALUE_BYTES_MAX
      ? { value: Buffer.from(value).toString('base64') }
      : { sha256: createHash('sha256').update(value).digest('hex') };
  const line = {
    partition,
    offset: offset.toString(),
    appended_at: new Date(appendedAtMs).toISOString(),
    code,
    reason,
    bytes: value.length,
    ...content,
  };
  return `${JSON.stringify(line).replaceAll(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}
