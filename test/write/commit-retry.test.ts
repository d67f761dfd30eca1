import { describe, expect, it } from 'vitest';
import type { MessageId } from '../../src/domain/ids.js';
import { KEY_SETTLE_MS } from '../../src/domain/limits.js';
import { MessageState } from '../../src/domain/message.js';
import { DedupState } from '../../src/domain/write-ports.js';
import type { CommitStep } from '../../src/write/steps.js';
import {
  bytes,
  Crash,
  chat,
  committed,
  hex,
  logged,
  messageIn,
  rowOf,
  textOf,
  twoProcesses,
  writingProcess,
} from './write-fixtures.js';

const STEPS: readonly CommitStep[] = ['assign', 'reserve', 'seal', 'record', 'log', 'complete'];

describe.each(['sync', 'archive'] as const)('a retry after a crash, record = %s (D16, B16)', (record) => {
  describe.each(['the same process', 'a new process'])('from %s', (from) => {
    it.each(STEPS)('after %s gives one message and the same acknowledgement', async (step) => {
      const [first, second] = await twoProcesses({ record });
      const where = chat();
      const given = messageIn(where, { preview: bytes('hel') });
      first.crashAfter('commit', step);
      await expect(first.writer.commit(given)).rejects.toThrow(Crash);
      const reserved = await first.opened.writes.read(where.tenantId, where.senderId, given.clientMessageId);
      expect(reserved === undefined).toBe(step === 'assign');

      first.clock.ms += 60_000;
      const retrying = from === 'a new process' ? second : first;
      const acknowledged = await retrying.writer.commit(given);
      if (reserved !== undefined) {
        const { messageId, seq, createdAtMs } = reserved;
        expect(acknowledged).toEqual({ messageId, seq, createdAtMs });
      }
      expect(await first.writer.commit(given)).toEqual(acknowledged);
      expect(await second.writer.commit(given)).toEqual(acknowledged);

      const rows = await first.opened.writes.readBucket(where.tenantId, where.conversationId, 0n);
      const ownRows = rows.concat(
        await first.opened.writes.readBucket(where.tenantId, where.conversationId, 1n),
      );
      expect(ownRows.map(({ seq }) => seq)).toEqual(record === 'sync' ? [acknowledged.seq] : []);
      if (record === 'sync') expect(await textOf(second, { ...where, seq: acknowledged.seq })).toBe('hello');

      const records = await logged(first.opened.log);
      // Twice only where the crash came between log and completion; readers drop the second by its id (D16).
      expect(records).toHaveLength(step === 'log' ? 2 : 1);
      for (const one of records) {
        if (one.kind !== 'message') throw new Error('no message');
        expect(hex(one.record.messageId)).toBe(hex(acknowledged.messageId));
        expect(one.record.createdAtMs).toBe(acknowledged.createdAtMs);
      }
      await Promise.all([first.writer.headsIdle(), second.writer.headsIdle()]);
      const head = await first.opened.writes.readHead(where.tenantId, where.conversationId);
      expect(head?.latestSeq).toBe(acknowledged.seq);
    });
  });
});

