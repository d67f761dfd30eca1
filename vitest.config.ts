/**
 * How the tests run: in processes of their own (native modules, worker threads), two at a time, with one Cassandra
 * for the whole run that is started when the first test file asks for it (test/services).
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    globalSetup: ['test/services/global-setup.ts'],
    reporters: ['default', './test/services/summary-reporter.ts'],
  },
});
