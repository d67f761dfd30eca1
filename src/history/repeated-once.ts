/** A point read that is repeated once at most (B52): its failures are told, and the last one is thrown. */
import { MailjoinError } from '../domain/errors.js';
import { FLIGHT_ATTEMPTS_MAX } from '../domain/limits.js';

/** Told of every read that failed: for logs and metrics. */
export type OnFailure = (code: string, error: unknown) => void;

export async function repeatedOnce<T>(read: () => Promise<T>, onFailure: OnFailure): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      const isOurs = error instanceof MailjoinError;
      onFailure(isOurs ? error.code : 'INTERNAL', error);
      if (attempt >= FLIGHT_ATTEMPTS_MAX || !isOurs || !error.retryable) throw error;
    }
  }
}