describe('a retry', () => {
  it('with another conversation is refused: CLIENT_MESSAGE_ID_REUSED', async () => {
    const process = await writingProcess();
    const where = chat();
    const given = messageIn(where);
    await process.writer.commit(given);
    const other = { ...given, conversationId: chat().conversationId };
    await expect(process.writer.commit(other)).rejects.toMatchObject({ code: 'CLIENT_MESSAGE_ID_REUSED' });
  });

  it('by two processes at once gives one message', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const given = messageIn(where);
    const acknowledged = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? first : second).writer.commit(given)),
    );
    for (const one of acknowledged) expect(one).toEqual(acknowledged[0]);
    const rows = await first.opened.writes.readBucket(
      where.tenantId,
      where.conversationId,
      (acknowledged[0]?.seq ?? 0n) >> 12n,
    );
    expect(rows).toHaveLength(1);
    expect(await textOf(second, { ...where, seq: acknowledged[0]?.seq ?? 0n })).toBe('hello');
  });

  it('puts the stored sealed bytes into the log, not others', async () => {
    const process = await writingProcess();
    const where = chat();
    const given = messageIn(where);
    process.crashAfter('commit', 'record');
    await expect(process.writer.commit(given)).rejects.toThrow(Crash);
    const before = await rowOf(process, { ...where, seq: 1n });
    await process.writer.commit(given);
    const after = await rowOf(process, { ...where, seq: 1n });
    const [record] = await logged(process.opened.log);
    expect(hex(after?.payload)).toBe(hex(before?.payload));
    expect(record?.kind === 'message' && hex(record.record.payload)).toBe(hex(before?.payload));
  });

  it('does not undo a recall that came before it (R2.1, D14)', async () => {
    const process = await writingProcess();
    const where = chat();
    const given = messageIn(where);
    process.crashAfter('commit', 'record');
    await expect(process.writer.commit(given)).rejects.toThrow(Crash);
    const messageId = (await rowOf(process, { ...where, seq: 1n }))?.messageId as MessageId;
    await process.writer.recall({ ...where, seq: 1n, messageId });
    await process.writer.commit(given);
    expect(await rowOf(process, { ...where, seq: 1n })).toMatchObject({ state: MessageState.RECALLED });
  });

  it('seals under the version of the first attempt, whatever was rotated since', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    await committed(first, where);
    const given = messageIn(where);
    first.crashAfter('commit', 'reserve');
    await expect(first.writer.commit(given)).rejects.toThrow(Crash);
    const scope = (await rowOf(first, { ...where, seq: 1n }))?.dekId;
    first.clock.ms += 1000;
    await first.keys.rotate(scope?.scope ?? '', scope?.id ?? '');
    const { seq } = await second.writer.commit(given);
    expect((await rowOf(second, { ...where, seq }))?.dekId?.version).toBe(1);
    first.clock.ms += KEY_SETTLE_MS;
    const after = await committed(second, where);
    expect((await rowOf(second, after))?.dekId?.version).toBe(2);
  });

  it('B37: after its key was destroyed is refused, and a committed one is acknowledged still', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const done = messageIn(where);
    const acknowledged = await first.writer.commit(done);
    const given = messageIn(where);
    first.crashAfter('commit', 'reserve');
    await expect(first.writer.commit(given)).rejects.toThrow(Crash);
    const dekId = (await rowOf(first, { ...where, seq: 1n }))?.dekId;
    if (dekId === undefined) throw new Error('no key');
    await first.keys.destroy(dekId);
    await expect(second.writer.commit(given)).rejects.toMatchObject({ code: 'KEY_DESTROYED' });
    expect(await second.writer.commit(done)).toEqual(acknowledged);
  });

  it('B14: that comes after the message’s end writes no row and no log record', async () => {
    const process = await writingProcess({ retention: { defaultSeconds: 30, tenants: new Map() } });
    const where = chat();
    const given = messageIn(where);
    process.crashAfter('commit', 'reserve');
    await expect(process.writer.commit(given)).rejects.toThrow(Crash);
    process.clock.ms += 29_001;
    expect((await process.writer.commit(given)).seq).toBe(1n);
    expect(await rowOf(process, { ...where, seq: 1n })).toBeUndefined();
    expect(await logged(process.opened.log)).toEqual([]);
  });
});

describe('a failing port', () => {
  it.each(['reserve', 'record', 'log', 'complete'] as const)(
    'at %s ends the commit, and a retry completes it',
    async (step) => {
      const process = await writingProcess();
      const { opened } = process;
      const where = chat();
      const given = messageIn(where);
      const failure = new Error('the port failed');
      const broken = step === 'record' ? opened.store : step === 'log' ? opened.log : opened.writes;
      const name = { reserve: 'reserve', record: 'insertRecord', log: 'append', complete: 'complete' }[step];
      // A fault that the embedded store cannot be made to show.
      Object.defineProperty(broken, name, { value: () => Promise.reject(failure), configurable: true });
      await expect(process.writer.commit(given)).rejects.toBe(failure);
      Reflect.deleteProperty(broken, name);
      await process.writer.commit(given);
      expect((await logged(opened.log)).length).toBeGreaterThan(0);
      const dedup = await opened.writes.read(where.tenantId, where.senderId, given.clientMessageId);
      expect(dedup?.state).toBe(DedupState.COMMITTED);
    },
  );
});
