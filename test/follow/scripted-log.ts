/** A log of one partition whose reader a test can hang, fail, gap and replace: faults that a real one cannot be made to show on demand. */
import type { LogEntry, LogPosition, LogReader } from '../../src/domain/write-ports.js';

type ReadOptions = Parameters<LogReader['read']>[0];

export class ScriptedLog implements Pick<LogReader, 'ends' | 'read'> {
  /** Offset → value. */
  readonly records = new Map<bigint, Uint8Array>();
  end = 0n;
  /** Where reads were begun. */
  readonly reads: bigint[] = [];
  endsAsked = 0;
  /** Set: questions for the end fail with it. */
  endsFailure: unknown;
  /** Set: questions for the end are never answered. */
  endsHang = false;
  /** Set: reads hand over nothing, and hear no abort. */
  readHangs = false;
  #readFailure: unknown;
  #wake: (() => void)[] = [];

  append(...values: readonly Uint8Array[]): void {
    for (const value of values) this.records.set(this.end++, value);
    this.wake();
  }

  /** The read under way fails. */
  failRead(error: unknown): void {
    this.#readFailure = error;
    this.wake();
  }

  /** Another log stands in its place. */
  replace(): void {
    this.records.clear();
    this.end = 0n;
    this.wake();
  }

  /** Offsets that nobody will read any more. */
  skip(count: bigint): void {
    this.end += count;
  }

  wake(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  async ends(): Promise<readonly LogPosition[]> {
    this.endsAsked++;
    if (this.endsHang) await new Promise<never>(() => {});
    if (this.endsFailure !== undefined) throw this.endsFailure;
    return [{ partition: 0, offset: this.end }];
  }

  async read({ from, onEntries, signal }: ReadOptions): Promise<void> {
    let next = from[0]?.offset ?? 0n;
    this.reads.push(next);
    signal.addEventListener('abort', () => this.wake());
    while (!signal.aborted || this.readHangs) {
      const page: LogEntry[] = [];
      if (!this.readHangs) {
        for (; next < this.end; next++) {
          const value = this.records.get(next);
          if (value !== undefined) page.push({ partition: 0, offset: next, value, appendedAtMs: 0 });
        }
      }
      if (page.length > 0) await onEntries(page);
      const failure = this.#readFailure;
      this.#readFailure = undefined;
      if (failure !== undefined) throw failure;
      if (page.length === 0) await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}
