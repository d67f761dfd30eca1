// Writers that meet at their worst moments: retries beside a rotation, take-overs at once, holds under dying events.
import { describe, expect, it } from 'vitest';
import { Archiver } from '../../src/archive/archiver.js';
import { conversationKeyId } from '../../src/crypto/conversation-key.js';
import type { MessageId } from '../../src/domain/ids.js';
import { MessageState, RetentionClass } from '../../src/domain/message.js';
import type { WriteStore } from '../../src/domain/write-ports.js';
import { CountedEpochs } from '../../src/write/head-epochs.js';
import { HeadWriter, type HeadWriterOptions } from '../../src/write/heads.js';
import { insertMicros } from '../../src/write/message-ids.js';
import { Retention } from '../../src/write/retention.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { message, user } from '../stores/fixtures.js';
import {
  bytes,
  Crash,
  chat,
  committed,
  messageIn,
  previewText,
  rowOf,
  targetOf,
  textOf,
  twoProcesses,
  type WritingProcess,
  writingProcess,
} from './write-fixtures.js';

const ROUNDS = 8;
const unstopped = () => new AbortController().signal;

async function archiveAll({ opened, clock }: WritingProcess): Promise<void> {
  const archiver = new Archiver({
    messages: opened.store,
    writes: opened.writes,
    retention: new Retention(NO_POLICIES, () => {}),
    clock,
    log: opened.log,
    group: 'archive',
    parking: { park: async () => 0 },
    rowBytesMax: 1 << 24,
    sleep: async () => {},
    random: Math.random,
  });
  await archiver.run(unstopped(), await opened.log.ends());
}

/** Two processes, the first of which remembers version 1 of a conversation's key while the second rotates it. */
async function besideRotation(record: 'sync' | 'archive') {
  const [first, second] = await twoProcesses({ record });
  const where = chat();
  await first.writer.commit(messageIn(where));
  first.clock.ms += 1000;
  await second.keys.rotate('conversation', conversationKeyId(where.tenantId, where.conversationId));
  first.clock.ms += 1000;
  return { first, second, where, given: messageIn(where, { payload: bytes('hello') }) };
}

describe('a retry by another process right after a key rotation opens like its first attempt (D16)', () => {
  it('record = archive: both attempts are in the log, and the archiver writes both', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { first, second, where, given } = await besideRotation('archive');
      first.crashAfter('commit', 'log');
      await expect(first.writer.commit(given)).rejects.toThrow(Crash);
      const acknowledged = await second.writer.commit(given);
      await archiveAll(second);
      expect(await textOf(second, targetOf(where, acknowledged))).toBe('hello');
    }
  });

  it('record = sync: the first attempt is slow, not dead', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { first, second, where, given } = await besideRotation('sync');
      let retried: { seq: bigint; messageId: MessageId } | undefined;
      first.after('commit', 'seal', async () => {
        retried = await second.writer.commit(given);
      });
      const acknowledged = await first.writer.commit(given);
      expect(retried).toMatchObject({ seq: acknowledged.seq, messageId: acknowledged.messageId });
      expect(await textOf(second, targetOf(where, acknowledged))).toBe('hello');
    }
  });
});

it('D14: a slow first attempt whose INSERT lands after the recall of its retry does not undo it', async () => {
  const [first, second] = await twoProcesses();
  const where = chat();
  const given = messageIn(where);
  first.after('commit', 'seal', async () => {
    const acknowledged = await second.writer.commit(given);
    second.clock.ms += 5_000;
    await second.writer.recall(targetOf(where, acknowledged));
  });
  const acknowledged = await first.writer.commit(given);
  const row = await rowOf(second, targetOf(where, acknowledged));
  expect(row).toMatchObject({ state: MessageState.RECALLED });
  expect(insertMicros(row?.createdAtMs ?? 0n)).toBe((row?.createdAtMs ?? 0n) * 1000n);
});

function headWriter({ opened, sealer, clock }: WritingProcess, over: Partial<HeadWriterOptions> = {}) {
  const alerts: string[] = [];
  const epochs = new CountedEpochs(opened.writes, clock);
  const onAlert = (alert: string) => alerts.push(alert);
  const heads = new HeadWriter({
    store: opened.writes,
    epochs,
    sealer,
    clock,
    onAlert,
    pause: async () => {},
    ...over,
  });
  return { heads, alerts };
}

