/**
 * Writers that meet on one row in the same moment, or whose statements arrive when they are given up already (D14, D20).
 * The store is the real embedded one; calls are held, or fail after they were sent.
 */
import { expect, it } from 'vitest';
import { Advancer } from '../../src/archive/advancer.js';
import { Archiver, type ArchiverOptions } from '../../src/archive/archiver.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { compareIdAt } from '../../src/domain/ids.js';
import { ADVANCE_SETTLE_MS_DEFAULT } from '../../src/domain/limits.js';
import { effectiveState, MessageState, RetentionClass } from '../../src/domain/message.js';
import type { MessageStore } from '../../src/domain/ports.js';
import { Retention } from '../../src/write/retention.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { gate } from './head-fixtures.js';
import {
  bytes,
  Crash,
  chat,
  committed,
  logged,
  messageIn,
  previewText,
  rowOf,
  textOf,
  twoProcesses,
  type WritingProcess,
  writingProcess,
} from './write-fixtures.js';

const unstopped = (): AbortSignal => new AbortController().signal;
const HOUR_MS = 3_600_000;
let groups = 0;

async function archiveAll(
  { opened, clock }: WritingProcess,
  messages: ArchiverOptions['messages'] = opened.store,
): Promise<void> {
  const archiver = new Archiver({
    messages,
    writes: opened.writes,
    retention: new Retention(NO_POLICIES, () => undefined),
    clock,
    log: opened.log,
    group: `late writes ${groups++}`,
    parking: { park: async () => 0 },
    rowBytesMax: 1 << 24,
    sleep: async () => undefined,
    random: Math.random,
  });
  await archiver.run(unstopped(), await opened.log.ends());
}

/** The store with some calls of its own. */
function storeWith(store: MessageStore, over: Partial<MessageStore>): MessageStore {
  return new Proxy(store, {
    get: (target, name: keyof MessageStore) => over[name] ?? target[name].bind(target),
  });
}

/** A process, and one beside it on the same files and clock whose store has some calls of its own. */
async function withMeeting(over: (other: WritingProcess) => Partial<MessageStore>) {
  const [directory, clock] = [temporaryDirectory(), new SetClock()];
  const other = await writingProcess({ directory, clock });
  const messages = storeWith(other.opened.store, over(other));
  return [other, await writingProcess({ directory, clock, messages })] as const;
}

it('D14: an edit and a recall of one process in the same millisecond end RECALLED, above both, without a preview', async () => {
  const process = await writingProcess();
  const where = chat();
  const target = await committed(process, where, { preview: bytes('first') });
  await process.writer.headsIdle();
  process.clock.ms += 10;
  const assigned = gate();
  let recalled: Promise<unknown> | undefined;
  process.after('recall', 'assign', () => assigned.pass());
  process.after('edit', 'read', async () => {
    process.clock.ms += 1;
    recalled = process.writer.recall(target);
    await assigned.reached;
  });
  const edited = await process.writer.edit({ ...target, payload: bytes('edited'), preview: bytes('edited') });
  assigned.open();
  await recalled;
  await process.writer.recover(process.opened.log, unstopped());
  await process.writer.headsIdle();
  const row = await rowOf(process, target);
  if (row?.lastActivityId === undefined) throw new Error('no row');
  expect(effectiveState(row)).toBe(MessageState.RECALLED);
  expect(compareIdAt(row.lastActivityId, 0, edited.lastActivityId, 0)).toBeGreaterThan(0);
  expect(await previewText(process, where)).toBeUndefined();
});

it('D20: an archiver that finds a hold beside its older edit leaves the newer one, which was acknowledged', async () => {
  const [first, second] = await twoProcesses();
  const target = await committed(first, chat());
  first.clock.ms += 10;
  first.crashAfter('edit', 'log');
  await expect(first.writer.edit({ ...target, payload: bytes('older') })).rejects.toThrow(Crash);
  first.clock.ms += 10;
  const { store } = first.opened;
  let edits = 0;
  const meeting = storeWith(store, {
    editRecord: async (...given) => {
      await store.editRecord(...given);
      if (edits++ > 0) return;
      await second.writer.edit({ ...target, payload: bytes('newer') });
      await second.writer.placeHold(target);
      await second.writer.recover(second.opened.log, unstopped());
    },
  });
  await archiveAll(first, meeting);
  await archiveAll(first);
  await second.writer.recover(second.opened.log, unstopped());
  expect(await textOf(first, target)).toBe('newer');
  expect(await rowOf(first, target)).toMatchObject({ retentionClass: RetentionClass.COMPLIANCE_HOLD });
  expect((await rowOf(first, target))?.ttlSeconds).toBeUndefined();
});

