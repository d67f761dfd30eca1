/**
 * A file of the log's records: to bring history into a store from a copy of the log, and to make such a copy.
 *
 *     file:    "mjlog 1\n" | record …
 *     record:  length, 4 bytes big-endian | that many bytes of a LogRecord (proto/log.proto)
 *
 * Reading it is the port's `consume`: records in their order, in bounded batches; the offset of a record is where its
 * length begins. Progress is kept in the store under the group and the file's path, so that a run goes on where the last
 * one stopped:
 *
 *     checkpoint:  "2:" | SHA-256 of all bytes before the offset, in hexadecimal | ":" | the offset
 *
 * Those bytes are read and hashed again before a run goes on behind them: two copies of one log may begin alike and
 * differ later. A file with other bytes there starts anew, as it does after a checkpoint of any other form, since
 * repeating is harmless and missing is not.
 *
 * What is not a file of records, or is cut off or claims a longer record than any (B44), is LOG_CORRUPT, after all before
 * it was handed over; nothing is allocated for what a length claims.
 */
import { createHash, type Hash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MailjoinError } from '../domain/errors.js';
import {
  LOG_PAGE_BYTES_MAX,
  LOG_PAGE_RECORDS_MAX,
  LOG_RECORD_BYTES_MAX,
  RECORD_FILE_CHECK_BYTES,
} from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { CheckpointStore, LogEntry, LogReader } from '../domain/write-ports.js';
import { errnoOf, fileProblem } from './file-problem.js';
import { HEADER, LENGTH_BYTES } from './record-framing.js';

const CHECKPOINT = /^2:([0-9a-f]{64}):(\d{1,15})$/;

type ConsumeOptions = Parameters<LogReader['consume']>[0];

export interface RecordFileOptions {
  readonly path: string;
  readonly checkpoints: CheckpointStore;
  readonly clock: Pick<Clock, 'epochMs'>;
  /** Bytes of the file that are done, of how many. */
  readonly onProgress?: ((doneBytes: number, bytes: number) => void) | undefined;
  /** Bytes that were compared with those of the last run, of how many. */
  readonly onChecked?: ((checkedBytes: number, bytes: number) => void) | undefined;
  /** Is told when the last run's bytes are not this file's, so that all of it is archived. */
  readonly onAnew?: (() => void) | undefined;
}

/** Fails as a run would for a file that cannot be read or is none of records, before anything is made for it. */
export async function requireRecordFile(path: string): Promise<void> {
  const { file } = await opened(path);
  await file.close();
}

/** Where a run begins, and the hash of all before it. */
interface Start {
  readonly at: number;
  readonly hash: Hash;
}

/** As many records as are handed over at once, and what ends the file early, if anything does. */
interface Page {
  readonly entries: LogEntry[];
  /** What they were read from. */
  readonly bytes: Uint8Array;
  readonly corrupt?: string;
}

export class RecordFile implements Pick<LogReader, 'consume'> {
  readonly #options: RecordFileOptions;

