import { describe, expect, it } from 'vitest';
import { compareIdAt } from '../../src/domain/ids.js';
import { KEY_SETTLE_MS } from '../../src/domain/limits.js';
import { effectiveState, MessageState } from '../../src/domain/message.js';
import { Editor, isEditShown } from '../../src/write/edit.js';
import { insertMicros, revisionMicros } from '../../src/write/message-ids.js';
import { activity, at, life, message } from '../stores/fixtures.js';
import {
  bytes,
  chat,
  committed,
  hex,
  logged,
  messageIn,
  previewText,
  rowOf,
  textOf,
  twoProcesses,
  writingProcess,
} from './write-fixtures.js';

describe.each(['recall', 'edit'] as const)('%s', (operation) => {
  const payload = bytes('corrected');

  it('refuses a message that is not there, has another id, or was deleted; nothing is logged', async () => {
    const process = await writingProcess();
    const where = chat();
    const target = await committed(process, where);
    const run = process.writer[operation].bind(process.writer);
    await expect(run({ ...at(target, 99n), messageId: target.messageId, payload })).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    });
    await expect(run({ ...target, messageId: message(), payload })).rejects.toMatchObject({
      code: 'MESSAGE_MISMATCH',
    });
    const short = target.messageId.subarray(1) as typeof target.messageId;
    await expect(run({ ...target, messageId: short, payload })).rejects.toMatchObject({
      code: 'MESSAGE_INVALID',
    });
    await expect(run({ ...target, seq: 2n ** 63n, payload })).rejects.toMatchObject({ code: 'SEQ_RANGE' });
    const row = await rowOf(process, target);
    if (row === undefined) throw new Error('no row');
    const deleted = { ...row, state: MessageState.DELETED };
    await process.opened.store.insertRecord(target, deleted, life(insertMicros(row.createdAtMs) + 1n));
    await expect(run({ ...target, payload })).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    expect(await logged(process.opened.log)).toHaveLength(1);
  });

  it('B12, B15: refuses an expired message and does not bring it back', async () => {
    const process = await writingProcess({ retention: { defaultSeconds: 30, tenants: new Map() } });
    const target = await committed(process, chat());
    process.clock.ms += 30_000;
    await expect(process.writer[operation]({ ...target, payload })).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    });
    expect(await rowOf(process, target)).toBeUndefined();
    expect(await logged(process.opened.log)).toHaveLength(1);
  });

  it('B15: writes nothing into a row that expires between the log and the row', async () => {
    const process = await writingProcess({ retention: { defaultSeconds: 30, tenants: new Map() } });
    const target = await committed(process, chat());
    process.after(operation, 'log', async () => {
      process.clock.ms += 30_000;
    });
    await process.writer[operation]({ ...target, payload });
    expect(await rowOf(process, target)).toBeUndefined();
    process.clock.ms -= 20_000;
    expect(await rowOf(process, target)).toMatchObject({ state: MessageState.NORMAL });
  });

  it('D8: does not lengthen the row’s life', async () => {
    const process = await writingProcess({ retention: { defaultSeconds: 30, tenants: new Map() } });
    const target = await committed(process, chat());
    process.clock.ms += 10_000;
    await process.writer[operation]({ ...target, payload });
    expect((await rowOf(process, target))?.ttlSeconds).toBe(20);
    process.clock.ms += 20_000;
    expect(await rowOf(process, target)).toBeUndefined();
  });

  it('gives no row of a lasting message a TTL, and is logged with a seq of its own before the row changes', async () => {
    const process = await writingProcess({ retention: { defaultSeconds: undefined, tenants: new Map() } });
    const where = chat();
    const target = await committed(process, where, { retentionClass: 3 });
    let before: number | undefined;
    process.after(operation, 'log', async () => {
      before = (await rowOf(process, target))?.state;
    });
    const { eventSeq, lastActivityId } = await process.writer[operation]({ ...target, payload });
    expect(before).toBe(MessageState.NORMAL);
    expect(eventSeq).toBe(2n);
    const row = await rowOf(process, target);
    expect(row?.ttlSeconds).toBeUndefined();
    expect(hex(row?.lastActivityId)).toBe(hex(lastActivityId));
    const [, event] = await logged(process.opened.log);
    expect(event).toMatchObject({
      kind: operation,
      seq: 2n,
      target: { seq: 1n, createdAtMs: row?.createdAtMs },
    });
    expect((await process.writer.commit(messageIn(where))).seq).toBe(3n);
  });

  it('B14: of a message whose created_at lies in the future is above it', async () => {
    const process = await writingProcess();
    process.clock.ms += 3_600_000;
    const target = await committed(process, chat());
    process.clock.ms -= 3_600_000;
    const created = (await rowOf(process, target))?.createdAtMs as bigint;
    const { lastActivityId } = await process.writer[operation]({ ...target, payload });
    expect(revisionMicros(lastActivityId)).toBeGreaterThan(insertMicros(created));
    expect((await rowOf(process, target))?.state).toBe(
      operation === 'edit' ? MessageState.EDITED : MessageState.RECALLED,
    );
  });

  it('survives a replay of the INSERT (R2.1, D14)', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const inserted = await rowOf(process, target);
    await process.writer[operation]({ ...target, payload });
    const changed = await rowOf(process, target);
    if (inserted === undefined) throw new Error('no row');
    await process.opened.store.insertRecord(target, inserted, life(insertMicros(inserted.createdAtMs)));
    expect(await rowOf(process, target)).toEqual(changed);
  });
});

