/** Settings that cannot work are refused by name, before anything is contacted. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openCqlStores } from '../../src/cql/open.js';
import type { CqlConnectOptions } from '../../src/cql/options.js';
import { connectCql } from '../../src/cql/session.js';
import { clock } from './cassandra-under-test.js';

const BASE: CqlConnectOptions = { contactPoints: ['127.0.0.1:1'], localDataCenter: 'dc1', timeoutMs: 500 };

/** As a caller in JavaScript, or a config file, would give it. */
const unchecked = (options: Record<string, unknown>) => ({ ...BASE, ...options }) as CqlConnectOptions;

describe('connection settings', () => {
  it.each([
    ['contactPoints', { contactPoints: [] }],
    ['contactPoints', { contactPoints: ['127.0.0.1', ' '] }],
    ['localDataCenter', { localDataCenter: '' }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: 1.5 }],
    ['readConsistency', { readConsistency: 'local_quorum' }],
    ['readConsistency', { readConsistency: 'constructor' }],
    ['writeConsistency', { writeConsistency: 'ANY' }],
    ['serialConsistency', { serialConsistency: 'QUORUM' }],
  ])('%s is refused in %j', async (setting, options) => {
    await expect(connectCql(unchecked(options))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(setting),
    });
  });

  it('keyspace is refused when it is no name', async () => {
    await expect(openCqlStores({ ...BASE, keyspace: 'a.b', clock })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('keyspace'),
    });
  });

  it('a contact point where nobody listens is STORE_UNAVAILABLE', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => server.close(resolve));
    await expect(connectCql({ ...BASE, contactPoints: [`127.0.0.1:${port}`] })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });
});
