/** The lag that an archiver tells at the end of a pass; brokers tell it in between only, every few seconds. */
import { describe, expect, it } from 'vitest';
import type { ArchiverOptions } from '../../src/archive/archiver.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { LogReader } from '../../src/domain/write-ports.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { archiverOn, unstopped } from './archive-fixtures.js';

describe('how far behind a run up to an end leaves off', () => {
  /** Two partitions; tells a lag before the last batch, as brokers that are asked now and then do. */
  async function lagAfter(ends: LogReader['ends'] | undefined): Promise<bigint | undefined> {
    const clock = new SetClock();
    const { store, writes } = await openFor(temporaryDirectory(), clock);
    const log: ArchiverOptions['log'] = {
      ...(ends && { ends }),
      consume: async ({ onEntries, onLag, signal }) => {
        const entry = { value: Buffer.from('0effff', 'hex'), appendedAtMs: 0 };
        await onEntries([{ ...entry, partition: 0, offset: 6n }]);
        onLag?.(1_209n);
        await onEntries([{ ...entry, partition: 1, offset: 1n }]);
        expect(signal.aborted).toBe(true);
      },
    };
    const archiver = archiverOn({ messages: store, writes, clock }, log);
    await archiver.run(unstopped(), [
      { partition: 0, offset: 7n },
      { partition: 1, offset: 2n },
      { partition: 2, offset: 0n },
    ]);
    return archiver.totals().lag;
  }
  const endsAt =
    (...offsets: readonly bigint[]) =>
    async () =>
      offsets.map((offset, partition) => ({ partition, offset }));

  it('is unknown when the log does not answer then, whatever it told before', async () => {
    expect(await lagAfter(() => Promise.reject(new MailjoinError('LOG_UNAVAILABLE')))).toBeUndefined();
  });

  it('is asked once more: nothing, or what was appended meanwhile', async () => {
    expect(await lagAfter(endsAt(7n, 2n, 0n))).toBe(0n);
    expect(await lagAfter(endsAt(9n, 2n, 5n))).toBe(7n);
  });

  it('is what was told last where it cannot be asked', async () => {
    expect(await lagAfter(undefined)).toBe(1_209n);
  });
});