it.each(['recovery', 'the archiver', 'another lift'] as const)(
  'D8, D20: of an edit that met a lifted hold, its writer dead, %s leaves no column that never expires',
  async (who) => {
    const [other, dying] = await withMeeting(({ opened, writer }) => ({
      editRecord: async (...given) => {
        await writer.liftHold(target, RetentionClass.DEFAULT);
        await opened.store.editRecord(...given);
        throw new Crash('died');
      },
    }));
    const target = await committed(other, chat());
    await other.writer.placeHold(target);
    other.clock.ms += 10;
    await expect(dying.writer.edit({ ...target, payload: bytes('edited') })).rejects.toThrow(Crash);
    expect(await rowOf(other, target)).toMatchObject({ lastsInPart: true });
    if (who === 'recovery') await other.writer.recover(other.opened.log, unstopped());
    else if (who === 'the archiver') await archiveAll(other);
    else await other.writer.liftHold(target, RetentionClass.DEFAULT);
    const row = await rowOf(other, target);
    expect([row?.lastsInPart, row?.retentionClass]).toEqual([undefined, RetentionClass.DEFAULT]);
    expect(row?.ttlSeconds).toBeGreaterThan(0);
    expect(await textOf(other, target)).toBe('edited');
  },
);

it('S-5: a lift that failed and arrives late does not undo a hold that was placed since', async () => {
  let arrive: (() => Promise<void>) | undefined;
  const [other, slow] = await withMeeting(({ opened }) => ({
    insertRecord: async (...given) => {
      arrive = () => opened.store.insertRecord(...given);
      throw new MailjoinError('STORE_UNAVAILABLE');
    },
  }));
  const target = await committed(other, chat());
  await other.writer.placeHold(target);
  await expect(slow.writer.liftHold(target, RetentionClass.DEFAULT)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  });
  await other.writer.placeHold(target);
  await arrive?.();
  const row = await rowOf(other, target);
  expect(row?.retentionClass).toBe(RetentionClass.COMPLIANCE_HOLD);
  expect(row?.ttlSeconds).toBeUndefined();
});

it('S-5, B15: a commit’s retry logs the message as it was committed, whatever hold its row has got since', async () => {
  const [first, second] = await twoProcesses();
  const where = chat();
  const given = messageIn(where);
  first.crashAfter('commit', 'record');
  await expect(first.writer.commit(given)).rejects.toThrow(Crash);
  const [found] = await first.opened.writes.readBucket(where.tenantId, where.conversationId, 0n);
  if (found === undefined) throw new Error('no row');
  const target = { ...where, seq: found.seq, messageId: found.messageId };
  await second.writer.placeHold(target);
  await second.writer.commit(given);
  const records = await logged(first.opened.log);
  expect(records.map((record) => record.kind === 'message' && record.record)).toMatchObject([
    { retentionClass: RetentionClass.DEFAULT, lastActivityId: Buffer.from(found.messageId) },
  ]);
});

it('R3.5: what a writer commits after a pause does not lie below E, which another one’s messages have advanced', async () => {
  const [paused, other] = await twoProcesses();
  const where = chat();
  const ephemeral = { retentionClass: RetentionClass.EPHEMERAL_24H };
  await committed(paused, where, ephemeral);
  await committed(other, where, ephemeral);
  paused.clock.ms += 25 * HOUR_MS;
  const living = await committed(other, where, ephemeral);
  await other.writer.headsIdle();
  paused.clock.ms += 2 * HOUR_MS;
  const { writes } = other.opened;
  const advancer = new Advancer({
    writes,
    clock: other.clock,
    settleMs: ADVANCE_SETTLE_MS_DEFAULT,
    conversationsMax: 100,
    bucketsMax: 64,
  });
  await advancer.run(unstopped());
  const { earliestAvailableSeq } = (await writes.readHead(where.tenantId, where.conversationId)) ?? {};
  expect(earliestAvailableSeq).toBe(living.seq);
  const { seq } = await committed(paused, where, ephemeral);
  expect(seq).toBeGreaterThan(living.seq);
});