describe('heads', () => {
  it('B49: of two take-overs at once the newer head stays, whoever got the higher epoch', async () => {
    const process = await writingProcess();
    const where = chat();
    const update = (seq: bigint) => ({
      ...where,
      seq,
      messageId: message(),
      senderId: user(),
      preview: undefined,
      createdAtMs: 1n,
      isRepeated: false,
    });
    const other = headWriter(process);
    const counted = new CountedEpochs(process.opened.writes, process.clock);
    const { heads, alerts } = headWriter(process, {
      epochs: {
        acquire: async (...where) => {
          const epoch = await counted.acquire(...where);
          other.heads.update(update(12n));
          await other.heads.idle();
          return epoch;
        },
      },
    });
    heads.update(update(13n));
    await heads.idle();
    const head = await process.opened.writes.readHead(where.tenantId, where.conversationId);
    expect([head?.latestSeq, alerts]).toEqual([13n, []]);
  });

  it('D12: a recall that comes before its commit has reached the head keeps that commit from showing its preview', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    await committed(first, where, { preview: bytes('older') });
    await first.writer.headsIdle();
    // The commit's head is on its way while another process recalls the message.
    const { writes } = first.opened;
    const writeHead = writes.writeHead.bind(writes);
    let arrived!: () => void;
    let go!: () => void;
    const onItsWay = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    writes.writeHead = async (...args: Parameters<WriteStore['writeHead']>) => {
      arrived();
      await held;
      return writeHead(...args);
    };
    const last = await committed(first, where, { preview: bytes('secret') });
    await onItsWay;
    first.clock.ms += 1000;
    await second.writer.recall(last);
    await second.writer.headsIdle();
    go();
    await first.writer.headsIdle();
    expect(await previewText(second, where)).toBeUndefined();
    const head = await writes.readHead(where.tenantId, where.conversationId);
    expect(head).toMatchObject({ latestSeq: last.seq });
  });

  it('D12: a commit that is repeated after its message was recalled does not show its preview', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const given = messageIn(where, { preview: bytes('secret') });
    first.crashAfter('commit', 'complete');
    await expect(first.writer.commit(given)).rejects.toThrow(Crash);
    const row = await rowOf(first, { ...where, seq: 1n });
    await second.writer.recall({ ...where, seq: 1n, messageId: row?.messageId as MessageId });
    await first.writer.commit(given);
    await Promise.all([first.writer.headsIdle(), second.writer.headsIdle()]);
    expect(await previewText(second, where)).toBeUndefined();
  });

  it('D12: a recalled last message leaves the preview also where another process wrote it and another recall waits', async () => {
    const [first, second] = await twoProcesses();
    const where = chat();
    const older = await committed(first, where, { preview: bytes('older') });
    const last = await committed(first, where, { preview: bytes('last') });
    await first.writer.headsIdle();
    first.clock.ms += 1000;
    await second.writer.edit({ ...last, payload: bytes('e'), preview: bytes('edited secret') });
    await second.writer.headsIdle();
    first.clock.ms += 1000;
    expect(await previewText(second, where)).toBe('edited secret');
    // While the first writes the head, the recall of an older message queues its own change behind it.
    const { writes } = first.opened;
    const writeHead = writes.writeHead.bind(writes);
    let olderRecall: Promise<unknown> | undefined;
    writes.writeHead = async (...args: Parameters<WriteStore['writeHead']>) => {
      if (olderRecall === undefined) {
        const queued = new Promise<void>((resolve) => {
          first.after('recall', 'row', async () => resolve());
        });
        olderRecall = first.writer.recall(older);
        await queued;
        await new Promise(setImmediate);
      }
      return writeHead(...args);
    };
    await first.writer.recall(last);
    await olderRecall;
    await first.writer.headsIdle();
    expect(await rowOf(second, last)).toMatchObject({ state: MessageState.RECALLED });
    expect(await previewText(second, where)).toBeUndefined();
  });
});

it.each(['recall', 'edit'] as const)(
  'S-5: a hold placed under a %s whose writer then dies is whole again after recovery, and outlives the TTL',
  async (operation) => {
    const [first, second] = await twoProcesses({ retention: { defaultSeconds: 30, tenants: new Map() } });
    const target = await committed(first, chat());
    first.clock.ms += 1000;
    first.after(operation, 'log', async () => {
      await second.writer.placeHold(target);
    });
    // Dies after the row was written, before it is read back.
    const { writes } = first.opened;
    const readRecord = writes.readRecord.bind(writes);
    let reads = 0;
    writes.readRecord = async (where) => {
      if (reads++ > 0) throw new Crash('dead');
      return readRecord(where);
    };
    const dying =
      operation === 'recall'
        ? first.writer.recall(target)
        : first.writer.edit({ ...target, payload: bytes('edited') });
    await expect(dying).rejects.toThrow(Crash);
    await second.writer.recover(second.opened.log, unstopped());
    second.clock.ms += 40_000;
    expect(await rowOf(second, target)).toMatchObject({ retentionClass: RetentionClass.COMPLIANCE_HOLD });
  },
);

it('D17: a checkpoint beyond the log, which was made anew, hides no event', async () => {
  const process = await writingProcess();
  const target = await committed(process, chat());
  await process.opened.writes.saveCheckpoint('recovery', '0:1000');
  process.crashAfter('recall', 'log');
  await expect(process.writer.recall(target)).rejects.toThrow(Crash);
  await process.writer.recover(process.opened.log, unstopped());
  expect(await rowOf(process, target)).toMatchObject({ state: MessageState.RECALLED });
});
