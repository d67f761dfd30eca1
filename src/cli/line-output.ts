/**
 * Lines to a stream of the process, in order, none lost: what is printed before the program ends arrives, however slowly
 * its reader takes it. Where a line cannot be written (`| head` has seen enough, the disk is full) the next print throws
 * OutputError, so that a command ends instead of working for nobody.
 */
import type { Writable } from 'node:stream';

export class OutputError extends Error {
  /** The reader took what it wanted and left: no failure of the program. */
  readonly isReaderGone: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(`the output cannot be written: ${cause.message}`, { cause });
    this.isReaderGone = cause.code === 'EPIPE' || cause.code === 'ERR_STREAM_DESTROYED';
  }
}

export class LineOutput {
  readonly #stream: Pick<Writable, 'on' | 'write'>;
  #failure: OutputError | undefined;

  constructor(stream: Pick<Writable, 'on' | 'write'>) {
    this.#stream = stream;
    stream.on('error', (cause: NodeJS.ErrnoException) => {
      this.#failure ??= new OutputError(cause);
    });
  }

  print(line: string): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#stream.write(`${line}\n`);
  }

  /** Resolves when all that was printed has been taken; rejects with OutputError when it cannot be. */
  flushed(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) reject(this.#failure);
      else {
        this.#stream.write('', (cause) => {
          if (cause) reject(this.#failure ?? new OutputError(cause));
          else resolve();
        });
      }
    });
  }
}
