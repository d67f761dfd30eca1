/** The archiver on the embedded store and log: what goes wrong first, then what it writes (R3.3, D14, D15). */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encodeLogRecord, type LogRecord } from '../../src/codec/log-record.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { LOG_RECORD_BYTES_MAX } from '../../src/domain/limits.js';
import { effectiveState, MessageState, RetentionClass } from '../../src/domain/message.js';
import type { OpenedEmbedded } from '../../src/embedded/open-embedded.js';
import { HoldKeeper } from '../../src/write/holds.js';
import { Retention } from '../../src/write/retention.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { message, plain } from '../stores/fixtures.js';
import {
  append,
  appendAll,
  archiverOn,
  type Chat,
  chat,
  editOf,
  KeptParking,
  messageAt,
  pagedLog,
  recallOf,
  type StorePorts,
  unstopped,
} from './archive-fixtures.js';

interface Place {
  readonly opened: OpenedEmbedded;
  readonly clock: SetClock;
  readonly ports: StorePorts;
  readonly nowMs: bigint;
  readonly where: Chat;
}

async function openPlace(): Promise<Place> {
  const clock = new SetClock();
  const opened = await openFor(temporaryDirectory(), clock);
  const ports = { messages: opened.store, writes: opened.writes, clock };
  return { opened, clock, ports, nowMs: BigInt(clock.ms), where: chat() };
}

const DAY_MS = 86_400_000n;

/** Archives what the real log holds. */
async function archiveAll({ opened, ports }: Place, over: Parameters<typeof archiverOn>[2] = {}) {
  const archiver = archiverOn(ports, opened.log, over);
  await archiver.run(unstopped(), await opened.log.ends());
  return archiver.totals();
}

function rowAt({ opened, where }: Place, seq: bigint) {
  return opened.writes.readRecord({ ...where, seq });
}

describe('a store that fails', () => {
  it('delays a record and never skips it; nothing is committed before row and index are written', async () => {
    const place = await openPlace();
    const first = messageAt(place.where, 1n, place.nowMs);
    await append(place.opened.log, first);
    const failures: string[] = [];
    let left = 3;
    const flaky = (): void => {
      if (left-- > 0) throw new MailjoinError('STORE_UNAVAILABLE');
    };
    const { store, writes } = place.opened;
    const ports: StorePorts = {
      ...place.ports,
      messages: {
        insertRecord: async (...args) => {
          flaky();
          await store.insertRecord(...args);
        },
        editRecord: (...args) => store.editRecord(...args),
        recallRecord: (...args) => store.recallRecord(...args),
      },
      writes: {
        readRecord: (where) => writes.readRecord(where),
        putIndex: async (...args) => {
          if (left < 0 && failures.length === 3) left = 2;
          flaky();
          await writes.putIndex(...args);
        },
      },
    };
    const totals = await archiveAll({ ...place, ports }, { onRetry: (code) => failures.push(code) });
    expect(failures).toEqual(Array(5).fill('STORE_UNAVAILABLE'));
    expect(totals).toMatchObject({ messages: 1, retries: 5, parked: 0 });
    expect(plain(await rowAt(place, 1n))).toEqual(plain(first.record));
    expect(await writes.lookup(place.where.tenantId, first.record.messageId)).toMatchObject({ seq: 1n });
  });

  it('is waited for until the stop, which leaves the batch to the next run', async () => {
    const place = await openPlace();
    await append(place.opened.log, messageAt(place.where, 1n, place.nowMs));
    const stop = new AbortController();
    const failing = { insertRecord: () => Promise.reject(new MailjoinError('STORE_UNAVAILABLE')) };
    const archiver = archiverOn(
      {
        ...place.ports,
        messages: { ...failing, editRecord: failing.insertRecord, recallRecord: failing.insertRecord },
      },
      place.opened.log,
      { onRetry: () => stop.abort() },
    );
    await archiver.run(stop.signal);
    expect(archiver.totals()).toMatchObject({ records: 0, retries: 1 });
    expect(await archiveAll(place)).toMatchObject({ records: 1, messages: 1 });
  });

  it('a refusal without any row that it took is a failing store’s, not the record’s', async () => {
    const place = await openPlace();
    await append(place.opened.log, messageAt(place.where, 1n, place.nowMs));
    let refusals = 0;
    const { store } = place.opened;
    const messages: StorePorts['messages'] = {
      insertRecord: async (...args) => {
        if (refusals++ < 4) throw new MailjoinError('STORE_REFUSED');
        await store.insertRecord(...args);
      },
      editRecord: (...args) => store.editRecord(...args),
      recallRecord: (...args) => store.recallRecord(...args),
    };
    const totals = await archiveAll({ ...place, ports: { ...place.ports, messages } });
    expect(totals).toMatchObject({ messages: 1, parked: 0, retries: 4 });
  });

  it('a record that it refuses while it takes others is parked, and its neighbours are kept', async () => {
    const place = await openPlace();
    const messages = [1n, 2n, 3n].map((seq) => messageAt(place.where, seq, place.nowMs));
    await append(place.opened.log, messages[0] as LogRecord);
    const { store } = place.opened;
    const picky: StorePorts['messages'] = {
      insertRecord: async (where, ...rest) => {
        if (where.seq === 2n) throw new MailjoinError('STORE_REFUSED');
        await store.insertRecord(where, ...rest);
      },
      editRecord: (...args) => store.editRecord(...args),
      recallRecord: (...args) => store.recallRecord(...args),
    };
    await appendAll(place.opened.log, messages.slice(1));
    const parking = new KeptParking();
    const totals = await archiveAll({ ...place, ports: { ...place.ports, messages: picky } }, { parking });
    expect(totals).toMatchObject({ messages: 2, parked: 1 });
    expect(parking.parked.map(({ code, entry }) => [code, entry.offset])).toEqual([['STORE_REFUSED', 1n]]);
    expect(await rowAt(place, 3n)).toBeDefined();
  });
});

