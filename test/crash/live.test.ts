/**
 * Crash points on a real Cassandra and a real Kafka (S-7): every point of commit, edit, recall, recovery and archiver at
 * least once, by processes of the built files that kill themselves there. Needs the built files (npm run build).
 */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { CqlStores } from '../../src/cql/open.js';
import { type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { describeWithKafka } from '../services/kafka.js';
import { Ledger, type RecordMode } from './ledger.js';
import { livePlace, type Place } from './places.js';
import { ARCHIVE_POINTS, COMMIT_POINTS, EVENT_POINTS, RECORD_POINTS, RECOVERY_POINTS } from './points.js';
import { expectRest, finishArchive, killAtEach, makeGood, race } from './scenarios.js';
import { seeded } from './seeded.js';

const TIMEOUT_MS = 240_000;

describeWithCassandra('processes killed on Cassandra', (cassandra) => {
  describeWithKafka('and Kafka', (kafka) => {
    let keyspace: KeyspaceUnderTest;
    let stores: CqlStores;
    beforeAll(async () => {
      keyspace = await makeKeyspace(cassandra);
      stores = await keyspace.open();
    }, 120_000);
    afterAll(() => keyspace.drop());

    async function place(): Promise<Place> {
      const opened = await livePlace({ cassandra, kafka }, keyspace, stores);
      onTestFinished(() => opened.close());
      return opened;
    }

    it('S-7, B16: at each point of commit, edit, recall and recovery nothing is lost or doubled', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const random = seeded('crash points on Cassandra and Kafka, sync');
      const opened = await place();
      const lists = [[...COMMIT_POINTS, ...RECORD_POINTS], EVENT_POINTS, RECOVERY_POINTS];
      const ledgers = lists.map((points) => ({ points, ledger: new Ledger(opened, 'sync') }));
      await Promise.all(ledgers.map(({ ledger, points }) => killAtEach(ledger, random.shuffled(points))));
      for (const { ledger } of ledgers) await makeGood(ledger);
      await Promise.all(ledgers.map(({ ledger }) => expectRest(ledger)));
    });

    it('S-7, B16: at each point of the archiver; another member of its group finishes', {
      timeout: TIMEOUT_MS,
    }, async () => {
      // A dead member's partitions are given to others once its session has ended: so the points have groups of their
      // own, side by side.
      const finished = await Promise.all(
        ARCHIVE_POINTS.map(async (point) => {
          const ledger = new Ledger(await place(), 'archive');
          await killAtEach(ledger, [point]);
          return [ledger, await finishArchive(ledger, 1)] as const;
        }),
      );
      for (const [, seen] of finished) expect(seen.rows.size).toBe(3);
      await Promise.all(finished.map(([ledger]) => expectRest(ledger)));
    });

    it.each<RecordMode>(['sync', 'archive'])(
      'S-7, B16: two writers of one conversation killed at random moments, record = %s',
      { timeout: TIMEOUT_MS },
      async (record) => {
        const random = seeded(`races on Cassandra and Kafka, ${record}`);
        const ledger = new Ledger(await place(), record);
        await race(ledger, {
          rounds: 2,
          afterMs: () => random.below(1_500),
          seed: () => random.below(2 ** 31),
          beside: (round) => [
            { id: `archive ${round}`, kind: 'archive', group: `${ledger.name} race ${round}` },
            { id: `recovery ${round}`, kind: 'recover' },
          ],
        });
        const seen = await makeGood(ledger);
        expect(seen.rows.size).toBeGreaterThan(0);
        await expectRest(ledger);
      },
    );
  });
});
