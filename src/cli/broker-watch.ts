/**
 * Says that brokers do not answer. A member of a group waits for them and may tell nothing for long, so they are asked
 * for the log's ends beside it, until the member is heard: one question at a time, and one that has no answer after a
 * few seconds is told as a failure before its own time is over.
 */
import { MailjoinError } from '../domain/errors.js';
import type { LogReader } from '../domain/write-ports.js';

const SILENCE_MS = 3_000;

export interface BrokerWatchOptions {
  readonly log: Pick<LogReader, 'ends'>;
  readonly onFailure: (error: unknown) => void;
  readonly silenceMs?: number | undefined;
}

export class BrokerWatch {
  readonly #options: BrokerWatchOptions;
  #asking = false;
  #stopped = false;

  constructor(options: BrokerWatchOptions) {
    this.#options = options;
  }

  ask(): void {
    if (this.#asking || this.#stopped) return;
    this.#asking = true;
    const { log, silenceMs = SILENCE_MS } = this.#options;
    const silence = setTimeout(
      () => this.#tell(new MailjoinError('LOG_UNAVAILABLE', `no answer for ${silenceMs} ms`)),
      silenceMs,
    );
    log
      .ends()
      .catch((error) => this.#tell(error))
      .finally(() => {
        clearTimeout(silence);
        this.#asking = false;
      });
  }

  stop(): void {
    this.#stopped = true;
  }

  #tell(error: unknown): void {
    if (!this.#stopped) this.#options.onFailure(error);
  }
}