describe('poison', () => {
  const valid = (where: Chat, nowMs: bigint) => messageAt(where, 9n, nowMs);
  const seqBit63 = (where: Chat, nowMs: bigint): Uint8Array => {
    // The largest seq is nine bytes of 0xff less bit 63; one more varint byte sets it.
    const bytes = Buffer.from(encodeLogRecord(messageAt(where, 2n ** 63n - 1n, nowMs)));
    const at = bytes.indexOf(Buffer.from('ffffffffffffffff7f', 'hex'));
    const inner = Buffer.from(bytes);
    inner[at + 8] = 0xff;
    return Buffer.concat([inner.subarray(0, at + 9), Buffer.from([0x01]), inner.subarray(at + 9)]);
  };
  it.each<[string, string, (where: Chat, nowMs: bigint) => Uint8Array]>([
    ['bytes that are no record', 'LOG_CORRUPT', () => Buffer.from('0effff', 'hex')],
    ['S-2 R1.1: a seq with bit 63 set', 'LOG_CORRUPT', seqBit63],
    [
      'a message_type that is no tinyint',
      'MESSAGE_INVALID',
      (where, nowMs) => encodeLogRecord(messageAt(where, 9n, nowMs, { messageType: 128 })),
    ],
    [
      'a retention_class that is no tinyint',
      'MESSAGE_INVALID',
      (where, nowMs) => encodeLogRecord(messageAt(where, 9n, nowMs, { retentionClass: -129 })),
    ],
    [
      'a created_at before 1970',
      'MESSAGE_INVALID',
      (where, nowMs) => {
        const { record, ...rest } = valid(where, nowMs);
        return encodeLogRecord({ ...rest, record: { ...record, createdAtMs: -1n } });
      },
    ],
    [
      'an event that is not above its message (D14)',
      'MESSAGE_INVALID',
      (where, nowMs) => encodeLogRecord(recallOf(valid(where, nowMs), nowMs)),
    ],
    [
      'B50: a row that is larger than the store takes',
      'MESSAGE_TOO_LARGE',
      (where, nowMs) => encodeLogRecord(messageAt(where, 9n, nowMs, { payload: randomBytes(5_000) })),
    ],
  ])('%s is parked and its neighbours are archived', async (_, code, poison) => {
    const place = await openPlace();
    const { opened, where, nowMs } = place;
    await append(opened.log, messageAt(where, 1n, nowMs));
    await opened.log.append({ key: where.conversationId, value: poison(where, nowMs) });
    await append(opened.log, messageAt(where, 2n, nowMs));
    const parking = new KeptParking();
    const totals = await archiveAll(place, { parking, rowBytesMax: 4_096 });
    expect(totals).toMatchObject({ records: 3, messages: 2, parked: 1 });
    expect(parking.parked.map(({ code: parked, entry }) => [parked, entry.offset])).toEqual([[code, 1n]]);
    expect(await rowAt(place, 2n)).toBeDefined();
  });

  it('a record beyond every log’s bound is parked', async () => {
    const place = await openPlace();
    const parking = new KeptParking();
    const log = {
      consume: async ({ onEntries }: { onEntries: (entries: never[]) => Promise<void> }) => {
        const value = new Uint8Array(LOG_RECORD_BYTES_MAX + 1);
        await onEntries([{ partition: 0, offset: 0n, appendedAtMs: 0, value } as never]);
      },
    };
    await archiverOn(place.ports, log as never, { parking }).run(unstopped());
    expect(parking.parked.map(({ code }) => code)).toEqual(['RECORD_TOO_LARGE']);
  });

  it('an event that names another message than its row is parked and changes nothing', async () => {
    const place = await openPlace();
    const { opened, where, nowMs } = place;
    const stored = messageAt(where, 1n, nowMs);
    const recall = recallOf(stored, nowMs + 5n);
    await appendAll(opened.log, [stored, { ...recall, target: { ...recall.target, messageId: message() } }]);
    const parking = new KeptParking();
    await archiveAll(place, { parking });
    expect(parking.parked.map(({ code }) => code)).toEqual(['MESSAGE_MISMATCH']);
    expect((await rowAt(place, 1n))?.state).toBe(MessageState.NORMAL);
  });
});