describe('edit', () => {
  it('refuses a payload above the limit, a recalled message, and more than a preview holds', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const tooLarge = { ...target, payload: Buffer.alloc(process.opened.log.recordBytesMax) };
    await expect(process.writer.edit(tooLarge)).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
    const preview = Buffer.alloc(5000);
    await expect(process.writer.edit({ ...target, payload: preview, preview })).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
    });
    await process.writer.recall(target);
    await expect(process.writer.edit({ ...target, payload: bytes('x') })).rejects.toMatchObject({
      code: 'MESSAGE_RECALLED',
    });
  });

  it('replaces the payload whole, under the key that is current now', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const first = await rowOf(process, target);
    process.clock.ms += 300_001;
    await process.keys.rotate(first?.dekId?.scope ?? '', first?.dekId?.id ?? '');
    process.clock.ms += KEY_SETTLE_MS;
    const { lastActivityId } = await process.writer.edit({ ...target, payload: bytes('corrected') });
    const row = await rowOf(process, target);
    expect(row).toMatchObject({
      state: MessageState.EDITED,
      recallEventSeq: undefined,
      dekId: { version: 2 },
    });
    expect(hex(row?.editedAtActivityId)).toBe(hex(lastActivityId));
    expect(await textOf(process, target)).toBe('corrected');
  });

  it('of two at once leaves one of them whole, the one that is the latest in the log', async () => {
    const [first, second] = await twoProcesses();
    const target = await committed(first, chat());
    for (let round = 0; round < 20; round++) {
      // The clock stands still: both revisions are drawn in the same millisecond.
      await Promise.all([
        first.writer.edit({ ...target, payload: bytes(`first ${round}`) }),
        second.writer.edit({ ...target, payload: bytes(`second ${round}`) }),
      ]);
      expect(await textOf(first, target)).toMatch(new RegExp(`^(first|second) ${round}$`));
      const edits = (await logged(first.opened.log)).filter((record) => record.kind === 'edit');
      const latest = edits.sort((a, b) => compareIdAt(b.lastActivityId, 0, a.lastActivityId, 0))[0];
      const row = await rowOf(first, target);
      expect(hex(row?.payload)).toBe(hex(latest?.payload));
      expect(hex(row?.editedAtActivityId)).toBe(hex(latest?.lastActivityId));
    }
  });

  it('that met another one in the same microsecond is logged and written again, whole', async () => {
    const [first, second] = await twoProcesses();
    const target = await committed(first, chat());
    const insert = await rowOf(first, target);
    const { lastActivityId } = await first.writer.edit({ ...target, payload: bytes('theirs') });
    const theirs = await rowOf(first, target);
    if (insert === undefined || theirs?.payload === undefined) throw new Error('no row');
    // An allocator that gives the second one a revision just below the first one's, in the same microsecond.
    const tied = Uint8Array.from(lastActivityId);
    tied.fill(0, 12);
    const [mine] = await twoProcesses();
    const editor = new Editor({
      messages: second.opened.store,
      writes: {
        readRecord: async (where) => {
          const row = await second.opened.writes.readRecord(where);
          return second.steps.length === 0 ? insert : row;
        },
      },
      outbox: second.opened.log,
      allocator: {
        allocateMessage: () => Promise.reject(new Error('not asked')),
        allocateEvent: async () => ({ seq: 9n, lastActivityId: activity(tied) }),
      },
      sealer: mine.sealer,
      heads: { revise: async () => true },
      clock: second.clock,
      watchStep: (_, step) => void (step === 'log' && second.steps.push(step)),
    });
    const { lastActivityId: raised } = await editor.edit({ ...target, payload: bytes('mine') });
    expect(revisionMicros(raised)).toBeGreaterThan(revisionMicros(lastActivityId));
    const edits = (await logged(first.opened.log)).filter((record) => record.kind === 'edit');
    expect(edits).toHaveLength(3);
    expect(edits[2]?.eventId).toBe(edits[1]?.eventId);
    const row = await rowOf(first, target);
    expect(hex(row?.payload)).toBe(hex(edits[2]?.payload));
    expect(hex(row?.editedAtActivityId)).toBe(hex(edits[2]?.lastActivityId));
  });

  it('that another’s write in the same microsecond mixed with its own is seen as not shown', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const { lastActivityId } = await process.writer.edit({ ...target, payload: bytes('mine') });
    const row = await rowOf(process, target);
    if (row?.payload === undefined) throw new Error('no row');
    expect(isEditShown(row, { payload: row.payload, dekId: row.dekId, lastActivityId })).toBe(true);
    expect(isEditShown(row, { payload: bytes('other'), dekId: row.dekId, lastActivityId })).toBe(false);
    expect(isEditShown(row, { payload: row.payload, dekId: undefined, lastActivityId })).toBe(false);
  });

  it('shows in the head only while the message is the last', async () => {
    const process = await writingProcess();
    const where = chat();
    const first = await committed(process, where, { preview: bytes('one') });
    await process.writer.headsIdle();
    await process.writer.edit({ ...first, payload: bytes('1'), preview: bytes('ONE') });
    expect(await previewText(process, where)).toBe('ONE');
    await committed(process, where, { preview: bytes('two') });
    await process.writer.headsIdle();
    await process.writer.edit({ ...first, payload: bytes('1'), preview: bytes('oNe') });
    expect(await previewText(process, where)).toBe('two');
  });
});

