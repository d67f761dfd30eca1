import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  LOG_RECORD_OVERHEAD_BYTES,
  PAYLOAD_BYTES_MAX,
  THUMBNAIL_BYTES_MAX,
} from '../../src/domain/limits.js';
import { MessageState, RetentionClass } from '../../src/domain/message.js';
import { DedupState, type Outbox } from '../../src/domain/write-ports.js';
import type { MessageToCommit } from '../../src/write/message-to-commit.js';
import { user } from '../stores/fixtures.js';
import {
  allocatorOf,
  bytes,
  chat,
  committed,
  hex,
  logged,
  messageIn,
  rowOf,
  targetOf,
  textOf,
  twoProcesses,
  type WritingProcess,
  writingProcess,
} from './write-fixtures.js';

/** Protobuf field 7 of MediaMetadata. */
function thumbnail(length: number): Uint8Array {
  return Buffer.concat([
    Buffer.from([0x3a, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]),
    Buffer.alloc(length),
  ]);
}

async function nothingWritten(process: WritingProcess, given: MessageToCommit): Promise<void> {
  const { opened } = process;
  expect(await opened.log.ends()).toEqual([{ partition: 0, offset: 0n }]);
  expect(await opened.writes.read(given.tenantId, given.senderId, given.clientMessageId)).toBeUndefined();
}

describe('commit refuses, before anything is written', () => {
  const short = randomBytes(15);
  const big = (length: number): Partial<MessageToCommit> => ({ payload: Buffer.alloc(length) });
  it.each<[string, Partial<MessageToCommit>, string]>([
    [
      'a tenant id of 15 bytes',
      { tenantId: short as unknown as MessageToCommit['tenantId'] },
      'MESSAGE_INVALID',
    ],
    ['a sender id of 15 bytes', { senderId: user(short) }, 'MESSAGE_INVALID'],
    ['a device id of 15 bytes', { senderDeviceId: user(short) }, 'MESSAGE_INVALID'],
    ['an empty client_message_id', { clientMessageId: '' }, 'MESSAGE_INVALID'],
    ['a client_message_id of 256 bytes', { clientMessageId: 'é'.repeat(128) }, 'MESSAGE_INVALID'],
    ['a client_message_id with half a character', { clientMessageId: 'x\ud800' }, 'MESSAGE_INVALID'],
    ['a custom_type of 256 bytes', { customType: 'x'.repeat(256) }, 'MESSAGE_INVALID'],
    ['a message_type of 128', { messageType: 128 }, 'MESSAGE_INVALID'],
    ['a schema_version of 2^31', { schemaVersion: 2 ** 31 }, 'MESSAGE_INVALID'],
    ['a broken schema_version', { schemaVersion: 0.5 }, 'MESSAGE_INVALID'],
    ['a retention_class that is none', { retentionClass: 4 }, 'MESSAGE_INVALID'],
    ['mentions that are no Protobuf', { mentionTargets: Buffer.from([0x0a, 0xff]) }, 'MESSAGE_INVALID'],
    [
      'a mention of 15 bytes',
      { mentionTargets: Buffer.concat([Buffer.from([0x0a, 15]), short]) },
      'MESSAGE_INVALID',
    ],
    [
      'R5.3: a thumbnail above 32 KiB',
      { mediaMetadata: thumbnail(THUMBNAIL_BYTES_MAX + 1) },
      'MESSAGE_TOO_LARGE',
    ],
    ['media that are cut', { mediaMetadata: thumbnail(20_000).subarray(0, 100) }, 'MESSAGE_INVALID'],
    ['a preview above its bound', { preview: Buffer.alloc(4097) }, 'MESSAGE_TOO_LARGE'],
    ['S-2: a reply to seq 2^63', { replyToSeq: 2n ** 63n }, 'SEQ_RANGE'],
    ['B50: a payload of 16 MiB and one byte', big(PAYLOAD_BYTES_MAX + 1), 'MESSAGE_TOO_LARGE'],
  ])('%s', async (_, over, code) => {
    const process = await writingProcess();
    const given = messageIn(chat(), over);
    await expect(process.writer.commit(given)).rejects.toMatchObject({ code });
    expect(process.steps).toEqual([]);
  });

  it('B50: a message whose log record would be too large, alone among its neighbours', async () => {
    const small = await writingProcess();
    const outbox: Outbox = {
      recordBytesMax: 1024 * 1024,
      append: (record) => small.opened.log.append(record),
      close: async () => undefined,
    };
    const process = await writingProcess({ outbox });
    const where = chat();
    const given = [1024, 2 * 1024 * 1024, 1024].map((length) => messageIn(where, big(length)));
    const settled = await Promise.allSettled(given.map((one) => process.writer.commit(one)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { code: 'MESSAGE_TOO_LARGE' } });
    expect(
      await process.opened.writes.read(
        where.tenantId,
        where.senderId,
        (given[1] as MessageToCommit).clientMessageId,
      ),
    ).toBeUndefined();
    expect(await logged(small.opened.log)).toHaveLength(2);
  });

  it('R1.1, S-2: a seq of 2^63 that was computed inside, with nothing written', async () => {
    const process = await writingProcess({ allocator: allocatorOf(2n ** 63n) });
    const given = messageIn(chat());
    await expect(process.writer.commit(given)).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
    await nothingWritten(process, given);
  });

  it('a preview where there is no data key (D22)', async () => {
    const sealer = {
      keyAt: async () => undefined,
      sealPayload: () => Promise.reject(new Error('not asked')),
      sealPreview: () => Promise.reject(new Error('not asked')),
    };
    const process = await writingProcess({ sealer });
    const given = messageIn(chat(), { preview: bytes('hel') });
    await expect(process.writer.commit(given)).rejects.toMatchObject({ code: 'MESSAGE_INVALID' });
    const target = await committed(process, chat());
    expect(hex((await rowOf(process, target))?.payload)).toBe(hex(bytes('hello')));
  });
});

