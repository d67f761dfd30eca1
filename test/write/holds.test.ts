import { describe, expect, it } from 'vitest';
import { MessageState, RetentionClass } from '../../src/domain/message.js';
import { insertMicros } from '../../src/write/message-ids.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { life, message } from '../stores/fixtures.js';
import {
  bytes,
  chat,
  committed,
  messageIn,
  rowOf,
  textOf,
  twoProcesses,
  writingProcess,
} from './write-fixtures.js';

const { DEFAULT, COMPLIANCE_HOLD, TENANT_CUSTOM } = RetentionClass;
const SHORT = { retention: { defaultSeconds: 30, tenants: new Map() } };

describe('a hold (D20, S-5)', () => {
  it('B15: is refused for an expired message, which is not brought back, and for another message', async () => {
    const process = await writingProcess(SHORT);
    const target = await committed(process, chat());
    await expect(process.writer.placeHold({ ...target, messageId: message() })).rejects.toMatchObject({
      code: 'MESSAGE_MISMATCH',
    });
    process.clock.ms += 30_000;
    await expect(process.writer.placeHold(target)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    await expect(process.writer.liftHold(target, DEFAULT)).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    });
    expect(await rowOf(process, target)).toBeUndefined();
  });

  it('B15: is refused when the message ends between the look and the write', async () => {
    const process = await writingProcess(SHORT);
    const target = await committed(process, chat());
    process.clock.ms += 29_000;
    const { writes } = process.opened;
    const readRecord = writes.readRecord.bind(writes);
    writes.readRecord = async (where) => {
      const record = await readRecord(where);
      process.clock.ms += 1000;
      return record;
    };
    await expect(process.writer.placeHold(target)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    Reflect.deleteProperty(writes, 'readRecord');
    expect(await rowOf(process, target)).toBeUndefined();
  });

  it('S-5: placed in time outlives the tenant’s TTL, row and index whole', async () => {
    const process = await writingProcess(SHORT);
    const where = chat();
    const target = await committed(process, where, { mentionTargets: Buffer.from([0x10, 1]) });
    const before = await rowOf(process, target);
    process.clock.ms += 29_000;
    await process.writer.placeHold(target);
    process.clock.ms += 365 * 86_400_000;
    const {
      lastActivityId: _,
      ttlSeconds: __,
      retentionClass,
      ...held
    } = { ...(await rowOf(process, target)) };
    expect(before).toMatchObject(held);
    expect(retentionClass).toBe(COMPLIANCE_HOLD);
    expect(await textOf(process, target)).toBe('hello');
    expect(await process.opened.writes.lookup(where.tenantId, target.messageId)).toMatchObject({
      seq: target.seq,
    });
  });

  it('S-5: lifted, the row gets the TTL that its policy leaves it', async () => {
    const process = await writingProcess(SHORT);
    const where = chat();
    const target = await committed(process, where);
    await process.writer.placeHold(target);
    process.clock.ms += 10_000;
    await process.writer.liftHold(target, DEFAULT);
    expect(await rowOf(process, target)).toMatchObject({ retentionClass: DEFAULT, ttlSeconds: 20 });
    process.clock.ms += 20_000;
    expect(await rowOf(process, target)).toBeUndefined();
    expect(await process.opened.writes.lookup(where.tenantId, target.messageId)).toBeUndefined();
  });

  it('S-5: lifted after the policy’s end, the row ends within a second', async () => {
    const process = await writingProcess(SHORT);
    const target = await committed(process, chat(), { retentionClass: COMPLIANCE_HOLD });
    process.clock.ms += 3_600_000;
    expect((await rowOf(process, target))?.ttlSeconds).toBeUndefined();
    await process.writer.liftHold(target, DEFAULT);
    process.clock.ms += 1000;
    expect(await rowOf(process, target)).toBeUndefined();
  });

  it('lifted to a tenant_custom that is not known stays, with an alert (R3.1)', async () => {
    const process = await writingProcess({ retention: NO_POLICIES });
    const target = await committed(process, chat());
    await process.writer.placeHold(target);
    await process.writer.liftHold(target, TENANT_CUSTOM);
    expect((await rowOf(process, target))?.ttlSeconds).toBeUndefined();
    expect(process.alerts).toContain('RETENTION_UNKNOWN');
  });

  it('can be placed and lifted again and again', async () => {
    const process = await writingProcess(SHORT);
    const target = await committed(process, chat());
    for (let round = 0; round < 20; round++) {
      await process.writer.placeHold(target);
      await process.writer.placeHold(target);
      expect((await rowOf(process, target))?.ttlSeconds).toBeUndefined();
      await process.writer.liftHold(target, DEFAULT);
      expect(await rowOf(process, target)).toMatchObject({ ttlSeconds: 30, retentionClass: DEFAULT });
    }
  });

  it('is not undone by a replay of the INSERT with its TTL, nor by a commit’s retry', async () => {
    const process = await writingProcess(SHORT);
    const where = chat();
    const given = messageIn(where);
    const target = { ...where, ...(await process.writer.commit(given)) };
    const inserted = await rowOf(process, target);
    if (inserted === undefined) throw new Error('no row');
    await process.writer.placeHold(target);
    await process.opened.store.insertRecord(target, inserted, life(insertMicros(inserted.createdAtMs), 30));
    await process.writer.commit(given);
    process.clock.ms += 60_000;
    expect(await rowOf(process, target)).toMatchObject({ retentionClass: COMPLIANCE_HOLD });
  });

  it('keeps what was recalled recalled, and what was edited edited', async () => {
    const process = await writingProcess(SHORT);
    const where = chat();
    const edited = await committed(process, where);
    const recalled = await committed(process, where);
    await process.writer.edit({ ...edited, payload: bytes('edited') });
    await process.writer.recall(recalled);
    await process.writer.placeHold(edited);
    await process.writer.placeHold(recalled);
    expect(await textOf(process, edited)).toBe('edited');
    expect(await rowOf(process, edited)).toMatchObject({ state: MessageState.EDITED });
    expect(await rowOf(process, recalled)).toMatchObject({ state: MessageState.RECALLED });
    process.clock.ms += 60_000;
    await process.writer.edit({ ...edited, payload: bytes('edited while held') });
    expect((await rowOf(process, edited))?.ttlSeconds).toBeUndefined();
  });

  it.each(['recall', 'edit'] as const)(
    'S-5: placed while a %s is written holds the whole row',
    async (operation) => {
      const [first, second] = await twoProcesses(SHORT);
      const target = await committed(first, chat());
      const expected = operation === 'edit' ? MessageState.EDITED : MessageState.RECALLED;
      first.after(operation, 'log', () => second.writer.placeHold(target));
      await first.writer[operation]({ ...target, payload: bytes('edited') });
      expect(await rowOf(first, target)).toMatchObject({
        state: expected,
        retentionClass: COMPLIANCE_HOLD,
        ttlSeconds: undefined,
      });
      first.clock.ms += 60_000;
      expect(await rowOf(first, target)).toMatchObject({ state: expected });
    },
  );

  it.each(['recall', 'edit'] as const)(
    'lifted while a %s is written lets no part of the row stay for ever',
    async (operation) => {
      const [first, second] = await twoProcesses(SHORT);
      const target = await committed(first, chat());
      await first.writer.placeHold(target);
      first.after(operation, 'log', () => second.writer.liftHold(target, DEFAULT));
      await first.writer[operation]({ ...target, payload: bytes('edited') });
      expect((await rowOf(first, target))?.ttlSeconds).toBe(30);
      first.clock.ms += 30_000;
      expect(await rowOf(first, target)).toBeUndefined();
    },
  );

  it.each(['recall', 'edit'] as const)(
    'S-5: that had read the row before a %s neither undoes it nor loses its life',
    async (operation) => {
      const [first, second] = await twoProcesses(SHORT);
      const target = await committed(first, chat());
      const expected = operation === 'edit' ? MessageState.EDITED : MessageState.RECALLED;
      const { writes } = first.opened;
      const readRecord = writes.readRecord.bind(writes);
      let reads = 0;
      writes.readRecord = async (where) => {
        const record = await readRecord(where);
        if (++reads === 1) await second.writer[operation]({ ...target, payload: bytes('edited') });
        return record;
      };
      await first.writer.placeHold(target);
      expect(await readRecord(target)).toMatchObject({
        state: expected,
        retentionClass: COMPLIANCE_HOLD,
        ttlSeconds: undefined,
      });
      first.clock.ms += 60_000;
      expect(await readRecord(target)).toMatchObject({ state: expected });
      if (operation === 'edit') expect(await textOf(second, target)).toBe('edited');
    },
  );
});
