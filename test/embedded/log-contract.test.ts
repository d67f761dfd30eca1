import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedLog } from '../../src/embedded/embedded-log.js';
import { Environment } from '../../src/embedded/environment.js';
import { type Log, logContract } from '../stores/log-contract.js';

logContract('embedded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mailjoin-embedded-log-'));
  const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
  return {
    takeoverMs: 10_000,
    partitions: 1,
    memberArgs: ['embedded', directory, ''],
    open: async (): Promise<Log> => {
      const environment = new Environment(directory);
      const log = new EmbeddedLog(environment, clock);
      const close = log.close.bind(log);
      log.close = async () => {
        await close();
        await environment.close();
      };
      return log;
    },
    close: async () => rmSync(directory, { recursive: true }),
  };
});