describe('commit', () => {
  it('takes what fits exactly (B50)', async () => {
    const outer = await writingProcess();
    const recordBytesMax = 4096;
    const outbox: Outbox = {
      ...outer.opened.log,
      recordBytesMax,
      append: (record) => outer.opened.log.append(record),
      close: async () => undefined,
    };
    const process = await writingProcess({ outbox });
    const payload = Buffer.alloc(recordBytesMax - LOG_RECORD_OVERHEAD_BYTES - 41);
    await process.writer.commit(messageIn(chat(), { payload }));
    const texts = {
      clientMessageId: 'x'.repeat(255),
      customType: 'y'.repeat(255),
      senderDeviceId: user(),
      replyToSeq: 2n ** 62n,
    };
    await expect(process.writer.commit(messageIn(chat(), { payload, ...texts }))).resolves.toBeDefined();
    await expect(
      process.writer.commit(messageIn(chat(), { payload: Buffer.alloc(payload.length + 1) })),
    ).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  });

  it('goes through its steps in the order of R5.1', async () => {
    const process = await writingProcess();
    await process.writer.commit(messageIn(chat()));
    expect(process.steps).toEqual(
      ['validate', 'assign', 'reserve', 'seal', 'record', 'log', 'complete'].map((step) => `commit ${step}`),
    );
  });

  it('writes row, index, log record, dedup row and head', async () => {
    const process = await writingProcess();
    const where = chat();
    const given = messageIn(where, {
      senderDeviceId: user(),
      messageType: 7,
      customType: 'app.poll',
      schemaVersion: 2,
      mediaMetadata: thumbnail(20_000),
      replyToSeq: 3n,
      mentionTargets: Buffer.concat([Buffer.from([0x0a, 16]), randomBytes(16), Buffer.from([0x10, 1])]),
      preview: bytes('hel'),
      retentionClass: RetentionClass.EPHEMERAL_24H,
    });
    const acknowledged = await process.writer.commit(given);
    const target = targetOf(where, acknowledged);
    const row = await rowOf(process, target);
    const { payload: _, ...fields } = { ...row };
    expect(fields).toEqual({
      seq: 1n,
      messageId: Buffer.from(acknowledged.messageId),
      lastActivityId: Buffer.from(acknowledged.messageId),
      senderId: Buffer.from(where.senderId),
      senderDeviceId: Buffer.from(given.senderDeviceId as Uint8Array),
      clientMessageId: given.clientMessageId,
      messageType: 7,
      customType: 'app.poll',
      schemaVersion: 2,
      mediaMetadata: Buffer.from(given.mediaMetadata as Uint8Array),
      replyToSeq: 3n,
      mentionTargets: Buffer.from(given.mentionTargets as Uint8Array),
      state: MessageState.NORMAL,
      recallEventSeq: undefined,
      editedAtActivityId: undefined,
      createdAtMs: BigInt(process.clock.ms),
      retentionClass: RetentionClass.EPHEMERAL_24H,
      dekId: row?.dekId,
      ttlSeconds: 86_400,
    });
    expect(await textOf(process, target)).toBe('hello');
    expect(await process.opened.writes.lookup(where.tenantId, target.messageId)).toMatchObject({ seq: 1n });
    const [record] = await logged(process.opened.log);
    expect(record).toMatchObject({
      kind: 'message',
      record: { seq: 1n, clientMessageId: given.clientMessageId },
    });
    if (record?.kind !== 'message') throw new Error('no message');
    expect(hex(record.record.payload)).toBe(hex(row?.payload));
    const dedup = await process.opened.writes.read(where.tenantId, where.senderId, given.clientMessageId);
    expect(dedup).toMatchObject({ seq: 1n, state: DedupState.COMMITTED });
    await process.writer.headsIdle();
    expect(await process.opened.writes.readHead(where.tenantId, where.conversationId)).toMatchObject({
      latestSeq: 1n,
    });
  });

  it('leaves row and index to the archiver with record = archive (D15)', async () => {
    const process = await writingProcess({ record: 'archive' });
    const where = chat();
    const target = await committed(process, where);
    expect(await rowOf(process, target)).toBeUndefined();
    expect(await process.opened.writes.lookup(where.tenantId, target.messageId)).toBeUndefined();
    expect(await logged(process.opened.log)).toHaveLength(1);
  });

  it('S-2: takes seqs 2^62 − 1, 2^62, 2^62 + 1 and 2^63 − 1, and their rows lie in that order', async () => {
    const seqs = [2n ** 62n - 1n, 2n ** 62n, 2n ** 62n + 1n, 2n ** 63n - 1n];
    const process = await writingProcess({ allocator: allocatorOf(...seqs) });
    const where = chat();
    for (const seq of seqs) expect((await process.writer.commit(messageIn(where))).seq).toBe(seq);
    const rows = await process.opened.writes.readBucket(
      where.tenantId,
      where.conversationId,
      (2n ** 62n) >> 12n,
    );
    expect(rows.map(({ seq }) => seq)).toEqual([2n ** 62n, 2n ** 62n + 1n]);
    for (const seq of seqs) expect(await rowOf(process, { ...where, seq })).toMatchObject({ seq });
    await process.writer.headsIdle();
    expect(await process.opened.writes.readHead(where.tenantId, where.conversationId)).toMatchObject({
      latestSeq: 2n ** 63n - 1n,
    });
  });

  it('B10: many commits at once get distinct seqs, and ids that rise with them', async () => {
    const processes = await twoProcesses();
    const where = chat();
    const acknowledged = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (processes[index % 2] as WritingProcess).writer.commit(messageIn(where)),
      ),
    );
    expect(new Set(acknowledged.map(({ seq }) => seq)).size).toBe(60);
    for (const half of [0, 1]) {
      const own = acknowledged.filter((_, index) => index % 2 === half).sort((a, b) => Number(a.seq - b.seq));
      const ids = own.map(({ messageId }) => hex(messageId) as string);
      expect(ids).toEqual([...ids].sort());
    }
  });
});
