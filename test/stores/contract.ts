/**
 * What every message store must do alike: run for the embedded store and for a real Cassandra. Only the ports are
 * used. Rows lie in random tenants, so one store serves all tests; real time passes only where a TTL must.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { keyStoreContract } from './contract-keys.js';
import { readContract } from './contract-reads.js';
import { summaryContract } from './contract-summaries.js';
import { ttlContract } from './contract-ttl.js';
import { writeContract } from './contract-writes.js';
import type { OpenedStore } from './fixtures.js';

/** The open store, handed to the parts as a function: it exists only once the tests run. */
export type Opened = () => OpenedStore;

export function storeContract(name: string, makeStore: () => Promise<OpenedStore>): void {
  describe(`store contract: ${name}`, () => {
    let opened: OpenedStore | undefined;
    const get: Opened = () => {
      if (opened === undefined) throw new Error('the store did not open');
      return opened;
    };
    beforeAll(async () => {
      opened = await makeStore();
    }, 180_000);
    afterAll(async () => {
      await opened?.close();
    }, 60_000);

    readContract(get);
    writeContract(get);
    ttlContract(get);
    summaryContract(get);
    keyStoreContract(get);
  });
}
