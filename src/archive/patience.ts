/**
 * Tries a task until it succeeds or the archiver is told to stop: a store that does not answer delays records and never
 * loses one (R3.3). Waits are doubled up to a bound, with jitter, so that many archivers do not come back at once.
 */
import { MailjoinError } from '../domain/errors.js';
import { ARCHIVE_RETRY_MS } from '../domain/limits.js';

/** Thrown out of a handler that was told to stop: its batch is not done, and whoever comes next repeats it. */
export class Stopped extends Error {}

export interface PatienceOptions {
  /** Resolves after the time, or when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Is told of every failure that is waited out. */
  readonly onFailure: (error: unknown) => void;
}

export class Patience {
  readonly #options: PatienceOptions;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  /** `isHopeless` says that trying again cannot help: the failure is thrown then. */
  async run<T>(
    task: () => Promise<T>,
    signal: AbortSignal,
    isHopeless: (error: unknown) => Promise<boolean> = async () => false,
  ): Promise<T> {
    const { sleep, random, onFailure } = this.#options;
    let waitMs: number = ARCHIVE_RETRY_MS.first;
    for (;;) {
      if (signal.aborted) throw new Stopped();
      try {
        return await task();
      } catch (error) {
        if (await isHopeless(error)) throw error;
        onFailure(error);
        await sleep(waitMs * (0.5 + random() / 2), signal);
        waitMs = Math.min(waitMs * 2, ARCHIVE_RETRY_MS.max);
      }
    }
  }
}

/** The store gave no answer, or not at its consistency: it says nothing about the record. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof MailjoinError && error.code === 'STORE_UNAVAILABLE';
}
