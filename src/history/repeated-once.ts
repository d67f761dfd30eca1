/**
 * A read that is repeated once at most (B52), within its request's deadline: its failures are told, and the last one is
 * thrown; PastDeadline once the deadline has come, which is no failure of the read.
 */
import { MailjoinError } from '../domain/errors.js';
import { FLIGHT_ATTEMPTS_MAX } from '../domain/limits.js';
import { PastDeadline, type ReadDeadline } from './read-deadline.js';

/** Told of every read that failed: for logs and metrics. */
export type OnFailure = (code: string, error: unknown) => void;

export async function repeatedOnce<T>(
  read: () => Promise<T>,
  deadline: ReadDeadline,
  onFailure: OnFailure,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    if (deadline.isOver) throw new PastDeadline();
    try {
      return await deadline.within(read());
    } catch (error) {
      if (error instanceof PastDeadline) throw error;
      const isOurs = error instanceof MailjoinError;
      onFailure(isOurs ? error.code : 'INTERNAL', error);
      if (attempt >= FLIGHT_ATTEMPTS_MAX || !isOurs || !error.retryable) throw error;
    }
  }
}
