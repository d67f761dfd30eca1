import { describe, expect, it } from 'vitest';
import { encodeLogRecord, type LogRecord } from '../../src/codec/log-record.js';
import { effectiveState, MessageState, RetentionClass } from '../../src/domain/message.js';
import { revisionMicros } from '../../src/write/message-ids.js';
import type { RecoveryReport } from '../../src/write/recovery.js';
import {
  bytes,
  Crash,
  chat,
  committed,
  hex,
  logged,
  previewText,
  rowOf,
  textOf,
  twoProcesses,
  type WritingProcess,
  writingProcess,
} from './write-fixtures.js';

function recover({ writer, opened }: WritingProcess): Promise<RecoveryReport> {
  return writer.recover(opened.log, new AbortController().signal);
}

/** What followers know after reading the whole log: events by id, so repeats change nothing (S-7). */
function eventIds(records: readonly LogRecord[]): bigint[] {
  return records.flatMap((record) =>
    record.kind === 'recall' || record.kind === 'edit' ? [record.eventId] : [],
  );
}

describe('the recovery run (D17)', () => {
  it('passes over records that cannot be decoded, and counts them', async () => {
    const process = await writingProcess();
    await process.opened.log.append({ key: bytes('k'), value: Buffer.from([0xff]) });
    await committed(process, chat());
    expect(await recover(process)).toMatchObject({ records: 2, undecodable: 1 });
  });

  it('does not move its checkpoint over an event that it could not apply', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    process.crashAfter('recall', 'log');
    await expect(process.writer.recall(target)).rejects.toThrow(Crash);
    const failure = new Error('the store failed');
    // A fault that the embedded store cannot be made to show.
    process.opened.store.recallRecord = () => Promise.reject(failure);
    await expect(recover(process)).rejects.toBe(failure);
    Reflect.deleteProperty(process.opened.store, 'recallRecord');
    expect(await recover(process)).toMatchObject({ recalls: 2, applied: 1, shown: 1 });
    expect(await rowOf(process, target)).toMatchObject({ state: MessageState.RECALLED });
  });

  it('B15: does not bring back a row that expired, and writes nothing for one that never was', async () => {
    const process = await writingProcess({ retention: { defaultSeconds: 30, tenants: new Map() } });
    const target = await committed(process, chat());
    process.crashAfter('edit', 'log');
    await expect(process.writer.edit({ ...target, payload: bytes('x') })).rejects.toThrow(Crash);
    process.clock.ms += 30_000;
    expect(await recover(process)).toMatchObject({ edits: 1, absent: 1, applied: 0 });
    expect(await rowOf(process, target)).toBeUndefined();
    process.clock.ms -= 30_000;
    expect(await rowOf(process, target)).toMatchObject({ state: MessageState.NORMAL });
  });

  it('does not run past the ends it started with, and goes on from its checkpoint', async () => {
    const process = await writingProcess();
    const where = chat();
    const target = await committed(process, where);
    process.crashAfter('recall', 'log');
    await expect(process.writer.recall(target)).rejects.toThrow(Crash);
    expect(await recover(process)).toMatchObject({ records: 2, recalls: 1, applied: 1 });
    // The announcement, read by the next run.
    expect(await recover(process)).toMatchObject({ records: 1, recalls: 1, applied: 0, shown: 1 });
    expect(await recover(process)).toMatchObject({ records: 0 });
  });

  it('reads from the beginning where its checkpoint is none', async () => {
    const process = await writingProcess();
    await committed(process, chat());
    await process.opened.writes.saveCheckpoint('recovery', 'nonsense 0: :7 a:b');
    expect(await recover(process)).toMatchObject({ records: 1 });
  });

  it('S-7: applies edits in the order of the log and leaves a later one alone', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    for (const text of ['first', 'second']) {
      process.crashAfter('edit', 'log');
      await expect(process.writer.edit({ ...target, payload: bytes(text) })).rejects.toThrow(Crash);
      process.clock.ms += 5;
    }
    expect(await recover(process)).toMatchObject({ edits: 2, applied: 2 });
    expect(await textOf(process, target)).toBe('second');
    process.crashAfter('edit', 'log');
    await expect(process.writer.edit({ ...target, payload: bytes('third') })).rejects.toThrow(Crash);
    process.clock.ms += 5;
    await process.writer.edit({ ...target, payload: bytes('fourth') });
    expect(await recover(process)).toMatchObject({ applied: 0 });
    expect(await textOf(process, target)).toBe('fourth');
  });

  it('S-7: leaves a recalled message recalled when an edit of it was logged', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    process.crashAfter('edit', 'log');
    await expect(process.writer.edit({ ...target, payload: bytes('x') })).rejects.toThrow(Crash);
    await process.writer.recall(target);
    await recover(process);
    expect(await rowOf(process, target)).toMatchObject({ state: MessageState.RECALLED });
  });

  it('S-7: an edit logged above a recall that it did not know of leaves the row RECALLED, above both, for good', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const target = await committed(first, where);
    // The edit has read the row and was given its revision before, or after, the recall that comes in between.
    first.after('edit', 'read', async () => {
      await second.writer.recall(target);
      first.clock.ms += 5;
    });
    first.crashAfter('edit', 'log');
    await expect(first.writer.edit({ ...target, payload: bytes('x') })).rejects.toThrow(Crash);
    await recover(second);
    const row = await rowOf(second, target);
    expect(row).toMatchObject({ state: MessageState.RECALLED });
    const records = await logged(second.opened.log);
    for (const record of records) {
      if (record.kind !== 'recall' && record.kind !== 'edit') continue;
      expect([hex(record.lastActivityId), hex(row?.lastActivityId)].sort()[0]).toBe(
        hex(record.lastActivityId),
      );
      const value = encodeLogRecord(record);
      await second.opened.log.append({ key: where.conversationId, value });
    }
    expect(await recover(first)).toMatchObject({ applied: 0 });
    expect(await rowOf(first, target)).toEqual(row);
  });

  it('S-7: an edit that its writer wrote above a recall, and died, leaves the row RECALLED under the recall’s own event_id', async () => {
    const [first, second] = await twoProcesses();
    const target = await committed(first, chat());
    first.after('edit', 'read', async () => {
      await second.writer.recall(target);
      // The recall lies below the checkpoint: the run that finds the edit does not see it again.
      await recover(second);
      first.clock.ms += 5;
    });
    const { writes } = first.opened;
    const readRecord = writes.readRecord.bind(writes);
    let reads = 0;
    writes.readRecord = async (where) => {
      if (reads++ > 0) throw new Crash('dead');
      return readRecord(where);
    };
    await expect(first.writer.edit({ ...target, payload: bytes('x') })).rejects.toThrow(Crash);
    const left = await rowOf(second, target);
    expect(left).toMatchObject({ state: MessageState.EDITED });
    expect(left && effectiveState(left)).toBe(MessageState.RECALLED);

    expect(await recover(second)).toMatchObject({ recalls: 0, edits: 1, applied: 1 });
    const row = await rowOf(second, target);
    expect(row).toMatchObject({ state: MessageState.RECALLED });
    const recalls = (await logged(second.opened.log)).filter((record) => record.kind === 'recall');
    expect(recalls).toHaveLength(2);
    expect(new Set(eventIds(recalls)).size).toBe(1);
    expect(hex(recalls.at(-1)?.lastActivityId)).toBe(hex(row?.lastActivityId));
    expect(await recover(second)).toMatchObject({ applied: 0 });
    expect(await rowOf(second, target)).toEqual(row);
  });

  it('applies an edit that a hold was placed above (D20)', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    process.crashAfter('edit', 'log');
    await expect(process.writer.edit({ ...target, payload: bytes('edited') })).rejects.toThrow(Crash);
    process.clock.ms += 1000;
    await process.writer.placeHold(target);
    expect(await recover(process)).toMatchObject({ applied: 1 });
    expect(await textOf(process, target)).toBe('edited');
    expect((await rowOf(process, target))?.ttlSeconds).toBeUndefined();
  });

  it('D12: replaces the preview of a recalled message that is still the last', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const target = await committed(first, where, { preview: bytes('secret') });
    await first.writer.headsIdle();
    first.crashAfter('recall', 'row');
    await expect(first.writer.recall(target)).rejects.toThrow(Crash);
    expect(await previewText(first, where)).toBe('secret');
    expect(await recover(second)).toMatchObject({ recalls: 1, shown: 1 });
    expect(await previewText(first, where)).toBeUndefined();
  });

  it('B15: passes over a row that lasts in part and was deleted by governance, instead of ending there for ever', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    process.crashAfter('recall', 'log');
    await expect(process.writer.recall(target)).rejects.toThrow(Crash);
    await process.writer.placeHold(target);
    const row = await rowOf(process, target);
    if (row?.lastActivityId === undefined) throw new Error('no row');
    const deleted = {
      ...row,
      payload: undefined,
      state: MessageState.DELETED,
      retentionClass: RetentionClass.DEFAULT,
    };
    const life = { ttlSeconds: 1000, timestampMicros: revisionMicros(row.lastActivityId) + 1n };
    await process.opened.store.insertRecord(target, deleted, life);
    expect(await rowOf(process, target)).toMatchObject({ lastsInPart: true });
    expect(await recover(process)).toMatchObject({ recalls: 1, absent: 1 });
    expect(await recover(process)).toMatchObject({ records: 0 });
  });

  it('D12: does not move its checkpoint over a recall whose head it could not write', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const target = await committed(first, where, { preview: bytes('secret') });
    await first.writer.headsIdle();
    first.crashAfter('recall', 'row');
    await expect(first.writer.recall(target)).rejects.toThrow(Crash);
    // A fault that the embedded store cannot be made to show.
    second.opened.writes.writeHead = () => Promise.reject(new Error('down'));
    await expect(recover(second)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await recover(first)).toMatchObject({ recalls: 1, shown: 1 });
    expect(await previewText(first, where)).toBeUndefined();
  });

  describe.each(['recall', 'edit'] as const)('S-7: a crash of %s', (operation) => {
    const steps =
      operation === 'edit'
        ? (['read', 'assign', 'seal', 'log', 'row', 'head'] as const)
        : (['read', 'assign', 'log', 'row', 'head'] as const);
    it.each(steps)('after %s loses no event, and a repeated one changes nothing', async (step) => {
      const [first, second] = await twoProcesses();
      const target = await committed(first, chat());
      const request = { ...target, payload: bytes('edited') };
      first.crashAfter(operation, step);
      await expect(first.writer[operation](request)).rejects.toThrow(Crash);
      const before = await logged(first.opened.log);
      const wasLogged = before.length === 2;
      expect(wasLogged).toBe(step === 'log' || step === 'row' || step === 'head');

      const report = await recover(second);
      expect(report.applied).toBe(step === 'log' ? 1 : 0);
      const row = await rowOf(second, target);
      if (row === undefined) throw new Error('no row');
      const changed = operation === 'edit' ? MessageState.EDITED : MessageState.RECALLED;
      expect(effectiveState(row)).toBe(wasLogged ? changed : MessageState.NORMAL);

      const records = await logged(second.opened.log);
      expect(new Set(eventIds(records)).size).toBe(wasLogged ? 1 : 0);
      for (const record of records) {
        // Every announcement's floor is the row's own revision.
        if (record.kind === 'recall' || record.kind === 'edit')
          expect(hex(record.lastActivityId)).toBe(hex(row.lastActivityId));
      }
      await recover(first);
      expect(await rowOf(first, target)).toEqual(row);
      // The caller was never told: it asks again, and gets there.
      await first.writer[operation](request);
      const after = await rowOf(first, target);
      expect(after && effectiveState(after)).toBe(changed);
      if (operation === 'recall' && wasLogged) expect(after).toEqual(row);
    });
  });
});