describe('recall', () => {
  it('sets state, event and revision, keeps the row’s content until its end (R5.4), and is repeatable', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const acknowledged = await process.writer.recall(target);
    expect(await rowOf(process, target)).toMatchObject({
      state: MessageState.RECALLED,
      recallEventSeq: acknowledged.eventSeq,
    });
    expect(await textOf(process, target)).toBe('hello');
    const again = await process.writer.recall(target);
    expect(again.eventSeq).toBe(acknowledged.eventSeq);
    expect(hex(again.lastActivityId)).toBe(hex(acknowledged.lastActivityId));
    expect(await logged(process.opened.log)).toHaveLength(2);
  });

  it('D12: replaces the head’s preview, by the placeholder or by none, also from another process', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const one = await committed(first, where, { preview: bytes('secret') });
    await first.writer.headsIdle();
    await second.writer.recall({ ...one, placeholder: bytes('recalled') });
    expect(await previewText(first, where)).toBe('recalled');
    const two = await committed(first, where, { preview: bytes('secret too') });
    await first.writer.headsIdle();
    expect(await previewText(first, where)).toBe('secret too');
    await second.writer.recall(two);
    expect(await previewText(first, where)).toBeUndefined();
  });

  it('stays when an edit that had read the row before it is written after it', async () => {
    const [first, second] = await twoProcesses();
    const target = await committed(first, chat());
    first.after('edit', 'log', async () => void (await second.writer.recall(target)));
    await first.writer.edit({ ...target, payload: bytes('too late') });
    const row = await rowOf(first, target);
    if (row === undefined) throw new Error('no row');
    expect(effectiveState(row)).toBe(MessageState.RECALLED);
  });

  it('repeats event and row above an edit that got a higher revision, so that no cache’s floor is too low', async () => {
    const [first, second] = await twoProcesses();
    const target = await committed(first, chat());
    first.after('recall', 'log', async () => {
      first.clock.ms += 10;
      await second.writer.edit({ ...target, payload: bytes('meanwhile') });
    });
    const { lastActivityId, eventSeq } = await first.writer.recall(target);
    const row = await rowOf(first, target);
    expect(row).toMatchObject({ state: MessageState.RECALLED, recallEventSeq: eventSeq });
    expect(hex(row?.lastActivityId)).toBe(hex(lastActivityId));
    const records = await logged(first.opened.log);
    const recalls = records.filter((record) => record.kind === 'recall');
    expect(recalls).toHaveLength(2);
    expect(recalls[0]?.eventId).toBe(recalls[1]?.eventId);
    expect(hex(recalls[1]?.lastActivityId)).toBe(hex(lastActivityId));
    const edit = records.find((record) => record.kind === 'edit');
    expect(edit && compareIdAt(lastActivityId, 0, edit.lastActivityId, 0)).toBeGreaterThan(0);
  });

  it('gives up after a bounded number of attempts: STORE_UNAVAILABLE', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    // A store that acknowledges and forgets: a fault that the real one cannot be made to show.
    process.opened.store.recallRecord = async () => undefined;
    await expect(process.writer.recall(target)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    process.opened.store.editRecord = async () => undefined;
    await expect(process.writer.edit({ ...target, payload: bytes('x') })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });
});
