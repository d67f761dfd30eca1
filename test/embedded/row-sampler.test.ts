/** What a sample of the file holds (R7): a small table whole, wherever chance leads, and never more than asked for. */
import fs from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type OpenedEmbedded, openEmbedded } from '../../src/embedded/open-embedded.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { bareRecord, INSERT_MICROS, somewhere } from '../stores/fixtures.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
let directory: string;
let opened: OpenedEmbedded;
beforeEach(async () => {
  directory = temporaryDirectory();
  opened = await openEmbedded(directory, clock);
});
afterEach(async () => {
  await opened.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

it('R7.2 an empty table gives an empty sample', async () => {
  expect((await opened.sampler.sampleRows(100, Math.random)).rows).toEqual([]);
});

it.each([0, 0.5, 0.999_999])(
  'R7.2 a small table is sampled whole though chance says %d for ever',
  async (chance) => {
    for (let place = 0; place < 5; place++) {
      const { seq: first, ...conversation } = somewhere(3n);
      for (let seq = first; seq < first + 40n; seq++) {
        const life = { ttlSeconds: undefined, timestampMicros: INSERT_MICROS };
        await opened.store.insertRecord({ ...conversation, seq }, bareRecord(seq), life);
      }
    }
    const whole = await opened.sampler.sampleRows(1_000, () => chance);
    const ids = new Set(whole.rows.map(({ record }) => Buffer.from(record.messageId).toString('hex')));
    expect([whole.rows.length, ids.size]).toEqual([200, 200]);
    expect((await opened.sampler.sampleRows(7, () => chance)).rows).toHaveLength(7);
  },
);
