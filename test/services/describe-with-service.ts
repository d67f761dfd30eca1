/**
 * Groups of tests that need a real server. On a machine that cannot have one they are reported as skipped, with the
 * reason (the summary prints it once more at the end); with CI=true that is a failure, and a start that went wrong is
 * one everywhere.
 */
import { describe, it } from 'vitest';
import type { Whereabouts } from './service-broker.js';

export interface ServerUnderTest {
  /** host:port */
  readonly contactPoint: string;
  /** Empty for Kafka. */
  readonly localDataCenter: string;
}

export function describeWithService(
  service: string,
  whereabouts: Whereabouts,
  name: string,
  tests: (server: ServerUnderTest) => void,
): void {
  if (!('skipped' in whereabouts)) {
    describe(name, () => tests(whereabouts));
    return;
  }
  const reason = `no ${service}: ${whereabouts.skipped}`;
  describe(name, () => {
    it(`needs a real ${service}`, (context) => {
      if (whereabouts.broken || process.env.CI === 'true') throw new Error(reason);
      context.skip(reason);
    });
  });
}
