/**
 * The embedded log: Outbox and LogReader on the LMDB file, for a first run and for tests.
 *
 * An append resolves when it is on disk; appends that wait go into one transaction (group commit), in call order.
 * Several processes may append and follow. A follower in the appending process is woken at once, one in another process
 * looks every POLL_MS. Records are kept for EMBEDDED_LOG_AGE_MS. A position beyond the end belongs to a log that was
 * replaced: reading starts from the beginning, since repeating is harmless and missing is not.
 *
 * An abort ends a read or consume well; close() ends them with LOG_UNAVAILABLE. Fails with LOG_UNAVAILABLE,
 * LOG_CORRUPT, RECORD_TOO_LARGE (nothing is queued then), or with what a handler threw.
 */
import { randomUUID } from 'node:crypto';
import { MailjoinError } from '../domain/errors.js';
import { LOG_RECORD_BYTES_MAX, LOG_WAITING_BYTES_MAX, LOG_WAITING_RECORDS_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { LogAppend, LogEntry, LogPosition, LogReader, Outbox } from '../domain/write-ports.js';
import type { Environment } from './environment.js';
import { claim, commit, LEASE_MS, release, renew } from './log-group.js';
import { appendRecord, endOffset, LOG_PARTITION, readPage } from './log-table.js';

/** How often a follower looks for what other processes appended. */
const POLL_MS = 20;
/** How often a lease is renewed, and a group without owner is asked for. */
const RENEW_MS = LEASE_MS / 4;

type ReadOptions = Parameters<LogReader['read']>[0];
type ConsumeOptions = Parameters<LogReader['consume']>[0];

export class EmbeddedLog implements Outbox, LogReader {
  readonly recordBytesMax = LOG_RECORD_BYTES_MAX;
  readonly #environment: Environment;
  readonly #clock: Clock;
  readonly #sleepers = new Set<() => void>();
  #waitingRecords = 0;
  #waitingBytes = 0;
  #closed = false;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
  }

  async append({ key, value }: LogAppend): Promise<LogPosition> {
    const bytes = key.length + value.length;
    if (bytes > this.recordBytesMax) throw new MailjoinError('RECORD_TOO_LARGE', `${bytes} bytes`);
    if (
      this.#waitingRecords >= LOG_WAITING_RECORDS_MAX ||
      this.#waitingBytes + bytes > LOG_WAITING_BYTES_MAX
    ) {
      throw new MailjoinError('LOG_UNAVAILABLE', 'too many records are waiting');
    }
    this.#waitingRecords++;
    this.#waitingBytes += bytes;
    try {
      const offset = await this.#write(() =>
        appendRecord(this.#environment.log, value, this.#clock.epochMs()),
      );
      for (const wake of this.#sleepers) wake();
      return { partition: LOG_PARTITION, offset };
    } finally {
      this.#waitingRecords--;
      this.#waitingBytes -= bytes;
    }
  }

  async ends(): Promise<readonly LogPosition[]> {
    return [{ partition: LOG_PARTITION, offset: this.#end() }];
  }

  async read({ from, until, onEntries, signal }: ReadOptions): Promise<void> {
    const last = until === undefined ? undefined : positionIn(until);
    let next = this.#start(positionIn(from));
    while (!signal.aborted && (last === undefined || next < last)) {
      const page = this.#page(next, last);
      const behind = page.at(-1);
      if (behind === undefined) {
        // Of an end that was asked for, what is missing was removed as too old.
        if (last !== undefined && this.#end() >= last) return;
        await this.#sleep(POLL_MS, signal);
        continue;
      }
      await onEntries(page);
      next = behind.offset + 1n;
    }
  }

  async consume(options: ConsumeOptions): Promise<void> {
    const { group, signal } = options;
    const member = randomUUID();
    try {
      while (!signal.aborted) {
        const committed = await this.#write(() => this.#claim(group, member));
        if (committed === undefined) await this.#sleep(RENEW_MS, signal);
        else await this.#own(options, member, this.#start(committed));
      }
    } finally {
      // What cannot be released lapses by itself.
      await this.#write(() => release(this.#environment.logGroups, group, member)).catch(() => {});
    }
  }

  /** Ends reads and consumes, and refuses what comes. The file belongs to whoever opened it. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const wake of this.#sleepers) wake();
  }

  /** Consumes as the group's owner until the lease is lost or the signal aborts. */
  async #own(options: ConsumeOptions, member: string, start: bigint): Promise<void> {
    const { group, onEntries, onLag, signal } = options;
    let next = start;
    let renewAtMs = this.#clock.nowMs() + RENEW_MS;
    while (!signal.aborted) {
      const page = this.#page(next, undefined);
      const behind = page.at(-1);
      if (behind !== undefined) {
        await this.#whileRenewing(group, member, () => onEntries(page));
        next = behind.offset + 1n;
      } else if (this.#clock.nowMs() < renewAtMs) {
        await this.#sleep(POLL_MS, signal);
        continue;
      }
      const offset = next;
      const owns = await this.#write(() =>
        commit(this.#environment.logGroups, group, member, offset, this.#clock.epochMs()),
      );
      if (!owns) return;
      renewAtMs = this.#clock.nowMs() + RENEW_MS;
      onLag?.(this.#end() - next);
    }
  }

  /** Keeps the lease while a handler works, however long it takes. */
  async #whileRenewing(group: string, member: string, task: () => Promise<void>): Promise<void> {
    const timer = setInterval(() => {
      // A renewal that fails is seen by the commit that follows.
      this.#write(() => renew(this.#environment.logGroups, group, member, this.#clock.epochMs())).catch(
        () => {},
      );
    }, RENEW_MS);
    try {
      await task();
    } finally {
      clearInterval(timer);
    }
  }

  #claim(group: string, member: string): bigint | undefined {
    return claim(this.#environment.logGroups, group, member, this.#clock.epochMs());
  }

  #start(position: bigint): bigint {
    return position > this.#end() ? 0n : position;
  }

  #end(): bigint {
    return this.#read(() => endOffset(this.#environment.log));
  }

  #page(from: bigint, until: bigint | undefined): LogEntry[] {
    return this.#read(() => readPage(this.#environment.log, from, until ?? endOffset(this.#environment.log)));
  }

  /** Resolves after the time, on an append of this process, or when the signal aborts. LOG_UNAVAILABLE when closed. */
  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
      this.#sleepers.add(wake);
    });
    if (!signal.aborted) this.#requireOpen();
  }

  #read<T>(task: () => T): T {
    this.#requireOpen();
    try {
      return this.#environment.read(task);
    } catch (error) {
      throw asLogError(error);
    }
  }

  async #write<T>(task: () => T): Promise<T> {
    this.#requireOpen();
    try {
      return await this.#environment.write(task);
    } catch (error) {
      throw asLogError(error);
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw new MailjoinError('LOG_UNAVAILABLE', 'the log is closed');
  }
}

/** The position in the one partition; its beginning when there is none. */
function positionIn(positions: readonly LogPosition[]): bigint {
  return positions.find(({ partition }) => partition === LOG_PARTITION)?.offset ?? 0n;
}

function asLogError(error: unknown): unknown {
  if (!(error instanceof MailjoinError)) return error;
  if (error.code === 'STORE_UNAVAILABLE')
    return new MailjoinError('LOG_UNAVAILABLE', undefined, { cause: error });
  if (error.code === 'STORE_CORRUPT') return new MailjoinError('LOG_CORRUPT', undefined, { cause: error });
  return error;
}
