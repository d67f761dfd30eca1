/** The embedded store for tests of history, in a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import type { OpenedHistory } from './history-contract.js';

export async function openEmbeddedHistory(): Promise<OpenedHistory> {
  const directory = mkdtempSync(join(tmpdir(), 'mailjoin-history-'));
  const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
  const { store, writes, buckets, close } = await openEmbedded(directory, clock);
  return {
    stores: { messages: store, writes, buckets },
    close: async () => {
      await close();
      rmSync(directory, { recursive: true });
    },
  };
}
