/**
 * A file of the log's records: to bring history into a store from a copy of the log, and to make such a copy.
 *
 *     file:    "mjlog 1\n" | record …
 *     record:  length, 4 bytes big-endian | that many bytes of a LogRecord (proto/log.proto)
 *
 * Reading it is the port's `consume`: records in their order, in bounded batches; the offset of a record is where its
 * length begins, and progress is kept in the store under the group and the file's path, so that a run goes on where the
 * last one stopped. A file whose beginning is another than it was starts anew, since repeating is harmless. What is not
 * such a file, or is cut off or claims a longer record than any (B44), is LOG_CORRUPT, after all before it was handed
 * over; nothing is allocated for what a length claims.
 */
import { createHash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MailjoinError } from '../domain/errors.js';
import { LOG_PAGE_BYTES_MAX, LOG_PAGE_RECORDS_MAX, LOG_RECORD_BYTES_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { CheckpointStore, LogEntry, LogReader } from '../domain/write-ports.js';

const HEADER = Buffer.from('mjlog 1\n', 'latin1');
const LENGTH_BYTES = 4;
/** How much of the file's beginning tells it from another. */
const FINGERPRINT_BYTES = 4_096;

type ConsumeOptions = Parameters<LogReader['consume']>[0];

export interface RecordFileOptions {
  readonly path: string;
  readonly checkpoints: CheckpointStore;
  readonly clock: Pick<Clock, 'epochMs'>;
  /** Bytes of the file that are done, of how many. */
  readonly onProgress?: ((doneBytes: number, bytes: number) => void) | undefined;
}

export class RecordFile implements Pick<LogReader, 'consume'> {
  readonly #options: RecordFileOptions;

  constructor(options: RecordFileOptions) {
    this.#options = options;
  }

  /** Resolves when the file's end is reached or the signal aborts. Fails with LOG_UNAVAILABLE, LOG_CORRUPT, STORE_*. */
  async consume({ group, onEntries, signal }: ConsumeOptions): Promise<void> {
    const { path, checkpoints, onProgress } = this.#options;
    const file = await opened(path, 'r');
    try {
      const stat = await file.stat();
      if (!stat.isFile())
        throw new MailjoinError('LOG_CORRUPT', 'the archive is read from a regular file only');
      const { size } = stat;
      const fingerprint = await fingerprintOf(file, size);
      const checkpoint = `archive-file.${group}.${hashOf(Buffer.from(resolve(path)))}`;
      let at = offsetIn(await checkpoints.loadCheckpoint(checkpoint), fingerprint, size);
      while (!signal.aborted && at < size) {
        const page = await this.#page(file, at, size);
        if (page.entries.length > 0) await onEntries(page.entries);
        at = page.end;
        await checkpoints.saveCheckpoint(checkpoint, `${fingerprint}:${at}`);
        onProgress?.(at, size);
        if (page.corrupt !== undefined) throw new MailjoinError('LOG_CORRUPT', page.corrupt);
      }
    } finally {
      await file.close();
    }
  }

  /** As many records as are handed over at once, and what ends the file early, if anything does. */
  async #page(
    file: FileHandle,
    start: number,
    size: number,
  ): Promise<{ entries: LogEntry[]; end: number; corrupt?: string }> {
    const appendedAtMs = this.#options.clock.epochMs();
    const entries: LogEntry[] = [];
    let bytes = await readAt(file, start, Math.min(LOG_PAGE_BYTES_MAX, size - start));
    let at = 0;
    while (entries.length < LOG_PAGE_RECORDS_MAX && at + LENGTH_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(at);
      const end = at + LENGTH_BYTES + length;
      const cut = cutReason(start + at, length, size);
      if (cut !== undefined) return { entries, end: start + at, corrupt: cut };
      if (end > bytes.length) {
        if (entries.length > 0) break;
        // The page's first record is longer than a page.
        bytes = await readAt(file, start, LENGTH_BYTES + length);
      }
      entries.push({
        partition: 0,
        offset: BigInt(start + at),
        value: bytes.subarray(at + LENGTH_BYTES, end),
        appendedAtMs,
      });
      at = end;
    }
    if (entries.length === 0) return { entries, end: start, corrupt: `cut off at byte ${start}` };
    return { entries, end: start + at };
  }
}

function cutReason(at: number, length: number, size: number): string | undefined {
  if (length > LOG_RECORD_BYTES_MAX) return `the record at byte ${at} claims ${length} bytes`;
  return at + LENGTH_BYTES + length > size ? `the record at byte ${at} is cut off` : undefined;
}

/** Copies the log as it is now, from its beginning, into a file that must not exist yet; answers the number of records. */
export async function copyToFile(
  log: Pick<LogReader, 'ends' | 'read'>,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const until = await log.ends();
  const file = await opened(path, 'wx');
  let records = 0;
  try {
    await file.appendFile(HEADER);
    await log.read({
      from: [],
      until,
      signal,
      onEntries: async (entries) => {
        await file.appendFile(Buffer.concat(entries.flatMap(({ value }) => [lengthOf(value), value])));
        records += entries.length;
      },
    });
    await file.sync();
  } finally {
    await file.close();
  }
  return records;
}

function lengthOf({ length }: Uint8Array): Buffer {
  const bytes = Buffer.alloc(LENGTH_BYTES);
  bytes.writeUInt32BE(length);
  return bytes;
}

async function opened(path: string, flags: 'r' | 'wx'): Promise<FileHandle> {
  try {
    // O_NONBLOCK: a named pipe is refused afterwards, instead of waiting for a writer, which no signal would end.
    if (flags === 'r') return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    // Sealed content at most, and its owner's alone.
    return await open(path, flags, 0o600);
  } catch (cause) {
    throw new MailjoinError('LOG_UNAVAILABLE', `the file cannot be ${flags === 'r' ? 'read' : 'made'}`, {
      cause,
    });
  }
}

async function fingerprintOf(file: FileHandle, size: number): Promise<string> {
  const start = await readAt(file, 0, Math.min(FINGERPRINT_BYTES, size));
  if (!start.subarray(0, HEADER.length).equals(HEADER)) {
    throw new MailjoinError('LOG_CORRUPT', 'the file does not begin as a file of records does');
  }
  return hashOf(start);
}

/** Where to go on: behind the header unless the checkpoint is this file's. */
function offsetIn(checkpoint: string | undefined, fingerprint: string, size: number): number {
  const [of, offset] = checkpoint?.split(':') ?? [];
  const at = Number(offset);
  return of === fingerprint && at >= HEADER.length && at <= size ? at : HEADER.length;
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, at + done);
    if (bytesRead === 0) throw new MailjoinError('LOG_UNAVAILABLE', 'the file became shorter');
    done += bytesRead;
  }
  return bytes;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}
