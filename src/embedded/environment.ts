/**
 * The LMDB file beneath all embedded stores: opening, reading, and writing in groups.
 *
 * Writes that are asked for while another group is being written go together into the next transaction; their
 * promises resolve when it is synced to disk (overlappingSync is off, so a commit returns after fdatasync). Each runs
 * inside the write transaction, where it alone reads and writes, also against other processes: LMDB's writer lock is a
 * robust mutex. A write that fails with a coded error fails alone; any other failure rolls the whole group back. While
 * the disk is short of space no write begins (free-space.ts).
 *
 * Transactions are run synchronously on the owner's thread, which therefore waits for the disk. lmdb's asynchronous
 * transaction callbacks would avoid that, but with lmdb 3.5.6 on Node 20 they are never called (tried).
 */
import { type Database, open, type RootDatabase } from 'lmdb';
import { MailjoinError } from '../domain/errors.js';
import { EMBEDDED_FREE_BYTES_MIN } from '../domain/limits.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import { makeDataDirectory, openingRefused, storeFile, systemErrorName } from './data-directory.js';
import { checkFile } from './file-check.js';
import { FreeSpace } from './free-space.js';

/** Address space reserved for the file: its largest size. It costs nothing until used. Beyond it → STORE_UNAVAILABLE. */
const FILE_BYTES_MAX = 64 * 1024 ** 3;
/** Writes in one transaction: bounds how long the thread is held. */
const GROUP_WRITES_MAX = 256;
/** Writes waiting for their transaction; more → STORE_UNAVAILABLE. */
const QUEUED_WRITES_MAX = 65_536;
/** Named tables in the file, with room for later ones. */
const TABLES_MAX = 16;
/** Version of the file's layout; another one → SCHEMA_MISMATCH. */
const FORMAT = 1;
/**
 * LMDB's codes for a file that cannot be trusted (lmdb.h): PAGE_NOTFOUND, CORRUPTED, VERSION_MISMATCH, INVALID,
 * CURSOR_FULL (a tree deeper than any can be), INCOMPATIBLE, PROBLEM. Asking again cannot help.
 */
const DAMAGE_CODES: ReadonlySet<unknown> = new Set([
  -30_797, -30_796, -30_794, -30_793, -30_787, -30_784, -30_779,
]);

/** Bytes to bytes, in the order of the keys' bytes. */
export type Table = Database<Buffer, Buffer>;

const TABLE_OPTIONS = { encoding: 'binary', keyEncoding: 'binary' } as const;

interface QueuedWrite {
  readonly run: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

export class Environment {
  /** Name → what holds for the whole file: its format, W (D11), the KEK's check value. */
  readonly meta: Table;
  readonly records: Table;
  readonly summaries: Table;
  /** Second of purge → row (see sweep.ts). */
  readonly expiry: Table;
  readonly keys: Table;
  /** Millisecond of destruction → key. */
  readonly destroyed: Table;
  readonly dedup: Table;
  readonly heads: Table;
  readonly sequences: Table;
  readonly reactions: Table;
  readonly messageIndex: Table;
  readonly checkpoints: Table;
  /** Second of purge → row of dedup or messageIndex (see side-expiry.ts). */
  readonly sideExpiry: Table;
  /** Offset → record of the log (see log-table.ts). */
  readonly log: Table;
  /** Consumer group → its offset and its owner. */
  readonly logGroups: Table;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #space: FreeSpace;
  readonly #queue: QueuedWrite[] = [];
  #drainScheduled = false;
  #closing: Promise<void> | undefined;

  /** Opens or creates the file. CONFIG_INVALID, STORE_UNAVAILABLE, STORE_CORRUPT, BUCKET_WIDTH (D11) or SCHEMA_MISMATCH. */
  constructor(directory: string) {
    const path = storeFile(directory);
    try {
      makeDataDirectory(directory);
      checkFile(path);
      const options = {
        ...TABLE_OPTIONS,
        path,
        noSubdir: true,
        // Taken by the native part, though the package's types do not name it: thumbnails are content.
        permissionsMode: 0o600,
        mapSize: FILE_BYTES_MAX,
        maxDbs: TABLES_MAX,
        overlappingSync: false,
      };
      this.#root = open<Buffer, Buffer>(options);
      const table = (name: string): Table => this.#root.openDB<Buffer, Buffer>(name, TABLE_OPTIONS);
      this.meta = table('meta');
      this.records = table('record');
      this.summaries = table('summary');
      this.expiry = table('expiry');
      this.keys = table('key');
      this.destroyed = table('destroyed');
      this.dedup = table('dedup');
      this.heads = table('head');
      this.sequences = table('sequence');
      this.reactions = table('reaction');
      this.messageIndex = table('message_index');
      this.checkpoints = table('checkpoint');
      this.sideExpiry = table('side_expiry');
      this.log = table('log');
      this.logGroups = table('log_group');
    } catch (error) {
      throw openingRefused(directory, error) ?? asStoreError(error);
    }
    this.#space = new FreeSpace(directory);
    try {
      this.#checkMeta();
    } catch (error) {
      void this.#root.close();
      throw asStoreError(error);
    }
  }

