/**
 * One exchange with its caller's promise, timer and signal. It settles once; whatever comes later finds it settled,
 * and the connection that was serving it is gone by then (B39).
 */
import { MailjoinError } from '../domain/errors.js';
import type { Connection, Exchange, Response } from './connection.js';
import type { ConnectionPool } from './connection-pool.js';
import type { RequestBuffer } from './request-buffer.js';
import { SidecarError } from './sidecar-error.js';

/** What a timer can wait: above it setTimeout would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What is sent, and how the response is read while the request's bytes are still there. */
export interface Message<T> {
  write(buffer: RequestBuffer): Uint8Array;
  read(response: Response, requestBytes: Uint8Array): T;
}

class Call<T> implements Exchange {
  connection: Connection | undefined;
  resent = false;
  private readonly pool: ConnectionPool;
  private readonly message: Message<T>;
  private readonly signal: AbortSignal | undefined;
  private readonly resolve: (value: T) => void;
  private readonly reject: (error: unknown) => void;
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort: (() => void) | undefined;
  private buffer: RequestBuffer | undefined;

  constructor(
    pool: ConnectionPool,
    message: Message<T>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.pool = pool;
    this.message = message;
    this.signal = signal;
    this.resolve = resolve;
    this.reject = reject;
    this.timer = setTimeout(onTimeout<T>, Math.min(timeoutMs, TIMER_MS_MAX), this);
    if (signal !== undefined) {
      this.onAbort = () => this.giveUp(signal.reason);
      signal.addEventListener('abort', this.onAbort, { once: true });
    }
  }

  start(): void {
    try {
      this.pool.start(this);
    } catch (error) {
      this.fail(error);
    }
  }

  write(buffer: RequestBuffer): Uint8Array {
    this.buffer = buffer;
    return this.message.write(buffer);
  }

  receive(response: Response): void {
    let value: T;
    try {
      value = this.message.read(response, (this.buffer as RequestBuffer).bytes);
    } catch (error) {
      // A coded error is a whole, well-formed response: its connection stays. Anything else is the connection's end.
      if (!(error instanceof SidecarError)) throw error;
      this.fail(error);
      return;
    }
    this.release();
    this.resolve(value);
  }

  fail(error: unknown): void {
    this.release();
    this.reject(error);
  }

  giveUp(error: unknown): void {
    this.pool.cancel(this);
    this.fail(error);
  }

  private release(): void {
    clearTimeout(this.timer);
    if (this.onAbort !== undefined) this.signal?.removeEventListener('abort', this.onAbort);
  }
}

function onTimeout<T>(call: Call<T>): void {
  call.giveUp(new MailjoinError('CLIENT_TIMEOUT'));
}

/** Sends a message and reads its response. Rejects with a MailjoinError, or with the signal's reason. */
export function exchange<T>(
  pool: ConnectionPool,
  message: Message<T>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    new Call(pool, message, timeoutMs, signal, resolve, reject).start();
  });
}