describe('an archiver', () => {
  it('D15: writes the row whole and its index, with the TTL that remains', async () => {
    const place = await openPlace();
    const { opened, where, nowMs } = place;
    const sent = messageAt(where, 5n, nowMs - 10n * DAY_MS);
    await append(opened.log, sent);
    expect(await archiveAll(place)).toMatchObject({ records: 1, messages: 1 });
    const row = await rowAt(place, 5n);
    expect(plain(row)).toEqual(plain(sent.record));
    expect(row?.ttlSeconds).toBe(20 * 86_400);
    expect(await opened.writes.lookup(where.tenantId, sent.record.messageId)).toEqual({
      conversationId: Buffer.from(where.conversationId),
      seq: 5n,
    });
  });

  it('B14: what expired is not written, neither row nor index', async () => {
    const place = await openPlace();
    const { opened, where, nowMs } = place;
    const gone = messageAt(where, 1n, nowMs - 31n * DAY_MS);
    const lastSecond = messageAt(where, 2n, nowMs - DAY_MS + 400n, {
      retentionClass: RetentionClass.EPHEMERAL_24H,
    });
    await appendAll(opened.log, [gone, lastSecond, editOf(gone, nowMs)]);
    expect(await archiveAll(place)).toMatchObject({ records: 3, messages: 0, events: 0, expired: 3 });
    expect(await rowAt(place, 1n)).toBeUndefined();
    expect(await opened.writes.lookup(where.tenantId, gone.record.messageId)).toBeUndefined();
  });

  it('B14: a clock that was an hour ahead gives no more than the whole retention', async () => {
    const place = await openPlace();
    await append(place.opened.log, messageAt(place.where, 1n, place.nowMs + 3_600_000n));
    await archiveAll(place);
    expect((await rowAt(place, 1n))?.ttlSeconds).toBe(30 * 86_400);
  });

  it('B15: an event whose row has expired leaves nothing to read, and no INSERT of its brings it back', async () => {
    const place = await openPlace();
    const { opened, where, clock, nowMs } = place;
    const short = messageAt(where, 1n, nowMs, { retentionClass: RetentionClass.EPHEMERAL_24H });
    await append(opened.log, short);
    await archiveAll(place);
    clock.ms += 86_400_000;
    await appendAll(opened.log, [editOf(short, nowMs + 50n), short]);
    expect(await archiveAll(place)).toMatchObject({ messages: 0, events: 0, expired: 2 });
    expect(await rowAt(place, 1n)).toBeUndefined();
  });

  it('B15: an event before its message makes no row; when the message comes it shows the event', async () => {
    const place = await openPlace();
    const { where, nowMs, ports } = place;
    const sent = messageAt(where, 1n, nowMs);
    const recall = recallOf(sent, nowMs + 5n);
    await archiverOn(ports, pagedLog([[recall]])).run(unstopped());
    expect(await rowAt(place, 1n)).toBeUndefined();
    await archiverOn(ports, pagedLog([[sent]])).run(unstopped());
    const row = await rowAt(place, 1n);
    expect(row && effectiveState(row)).toBe(MessageState.RECALLED);
    expect(row?.recallEventSeq).toBe(recall.seq);
  });

  it('D14: a replay brings no recalled message back and no former payload', async () => {
    const place = await openPlace();
    const { opened, where, nowMs } = place;
    const [recalled, edited] = [messageAt(where, 1n, nowMs), messageAt(where, 2n, nowMs)];
    const edit = editOf(edited, nowMs + 5n);
    await appendAll(opened.log, [recalled, edited, recallOf(recalled, nowMs + 9n), edit]);
    await archiveAll(place);
    const before = [plain(await rowAt(place, 1n)), plain(await rowAt(place, 2n))];
    await appendAll(opened.log, [edited, recalled]);
    expect(await archiveAll(place, { group: 'again' })).toMatchObject({ records: 6, messages: 4, shown: 2 });
    expect([plain(await rowAt(place, 1n)), plain(await rowAt(place, 2n))]).toEqual(before);
    expect((await rowAt(place, 1n))?.state).toBe(MessageState.RECALLED);
    expect(Buffer.from((await rowAt(place, 2n))?.payload ?? [])).toEqual(edit.payload);
  });

  it('S-5: a replay takes no hold away, and an event on a held row does not end it', async () => {
    const place = await openPlace();
    const { opened, where, clock, nowMs } = place;
    const sent = messageAt(where, 1n, nowMs);
    await append(opened.log, sent);
    await archiveAll(place);
    clock.ms += 1_000;
    const retention = new Retention(NO_POLICIES, () => undefined);
    const holds = new HoldKeeper({ messages: opened.store, writes: opened.writes, retention, clock });
    const target = { ...where, seq: 1n, messageId: sent.record.messageId };
    await holds.placeHold(target);
    await append(opened.log, editOf(sent, nowMs + 5_000n));
    await archiveAll(place);
    await archiveAll(place, { group: 'again' });
    clock.ms += 40 * 86_400_000;
    await archiveAll(place, { group: 'late' });
    const held = await rowAt(place, 1n);
    expect(held).toMatchObject({ state: MessageState.EDITED, ttlSeconds: undefined });
    expect(held?.payload).toBeDefined();
    expect(await opened.writes.lookup(where.tenantId, sent.record.messageId)).toBeDefined();
    await holds.liftHold(target, RetentionClass.DEFAULT);
    clock.ms += 1_000;
    await archiveAll(place, { group: 'later' });
    expect(await rowAt(place, 1n)).toBeUndefined();
  });

  it('S-5: a hold that is placed while an event is written has its whole row', async () => {
    const place = await openPlace();
    const { opened, where, clock, nowMs } = place;
    const sent = messageAt(where, 1n, nowMs);
    await archiverOn(place.ports, pagedLog([[sent]])).run(unstopped());
    const retention = new Retention(NO_POLICIES, () => undefined);
    const holds = new HoldKeeper({ messages: opened.store, writes: opened.writes, retention, clock });
    let isPlaced = false;
    const meeting: StorePorts['messages'] = {
      insertRecord: (...args) => opened.store.insertRecord(...args),
      recallRecord: (...args) => opened.store.recallRecord(...args),
      editRecord: async (...args) => {
        if (!isPlaced) await holds.placeHold({ ...where, seq: 1n, messageId: sent.record.messageId });
        isPlaced = true;
        await opened.store.editRecord(...args);
      },
    };
    const edit = editOf(sent, nowMs + 5_000n);
    await archiverOn({ ...place.ports, messages: meeting }, pagedLog([[edit]])).run(unstopped());
    const row = await rowAt(place, 1n);
    expect(row).toMatchObject({ ttlSeconds: undefined, retentionClass: RetentionClass.COMPLIANCE_HOLD });
    expect(Buffer.from(row?.payload ?? [])).toEqual(edit.payload);
    expect(Buffer.from(row?.editedAtActivityId ?? [])).toEqual(Buffer.from(edit.lastActivityId));
  });

  it('passes over what is not its business, and goes on where it committed', async () => {
    const place = await openPlace();
    const { opened, where, nowMs } = place;
    const first = messageAt(where, 1n, nowMs);
    await appendAll(opened.log, [
      first,
      { kind: 'keyDestroyed', appendedAtMs: nowMs, dekId: { scope: 's', id: 'i', version: 1 } },
      {
        ...where,
        kind: 'reactions',
        appendedAtMs: nowMs,
        target: { seq: 1n, messageId: first.record.messageId, createdAtMs: nowMs },
        summaryVersion: 1n,
        counts: [['a', 1]],
        updatedAtMs: nowMs,
      },
    ]);
    expect(await archiveAll(place)).toMatchObject({ records: 3, messages: 1, passed: 2, lag: 0n });
    await append(opened.log, messageAt(where, 2n, nowMs));
    expect(await archiveAll(place)).toMatchObject({ records: 1, messages: 1 });
  });

  it('ends at once when there is nothing to archive', async () => {
    const place = await openPlace();
    expect(await archiveAll(place)).toMatchObject({ records: 0 });
  });
});
