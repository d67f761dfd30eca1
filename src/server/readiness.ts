/**
 * Whether this process can answer joins now, for /readyz: the store answers a ping and the watcher of destroyed
 * keys is not behind. One look at a time, its answer kept for a moment, so that probes never load the store.
 */

import { READY_CACHE_MS, READY_TIMEOUT_MS } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';

/** One thing that must hold; rejects, or resolves to a reason, when it does not. */
export interface ReadyCheck {
  readonly name: string;
  check(): Promise<string | undefined>;
}

export interface ReadyState {
  readonly ready: boolean;
  /** Names of what failed, each with its reason; empty when ready. */
  readonly failures: readonly string[];
}

export class Readiness {
  private readonly checks: readonly ReadyCheck[];
  private readonly clock: Clock;
  private state: ReadyState | undefined;
  private stateAtMs = 0;
  private pending: Promise<ReadyState> | undefined;

  constructor(checks: readonly ReadyCheck[], clock: Clock) {
    this.checks = checks;
    this.clock = clock;
  }

  /** Never rejects. */
  current(): Promise<ReadyState> {
    if (this.state !== undefined && this.clock.nowMs() - this.stateAtMs < READY_CACHE_MS) {
      return Promise.resolve(this.state);
    }
    this.pending ??= this.look().finally(() => {
      this.pending = undefined;
    });
    return this.pending;
  }

  private async look(): Promise<ReadyState> {
    const answers = await Promise.all(this.checks.map(runCheck));
    const failures = answers.filter((answer) => answer !== undefined);
    this.state = { ready: failures.length === 0, failures };
    this.stateAtMs = this.clock.nowMs();
    return this.state;
  }
}

async function runCheck(check: ReadyCheck): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${READY_TIMEOUT_MS} ms`), READY_TIMEOUT_MS);
  });
  try {
    const reason = await Promise.race([check.check(), timeout]);
    return reason === undefined ? undefined : `${check.name}: ${reason}`;
  } catch (error) {
    return `${check.name}: ${error instanceof Error ? error.message : 'failed'}`;
  } finally {
    clearTimeout(timer);
  }
}
