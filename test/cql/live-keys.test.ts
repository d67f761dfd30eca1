/** Destructions of keys: listed by day, again when repeated, and after a crash between the two writes. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CqlKeyStore } from '../../src/cql/key-store.js';
import type { CqlSession } from '../../src/cql/session.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { DekId } from '../../src/domain/message.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { dek } from '../stores/fixtures.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from './cassandra-under-test.js';

const DAY_MS = 86_400_000;

describeWithCassandra('destroyed keys', (server) => {
  let live: KeyspaceUnderTest;
  let keys: CqlKeyStore;
  beforeAll(async () => {
    live = await makeKeyspace(server);
    keys = new CqlKeyStore(live.session, live.keyspace, clock);
  });
  afterAll(async () => {
    await live?.drop();
  });

  async function existing(): Promise<DekId> {
    const dekId = dek();
    const key = { dekId, wrapped: randomBytes(60), createdAtEpochMs: 1, destroyedAtEpochMs: undefined };
    expect(await keys.insert(key)).toBe(true);
    return dekId;
  }

  /** A session on which the second write of a destruction does not arrive. */
  const crashing: CqlSession = {
    timeoutMs: 1_000,
    execute(statement, values, pageState) {
      if (statement.table === 'mailjoin_dek_destroyed') throw new MailjoinError('STORE_UNAVAILABLE');
      return live.session.execute(statement, values, pageState);
    },
    close: async () => {},
  };

  it('a crash between marker and list is not acknowledged, and its repetition lists the key', async () => {
    const dekId = await existing();
    const nowMs = Date.now();
    const crashed = new CqlKeyStore(crashing, live.keyspace, clock);
    await expect(crashed.destroy(dekId, nowMs)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect((await keys.fetch([dekId]))[0]?.wrapped).toBeUndefined();
    expect(await keys.destroyedSince(nowMs)).not.toContainEqual(dekId);
    expect(await keys.destroy(dekId, nowMs + 5)).toBe(true);
    expect(await keys.destroyedSince(nowMs)).toContainEqual(dekId);
    expect((await keys.fetch([dekId]))[0]?.destroyedAtEpochMs).toBe(nowMs);
  });

  it('a repetition is listed at its own time: whoever looks from then on sees it', async () => {
    const dekId = await existing();
    const nowMs = Date.now();
    await keys.destroy(dekId, nowMs - 2 * DAY_MS);
    expect(await keys.destroyedSince(nowMs)).not.toContainEqual(dekId);
    expect(await keys.destroyedSince(nowMs - 3 * DAY_MS)).toContainEqual(dekId);
    await keys.destroy(dekId, nowMs);
    expect(await keys.destroyedSince(nowMs)).toContainEqual(dekId);
  });

  it.each([0, 1_000 * DAY_MS])('all of the list is read when asked from day one (%s)', async (sinceMs) => {
    const dekId = await existing();
    await keys.destroy(dekId, 5_000 * DAY_MS);
    expect(await keys.destroyedSince(sinceMs)).toContainEqual(dekId);
    expect(await keys.destroyedSince(5_000 * DAY_MS + 1)).not.toContainEqual(dekId);
  });

  it('a destruction recorded by a clock that is ahead is told, across midnight too', async () => {
    const dekId = await existing();
    const tomorrowMs = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
    await keys.destroy(dekId, tomorrowMs);
    expect(await keys.destroyedSince(tomorrowMs - 60_000)).toContainEqual(dekId);
  });

  it('times with fractions of a millisecond are taken', async () => {
    const dekId = await existing();
    await keys.destroy(dekId, Date.now() + 0.75);
    expect(await keys.destroyedSince(Date.now() - 1_000.5)).toContainEqual(dekId);
  });
});
