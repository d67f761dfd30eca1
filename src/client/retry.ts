/**
 * Whether and when a failed request is tried again. Only where asked for, and only what says that it can help: a 503
 * and a connect that failed, both before any work was done.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { MailjoinError } from '../domain/errors.js';
import { CLIENT_RETRY_MS_MAX } from '../domain/limits.js';
import { SidecarError } from './sidecar-error.js';

/** First wait where the sidecar gives no hint; doubled with every attempt. */
const RETRY_MS_FIRST = 20;

export function mayRetry(error: unknown): boolean {
  if (error instanceof SidecarError) return error.httpStatus === 503 && error.retryable;
  return error instanceof MailjoinError && error.code === 'CLIENT_CONNECT';
}

/**
 * Milliseconds to wait before attempt `attempt` + 1: never less than the sidecar's hint, and up to twice as long, so
 * that the clients of a node do not come back together. `random` is in [0, 1).
 */
export function retryDelayMs(error: unknown, attempt: number, random: number): number {
  const hintMs = error instanceof SidecarError ? error.retryAfterMs : 0;
  const baseMs = Math.max(hintMs, RETRY_MS_FIRST * 2 ** attempt);
  return Math.min(baseMs * (1 + random), CLIENT_RETRY_MS_MAX);
}

/** Waits; rejects with the signal's reason when it is aborted. */
export async function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await wait(delayMs, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : error;
  }
}