  /** Runs a synchronous read on the newest committed state, also what other processes committed. */
  read<T>(task: () => T): T {
    if (this.#closing !== undefined) throw closed();
    try {
      this.#root.resetReadTxn();
      return task();
    } catch (error) {
      throw asStoreError(error);
    }
  }

  /**
   * Runs `task` inside a write transaction and resolves with its result once that is durable. A task reads and
   * decides first and writes last; it throws MailjoinErrors only before its first write.
   */
  write<T>(task: () => T): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closed());
    if (this.#queue.length >= QUEUED_WRITES_MAX) {
      return Promise.reject(new MailjoinError('STORE_UNAVAILABLE', 'too many writes are waiting'));
    }
    return new Promise<T>((resolve, reject) => {
      // The queue holds tasks of any result type; each result goes to the resolve of its own task.
      this.#queue.push({ run: task, resolve: resolve as (value: unknown) => void, reject });
      this.#scheduleDrain();
    });
  }

  /** Finishes the writes that wait, then closes the file. Repeatable. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      while (this.#queue.length > 0) this.#drain();
      await this.#root.close();
    })();
    return this.#closing;
  }

  #scheduleDrain(): void {
    if (this.#drainScheduled) return;
    this.#drainScheduled = true;
    setImmediate(() => {
      this.#drainScheduled = false;
      this.#drain();
      if (this.#queue.length > 0) this.#scheduleDrain();
    });
  }

  #drain(): void {
    const group = this.#queue.splice(0, GROUP_WRITES_MAX);
    if (group.length === 0) return;
    if (this.#space.isShort()) {
      for (const { reject } of group) reject(full());
      return;
    }
    const settle: (() => void)[] = [];
    try {
      this.#root.transactionSync(() => {
        for (const { run, resolve, reject } of group) {
          try {
            const value = run();
            settle.push(() => resolve(value));
          } catch (error) {
            if (!(error instanceof MailjoinError)) throw error;
            settle.push(() => reject(error));
          }
        }
      });
    } catch (error) {
      const reason = asStoreError(error);
      for (const { reject } of group) reject(reason);
      return;
    }
    for (const each of settle) each();
  }

  /** Records format and bucket width in a new file, checks them in an old one (D11). */
  #checkMeta(): void {
    const { meta } = this;
    this.#root.transactionSync(() => {
      const expected = (name: string, value: number): number => {
        const key = Buffer.from(name);
        const stored = meta.get(key);
        if (stored !== undefined) return Number(stored.toString());
        // Inside a transaction a put is done when it returns; the promise it gives is already resolved.
        void meta.put(key, Buffer.from(String(value)));
        return value;
      };
      const format = expected('format', FORMAT);
      if (format !== FORMAT) {
        throw new MailjoinError(
          'SCHEMA_MISMATCH',
          `the file has format ${format}, this version has ${FORMAT}`,
        );
      }
      const width = expected('bucket_width', BUCKET_WIDTH);
      if (width !== BUCKET_WIDTH) {
        throw new MailjoinError('BUCKET_WIDTH', `made with ${width}, this process has ${BUCKET_WIDTH}`);
      }
    });
  }
}

/** Coded errors and bugs (assertions) as they are; what LMDB threw as STORE_CORRUPT or STORE_UNAVAILABLE. */
function asStoreError(error: unknown): unknown {
  if (error instanceof MailjoinError) return error;
  if (error instanceof Error && error.name === 'AssertionError') return error;
  if (error instanceof Error && 'code' in error && DAMAGE_CODES.has(error.code)) {
    return new MailjoinError(
      'STORE_CORRUPT',
      'the file of the embedded store is damaged: restore a back-up',
      {
        cause: error,
      },
    );
  }
  const name = systemErrorName(error);
  const detail = name === undefined ? 'the embedded store failed' : `the embedded store failed: ${name}`;
  return new MailjoinError('STORE_UNAVAILABLE', detail, { cause: error });
}

function full(): MailjoinError {
  const left = `less than ${EMBEDDED_FREE_BYTES_MIN / 1024 ** 2} MiB`;
  return new MailjoinError('STORE_UNAVAILABLE', `the disk of the embedded store has ${left} left`);
}

function closed(): MailjoinError {
  return new MailjoinError('STORE_UNAVAILABLE', 'the embedded store is closed');
}
