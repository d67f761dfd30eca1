// What only the embedded log promises: its age bound, what it does with unreadable bytes, and with a replaced file.
import { describe, expect, it } from 'vitest';
import { EMBEDDED_LOG_AGE_MS } from '../../src/domain/limits.js';
import { between, Collected, codeOf, text } from '../stores/log-contract.js';
import { openFor, SetClock, temporaryDirectory, withRawTable } from './embedded-fixtures.js';

const key = Buffer.from('k');

describe('the embedded log', () => {
  it('is LOG_CORRUPT where a stored record is cut', async () => {
    const directory = temporaryDirectory();
    const offset = Buffer.alloc(8);
    await withRawTable(directory, 'log', (raw) => raw.put(offset, Buffer.alloc(3)));
    const { log } = await openFor(directory, new SetClock());
    expect(await codeOf(between(log, [], [{ partition: 0, offset: 1n }]))).toBe('LOG_CORRUPT');
  });

  it('is LOG_CORRUPT where the state of a group is unreadable', async () => {
    const directory = temporaryDirectory();
    await withRawTable(directory, 'log_group', (raw) => raw.put(Buffer.from('g'), Buffer.from([0x91, 0xc0])));
    const { log } = await openFor(directory, new SetClock());
    const { onEntries, signal } = new Collected();
    expect(await codeOf(log.consume({ group: 'g', onEntries, signal }))).toBe('LOG_CORRUPT');
  });

  it('keeps records for their age, then lets them go, and its offsets go on', async () => {
    const clock = new SetClock();
    const { log } = await openFor(temporaryDirectory(), clock);
    const append = (value: string) => log.append({ key, value: Buffer.from(value) });
    for (let index = 0; index < 100; index++) await append('old');
    clock.ms += EMBEDDED_LOG_AGE_MS;
    for (let index = 0; index < 64; index++) await append('new');
    const kept = await between(log, [], await log.ends());
    expect(kept.filter((entry) => text(entry) === 'old')).toHaveLength(100);
    clock.ms += 1;
    for (let index = 0; index < 64; index++) await append('newer');
    const entries = await between(log, [], await log.ends());
    expect(entries.filter((entry) => text(entry) === 'old')).toEqual([]);
    expect(entries[0]?.offset).toBe(100n);
    expect(entries).toHaveLength(128);
    expect((await log.ends())[0]?.offset).toBe(228n);
  });

  it('a position beyond the end, of a file that was replaced, is read from the beginning', async () => {
    const { log } = await openFor(temporaryDirectory(), new SetClock());
    await log.append({ key, value: Buffer.from('only') });
    const from = [{ partition: 0, offset: 1_000n }];
    expect((await between(log, from, [{ partition: 0, offset: 1n }])).map(text)).toEqual(['only']);
  });

  it('a group that belongs to a live member has another one stand by, which goes on when it is released', async () => {
    const directory = temporaryDirectory();
    const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
    const { log } = await openFor(directory, clock);
    const { log: other } = await openFor(directory, clock);
    const consume = (from: typeof log) =>
      new Collected().run(({ onEntries, signal }) => from.consume({ group: 'g', onEntries, signal }));
    const first = consume(log);
    await log.append({ key, value: Buffer.from('one') });
    await expect.poll(() => first.texts()).toEqual(['one']);
    const second = consume(other);
    await log.append({ key, value: Buffer.from('two') });
    await expect.poll(() => first.texts()).toEqual(['one', 'two']);
    await first.stop();
    await log.append({ key, value: Buffer.from('three') });
    await expect.poll(() => second.texts(), { timeout: 5_000 }).toEqual(['three']);
    await second.stop();
  });
});
