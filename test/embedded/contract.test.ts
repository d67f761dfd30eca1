import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { storeContract } from '../stores/contract.js';

storeContract('embedded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mailjoin-embedded-'));
  const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
  const { store, keys, close } = await openEmbedded(directory, clock);
  return {
    store,
    keys,
    close: async () => {
      await close();
      rmSync(directory, { recursive: true });
    },
  };
});
