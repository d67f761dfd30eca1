/**
 * Wires the follower of the log for a sidecar: what it does to cache and keys, what it tells metrics, readiness and the
 * log of this process. Without a log the age of bodies alone bounds their staleness.
 */
import { MailjoinError } from '../domain/errors.js';
import { FOLLOW_SETTLE_MS } from '../domain/limits.js';
import type { DekId } from '../domain/message.js';
import type { BodyCache, Clock } from '../domain/ports.js';
import type { LogReader } from '../domain/write-ports.js';
import { LogEvents } from '../follow/log-events.js';
import { LogFollower } from '../follow/log-follower.js';
import { LogFreshness } from '../follow/log-freshness.js';
import { Warmer, type WarmerOptions } from '../follow/warmer.js';
import type { ConversationsInUse } from '../join/conversations-in-use.js';
import type { Joiner } from '../join/joiner.js';
import type { Log } from '../server/log.js';
import type { LogFigures } from '../server/metrics.js';
import { Retention } from '../write/retention.js';
import type { RetentionPolicies } from '../write/retention-policies.js';
import { FailureLines } from './failure-lines.js';
import type { Settings } from './settings.js';

const LOG_FAILURE_PERIOD_MS = 5_000;

export interface FollowedLog {
  /** undefined when it is in time, else why the process is not ready. */
  problem(): string | undefined;
  figures(): LogFigures;
  start(): void;
  stop(): Promise<void>;
}

/** The freshness of a cache whose log is followed; BEHIND until followLog() has begun. */
export function logFreshness(
  settings: Settings,
  cache: Pick<BodyCache, 'clear'>,
  clock: Clock,
  log: Log,
): LogFreshness {
  return new LogFreshness({
    clock,
    cacheAgeMs: settings.cacheAgeMs,
    lagMsMax: settings.followLagMaxMs,
    settleMs: FOLLOW_SETTLE_MS,
    dropCache: () => cache.clear(),
    onChange: (isCurrent, behindMs) =>
      log.write(isCurrent ? 'info' : 'warn', isCurrent ? 'log_current' : 'log_behind', {
        behindMs: Math.round(behindMs),
      }),
  });
}

export interface FollowedParts {
  readonly reader: LogReader;
  readonly freshness: LogFreshness;
  readonly joiner: Joiner;
  readonly onKeyDestroyed: readonly ((dekId: DekId) => void)[];
  /** Given when the cache is to be warmed from the log. */
  readonly inUse: ConversationsInUse | undefined;
  /** How long rows live: a warmed body must not outlive its row. */
  readonly retention: RetentionPolicies;
  readonly clock: Clock;
  readonly log: Log;
}

export function followLog(settings: Settings, parts: FollowedParts): FollowedLog {
  const { reader, freshness, joiner, onKeyDestroyed, inUse, retention, clock, log } = parts;
  const warmer =
    inUse === undefined
      ? undefined
      : new Warmer({ joiner, inUse, clock, remainingLife: lifeOfKnown(retention) });
  const codeOf = (error: unknown) => (error instanceof MailjoinError ? error.code : 'INTERNAL');
  const events = new LogEvents({
    joiner,
    onKeyDestroyed,
    warmer,
    onSkipped: ({ partition, offset }, error) =>
      log.write('warn', 'log_record_skipped', { code: codeOf(error), partition, offset: String(offset) }),
  });
  const lagMsMax = settings.followLagMaxMs;
  const failures = new FailureLines(log, 'log_failure');
  const periods = setInterval(() => failures.endPeriod(), LOG_FAILURE_PERIOD_MS).unref();
  const follower = new LogFollower({
    log: reader,
    events,
    freshness,
    warmer,
    clock,
    lagMsMax,
    onFailure: (error) => failures.add(error),
  });
  return {
    problem: () =>
      freshness.isCurrent(clock.nowMs())
        ? undefined
        : `${Math.round(freshness.behindMs)} ms behind the log, more than ${lagMsMax}`,
    figures: () => ({
      ...events.stats(),
      ...(warmer?.stats() ?? { warmed: 0, dropped: 0, waiting: 0 }),
      ...follower.stats(),
      cacheDrops: freshness.drops,
      isCurrent: freshness.isCurrent(clock.nowMs()),
    }),
    start: () => follower.start(),
    stop: async () => {
      clearInterval(periods);
      await follower.stop();
      await warmer?.stop();
    },
  };
}

/** Remaining life of rows whose retention is known; others ('expired') are not warmed: they may be gone sooner. */
function lifeOfKnown(policies: RetentionPolicies): WarmerOptions['remainingLife'] {
  let isKnown = true;
  const retention = new Retention(policies, () => {
    isKnown = false;
  });
  return (tenantId, record, nowEpochMs) => {
    isKnown = true;
    const life = retention.ttlFor(tenantId, record, nowEpochMs);
    return isKnown ? life : 'expired';
  };
}
