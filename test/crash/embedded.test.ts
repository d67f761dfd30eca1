/**
 * Crash points on the embedded store and log (S-7): processes of the built files that kill themselves between every two
 * steps, or are killed from outside at random moments. Needs the built files (npm run build).
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger, type RecordMode } from './ledger.js';
import { embeddedPlace, type Place } from './places.js';
import {
  ARCHIVE_POINTS,
  COMMIT_POINTS,
  EVENT_POINTS,
  type Point,
  RECORD_POINTS,
  RECOVERY_POINTS,
} from './points.js';
import { expectRest, finishArchive, killAtEach, makeGood, race } from './scenarios.js';
import { seeded } from './seeded.js';

const MODES: readonly RecordMode[] = ['sync', 'archive'];
const TIMEOUT_MS = 120_000;

async function place(): Promise<Place> {
  const opened = await embeddedPlace();
  onTestFinished(() => opened.close());
  return opened;
}

/** Each list on a conversation of its own, side by side; then what was left is made good, and nothing changes after. */
async function killedEverywhere(record: RecordMode, lists: readonly (readonly Point[])[]): Promise<void> {
  const random = seeded(`crash points, ${record}`);
  const opened = await place();
  const ledgers = lists.map((points) => ({ points, ledger: new Ledger(opened, record) }));
  await Promise.all(ledgers.map(({ ledger, points }) => killAtEach(ledger, random.shuffled(points))));
  for (const { ledger } of ledgers) await makeGood(ledger);
  await Promise.all(ledgers.map(({ ledger }) => expectRest(ledger)));
}

describe('processes killed on the embedded store and log', () => {
  it(
    'S-7, B16: at each point of commit, edit, recall and recovery nothing is lost or doubled',
    {
      timeout: TIMEOUT_MS,
    },
    () => killedEverywhere('sync', [[...COMMIT_POINTS, ...RECORD_POINTS], EVENT_POINTS, RECOVERY_POINTS]),
  );

  it(
    'S-7: at each point of a commit whose row is left to the archiver (record = archive)',
    {
      timeout: TIMEOUT_MS,
    },
    () => killedEverywhere('archive', [COMMIT_POINTS]),
  );

  it('S-7, B16: at each point of the archiver; the next member of its group finishes', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const random = seeded('crash points of the archiver');
    const ledger = new Ledger(await place(), 'archive');
    await killAtEach(ledger, random.shuffled(ARCHIVE_POINTS));
    const seen = await finishArchive(ledger, ARCHIVE_POINTS.length);
    expect(seen.rows.size).toBe(3 * ARCHIVE_POINTS.length);
    await expectRest(ledger, (ARCHIVE_POINTS.length + 2) * ledger.place.leaseMs);
  });

  it.each(MODES)(
    'S-7, B16: two writers of one conversation killed at random moments, record = %s',
    {
      timeout: TIMEOUT_MS,
    },
    async (record) => {
      const random = seeded(`races, ${record}`);
      const ledger = new Ledger(await place(), record);
      await race(ledger, {
        rounds: 3,
        afterMs: () => random.below(300),
        seed: () => random.below(2 ** 31),
        beside: (round) =>
          Array.from({ length: 40 }, (_, index) => [
            { id: `recovery ${round} ${index}`, kind: 'recover' } as const,
            {
              id: `archive ${round} ${index}`,
              kind: 'archive',
              group: `${ledger.name} race ${round}`,
            } as const,
          ]).flat(),
      });
      const seen = await makeGood(ledger);
      expect(seen.rows.size).toBeGreaterThan(0);
      await expectRest(ledger);
    },
  );
});
