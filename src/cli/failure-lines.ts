/**
 * Failures of one kind as lines of the log: the first of a code at once, then at most one line of it in a period, with
 * how often it failed since its last one. Whoever owns it calls endPeriod() in even steps.
 */
import { type ErrorCode, MailjoinError } from '../domain/errors.js';
import type { Log } from '../server/log.js';

interface Failures {
  /** Since the last line. */
  count: number;
  reason: string | undefined;
}

export class FailureLines {
  readonly #log: Log;
  readonly #event: string;
  /** Codes that had a line in this period. At most as many as there are codes. */
  readonly #told = new Map<ErrorCode, Failures>();

  constructor(log: Log, event: string) {
    this.#log = log;
    this.#event = event;
  }

  /** Only our own errors are known to have no content in their text. */
  add(error: unknown): void {
    const code = error instanceof MailjoinError ? error.code : 'INTERNAL';
    const reason = error instanceof MailjoinError ? error.message : undefined;
    const told = this.#told.get(code);
    if (told === undefined) this.#write(code, { count: 1, reason });
    else {
      told.count++;
      told.reason = reason;
    }
  }

  /** Tells what was left out; what did not fail in this period is told at once again. */
  endPeriod(): void {
    for (const [code, failures] of this.#told) {
      if (failures.count > 0) this.#write(code, failures);
      else this.#told.delete(code);
    }
  }

  #write(code: ErrorCode, { count, reason }: Failures): void {
    this.#told.set(code, { count: 0, reason: undefined });
    this.#log.write('warn', this.#event, { code, reason, count });
  }
}
