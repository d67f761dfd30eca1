/**
 * The deadline of one request's reads. When it comes, whoever waits for a read gets PastDeadline; the read itself is not
 * waited for, and reads that have not been sent yet are not sent any more. Its owner closes it whichever way the request
 * ends, so that no timer outlives a request.
 */
import { MailjoinError } from '../domain/errors.js';

/** Thrown by a read that the deadline has overtaken, or that nobody waits for any more. */
export class PastDeadline extends Error {}

export class ReadDeadline {
  private readonly expired: Promise<never>;
  private readonly timer: NodeJS.Timeout;
  private readonly isWanted: () => boolean;
  private over = false;

  /** `isWanted`: whether anybody still waits for the request. */
  constructor(ms: number, isWanted: () => boolean = () => true) {
    this.isWanted = isWanted;
    let expire!: (error: PastDeadline) => void;
    this.expired = new Promise((_, reject) => {
      expire = reject;
    });
    // Nobody may be reading when it comes.
    this.expired.catch(() => undefined);
    this.timer = setTimeout(() => {
      this.over = true;
      expire(new PastDeadline());
    }, ms);
  }

  /** True from the deadline, the request's end, or its caller's leaving on: no read is wanted any more. */
  get isOver(): boolean {
    return this.over || !this.isWanted();
  }

  /** What the read brings, or PastDeadline, whichever comes first. */
  within<T>(read: Promise<T>): Promise<T> {
    return Promise.race([read, this.expired]);
  }

  close(): void {
    clearTimeout(this.timer);
    this.over = true;
  }
}

/** What a request fails with of which nothing can be told without the read that its deadline has overtaken. */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof PastDeadline)) return error;
  return new MailjoinError('STORE_UNAVAILABLE', 'no answer within the deadline', { cause: error });
}
