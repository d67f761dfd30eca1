/**
 * Gathers what is asked in one tick into few provider calls, each bounded in ids and in time.
 *
 * Never fails as a whole: a provider that throws, rejects, hangs or answers nonsense costs each key of that call a
 * 'failed', and the next ask starts anew. A key belongs to whoever gets it: answers that nobody waits for any more are
 * zeroed here. When `askedMax` keys are under way, further ones are refused at once ('failed').
 */
import { DEK_BYTES } from '../domain/envelope.js';
import { MailjoinError } from '../domain/errors.js';
import type { DekId } from '../domain/message.js';
import type { KeyProvider, Unwrapped } from '../domain/ports.js';
import type { Scheduler } from './scheduler.js';

export interface UnwrapBatcherOptions {
  readonly provider: KeyProvider;
  readonly scheduler: Scheduler;
  /** Ids in one call. */
  readonly batchMax: number;
  /** Time for one call. */
  readonly timeoutMs: number;
  /** Ids under way at once. */
  readonly askedMax: number;
}

interface Asked {
  readonly id: DekId;
  readonly settle: (answer: Unwrapped) => void;
}

export class UnwrapBatcher {
  readonly #options: UnwrapBatcherOptions;
  #pending: Asked[] = [];
  #askedCount = 0;
  #callCount = 0;
  #failedCount = 0;

  constructor(options: UnwrapBatcherOptions) {
    this.#options = options;
  }

  /** Provider calls so far. */
  get callCount(): number {
    return this.#callCount;
  }

  /** Keys so far whose answer was 'failed'. */
  get failedCount(): number {
    return this.#failedCount;
  }

  /** `settle` is called exactly once, never before this returns, and must not throw. */
  ask(id: DekId, settle: (answer: Unwrapped) => void): void {
    if (this.#askedCount >= this.#options.askedMax) {
      this.#failedCount++;
      queueMicrotask(() => settle(failed('too many keys are being asked for')));
      return;
    }
    this.#askedCount++;
    this.#pending.push({ id, settle });
    // Behind the microtasks of this tick, as dataloader does: groups that ask from promise callbacks share a call.
    if (this.#pending.length === 1) queueMicrotask(() => process.nextTick(() => this.#flush()));
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    const { batchMax } = this.#options;
    for (let from = 0; from < pending.length; from += batchMax)
      this.#call(pending.slice(from, from + batchMax));
  }

  #call(batch: readonly Asked[]): void {
    const { provider, scheduler, timeoutMs } = this.#options;
    this.#callCount++;
    let open = true;
    const finish = (answers: readonly Unwrapped[]): void => {
      if (!open) {
        zeroKeys(answers);
        return;
      }
      open = false;
      cancelTimeout();
      this.#askedCount -= batch.length;
      if (!Array.isArray(answers) || answers.length !== batch.length) {
        if (Array.isArray(answers)) zeroKeys(answers);
        this.#settleFailed(
          batch,
          failed('the key provider answered another number of keys than were asked for'),
        );
        return;
      }
      batch.forEach((asked, index) => {
        const answer = checked(answers[index] as Unwrapped);
        if (answer.status === 'failed') this.#failedCount++;
        asked.settle(answer);
      });
    };
    const fail = (answer: Unwrapped): void => finish(batch.map(() => answer));
    const cancelTimeout = scheduler.after(timeoutMs, () => fail(failed(`no answer within ${timeoutMs} ms`)));
    // An async function, so that a provider that throws at once is one that rejects.
    const call = async (): Promise<readonly Unwrapped[]> => provider.unwrap(batch.map((asked) => asked.id));
    call().then(finish, (cause: unknown) => fail({ status: 'failed', cause }));
  }

  #settleFailed(batch: readonly Asked[], answer: Unwrapped): void {
    this.#failedCount += batch.length;
    for (const asked of batch) asked.settle(answer);
  }
}

function failed(detail: string): Unwrapped {
  return { status: 'failed', cause: new MailjoinError('KEY_UNAVAILABLE', detail) };
}

/** A key of another length would make every payload under it look TAMPERED; it is the provider's failure. */
function checked(answer: Unwrapped | undefined): Unwrapped {
  switch (answer?.status) {
    case 'ok':
      if (answer.key instanceof Uint8Array && answer.key.length === DEK_BYTES) return answer;
      if (answer.key instanceof Uint8Array) answer.key.fill(0);
      return failed('the key provider answered a key that is not 32 bytes');
    case 'destroyed':
    case 'unknown':
    case 'failed':
      return answer;
    default:
      return failed('the key provider answered no status');
  }
}

function zeroKeys(answers: readonly Unwrapped[]): void {
  for (const answer of answers) if (answer?.status === 'ok') answer.key?.fill(0);
}
