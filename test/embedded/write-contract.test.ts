import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { writeStoreContract } from '../stores/write-contract.js';

writeStoreContract('embedded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mailjoin-embedded-'));
  const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
  const first = await openEmbedded(directory, clock);
  const second = await openEmbedded(directory, clock);
  return {
    messages: first.store,
    writes: first.writes,
    second: second.writes,
    close: async () => {
      await second.close();
      await first.close();
      rmSync(directory, { recursive: true });
    },
  };
});