  constructor(options: RecordFileOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the file's end is reached or the signal aborts. Fails with CONFIG_INVALID (the path), LOG_CORRUPT,
   * STORE_*.
   */
  async consume({ group, onEntries, signal }: ConsumeOptions): Promise<void> {
    const { path, checkpoints, onProgress } = this.#options;
    const { file, size } = await opened(path);
    try {
      const checkpoint = `archive-file.${group}.${nameOf(path)}`;
      const start = await this.#start(file, size, await checkpoints.loadCheckpoint(checkpoint), signal);
      if (start === undefined) return;
      const { hash } = start;
      let { at } = start;
      while (!signal.aborted && at < size) {
        const { entries, bytes, corrupt } = await this.#page(file, at, size);
        if (entries.length > 0) await onEntries(entries);
        at += bytes.length;
        hash.update(bytes);
        await checkpoints.saveCheckpoint(checkpoint, `2:${hash.copy().digest('hex')}:${at}`);
        onProgress?.(at, size);
        if (corrupt !== undefined) throw new MailjoinError('LOG_CORRUPT', `${path}: ${corrupt}`);
      }
    } finally {
      await file.close();
    }
  }

  /** Behind what the last run did, if this file has the same bytes there; undefined when the signal aborts. */
  async #start(
    file: FileHandle,
    size: number,
    checkpoint: string | undefined,
    signal: AbortSignal,
  ): Promise<Start | undefined> {
    const { path, onChecked, onAnew } = this.#options;
    const anew = (): Start => ({ at: HEADER.length, hash: createHash('sha256').update(HEADER) });
    if (checkpoint === undefined) return anew();
    const [, digest, offset] = CHECKPOINT.exec(checkpoint) ?? [];
    const at = Number(offset);
    if (digest !== undefined && at >= HEADER.length && at <= size) {
      const hash = createHash('sha256');
      for (let checked = 0; checked < at; ) {
        if (signal.aborted) return undefined;
        const bytes = await readAt(file, path, checked, Math.min(RECORD_FILE_CHECK_BYTES, at - checked));
        hash.update(bytes);
        checked += bytes.length;
        onChecked?.(checked, at);
      }
      if (hash.copy().digest('hex') === digest) return { at, hash };
    }
    onAnew?.();
    return anew();
  }

  async #page(file: FileHandle, start: number, size: number): Promise<Page> {
    const { path, clock } = this.#options;
    const appendedAtMs = clock.epochMs();
    const entries: LogEntry[] = [];
    let bytes = await readAt(file, path, start, Math.min(LOG_PAGE_BYTES_MAX, size - start));
    let at = 0;
    while (entries.length < LOG_PAGE_RECORDS_MAX && at + LENGTH_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(at);
      const end = at + LENGTH_BYTES + length;
      const cut = cutReason(start + at, length, size);
      if (cut !== undefined) return { entries, bytes: bytes.subarray(0, at), corrupt: cut };
      if (end > bytes.length) {
        if (entries.length > 0) break;
        // The page's first record is longer than a page.
        bytes = await readAt(file, path, start, LENGTH_BYTES + length);
      }
      entries.push({
        partition: 0,
        offset: BigInt(start + at),
        value: bytes.subarray(at + LENGTH_BYTES, end),
        appendedAtMs,
      });
      at = end;
    }
    const done = { entries, bytes: bytes.subarray(0, at) };
    return entries.length === 0 ? { ...done, corrupt: `cut off at byte ${start}` } : done;
  }
}

function cutReason(at: number, length: number, size: number): string | undefined {
  if (length > LOG_RECORD_BYTES_MAX) return `the record at byte ${at} claims ${length} bytes`;
  return at + LENGTH_BYTES + length > size ? `the record at byte ${at} is cut off` : undefined;
}

/** A regular file that begins as one of records does. */
async function opened(path: string): Promise<{ readonly file: FileHandle; readonly size: number }> {
  let file: FileHandle;
  try {
    // O_NONBLOCK: a named pipe is refused afterwards, instead of waiting for a writer, which no signal would end.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw fileProblem(path, 'cannot be read', cause);
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new MailjoinError('CONFIG_INVALID', `${path} is not a regular file`);
    const start = await readAt(file, path, 0, Math.min(HEADER.length, stat.size));
    if (start.equals(HEADER)) return { file, size: stat.size };
    throw new MailjoinError('LOG_CORRUPT', `${path} does not begin as a file of records does`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readAt(file: FileHandle, path: string, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, at + done).catch((cause) => {
      throw new MailjoinError('LOG_UNAVAILABLE', `${path} cannot be read (${errnoOf(cause)})`, { cause });
    });
    if (bytesRead === 0) throw new MailjoinError('LOG_UNAVAILABLE', `${path} became shorter`);
    done += bytesRead;
  }
  return bytes;
}

/** The same for one file wherever it is named from. */
function nameOf(path: string): string {
  return createHash('sha256').update(resolve(path)).digest('hex').slice(0, 32);
}
