/** What is the embedded write store's own: the table TTL of client_dedup, what is swept, what a damaged file does. */
import { describe, expect, it } from 'vitest';
import { DEDUP_TTL_SECONDS } from '../../src/domain/limits.js';
import { bucketOf, SEQ_MAX } from '../../src/domain/seq.js';
import { DedupState } from '../../src/domain/write-ports.js';
import { type OpenedEmbedded, openEmbedded } from '../../src/embedded/open-embedded.js';
import { encodeValue } from '../../src/embedded/row-codec.js';
import { conversationKey, dedupKey, rowKey } from '../../src/embedded/row-key.js';
import { PURGE_GRACE_S } from '../../src/embedded/sweep.js';
import {
  conversation,
  fullRecord,
  INSERT_MICROS,
  life,
  message,
  somewhere,
  tenant,
} from '../stores/fixtures.js';
import { headWrite, place, plainValue, reservation } from '../stores/write-contract.js';
import { openFor, SetClock, temporaryDirectory, withRawTable } from './embedded-fixtures.js';

const CORRUPT = { code: 'STORE_CORRUPT' } as const;

const counted = (directory: string, ...tables: string[]) =>
  Promise.all(tables.map((table) => withRawTable(directory, table, (raw) => raw.count())));

describe('client_dedup in the file', () => {
  it('R2 a reservation is remembered for 7,200 s, and then another message takes its place', async () => {
    const clock = new SetClock();
    const { writes } = await openFor(temporaryDirectory(), clock);
    const entry = reservation();
    await writes.reserve(entry);
    const later = { ...entry, messageId: message(), seq: 9n };
    clock.ms += DEDUP_TTL_SECONDS * 1000 - 1;
    expect(plainValue(await writes.reserve(later))).toEqual(plainValue(entry));
    clock.ms += 1;
    expect(await writes.read(entry.tenantId, entry.senderId, entry.clientMessageId)).toBeUndefined();
    expect(await writes.complete(entry)).toBe(false);
    expect(await writes.reserve(later)).toBeUndefined();
  });

  it('D7 a completion counts the whole row anew: ids and state end together', async () => {
    const clock = new SetClock();
    const { writes } = await openFor(temporaryDirectory(), clock);
    const entry = reservation();
    await writes.reserve(entry);
    clock.ms += (DEDUP_TTL_SECONDS - 10) * 1000;
    expect(await writes.complete(entry)).toBe(true);
    clock.ms += (DEDUP_TTL_SECONDS - 1) * 1000;
    const read = () => writes.read(entry.tenantId, entry.senderId, entry.clientMessageId);
    expect(plainValue(await read())).toEqual(plainValue({ ...entry, state: DedupState.COMMITTED }));
    clock.ms += 1000;
    expect(await read()).toBeUndefined();
  });

  it('a client_message_id that no key can hold is STORE_REFUSED', async () => {
    const { writes } = await openFor(temporaryDirectory(), new SetClock());
    const refused = { code: 'STORE_REFUSED' };
    const entry = reservation({ clientMessageId: 'x'.repeat(901) });
    await expect(writes.reserve(entry)).rejects.toMatchObject(refused);
    await expect(writes.complete(entry)).rejects.toMatchObject(refused);
    expect(await writes.reserve(reservation({ clientMessageId: 'x'.repeat(900) }))).toBeUndefined();
  });
});

describe('sweep of the side tables', () => {
  const entry = { conversationId: conversation(), seq: 1n };

  it('removes dedup rows at their end, index rows after the grace, and nothing that lives', async () => {
    const directory = temporaryDirectory();
    const clock = new SetClock();
    const { writes } = await openFor(directory, clock);
    const [tenantId, held] = [tenant(), message()];
    const completed = reservation();
    await writes.reserve(reservation());
    await writes.reserve(completed);
    await writes.complete(completed);
    await writes.putIndex(tenantId, message(), entry, life(INSERT_MICROS, 60));
    await writes.putIndex(tenantId, held, entry, life(INSERT_MICROS, 60));
    await writes.putIndex(tenantId, held, entry, life(INSERT_MICROS + 1n));
    const tables = ['dedup', 'message_index', 'side_expiry'];
    expect(await counted(directory, ...tables)).toEqual([2, 2, 3]);
    const reopen = async () => (await openEmbedded(directory, clock)).close();

    clock.ms += (DEDUP_TTL_SECONDS - 1) * 1000;
    await reopen();
    expect(await counted(directory, ...tables)).toEqual([2, 2, 3]);
    clock.ms += 1000;
    await reopen();
    expect(await counted(directory, ...tables)).toEqual([0, 2, 1]);
    clock.ms += PURGE_GRACE_S * 1000;
    await reopen();
    expect(await counted(directory, ...tables)).toEqual([0, 1, 0]);
    expect(plainValue(await writes.lookup(tenantId, held))).toEqual(plainValue(entry));
  });

  it('keeps the number of rows bounded while messages are committed', async () => {
    const directory = temporaryDirectory();
    const clock = new SetClock();
    const { writes } = await openFor(directory, clock);
    const perRound = 40;
    let most = 0;
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < perRound; i++) await writes.reserve(reservation());
      clock.ms += DEDUP_TTL_SECONDS * 1000;
      most = Math.max(most, (await counted(directory, 'dedup'))[0] ?? 0);
    }
    expect(most).toBeLessThanOrEqual(2 * perRound);
    expect(most).toBeGreaterThanOrEqual(perRound);
  });
});

describe('sequence windows in the file', () => {
  it('B10 go on behind what was reserved when the file is opened again', async () => {
    const directory = temporaryDirectory();
    const { tenantId, conversationId } = place();
    const reserve = ({ writes }: OpenedEmbedded) => writes.reserveWindow(tenantId, conversationId, 4096, 7n);
    const first = await openEmbedded(directory, new SetClock());
    expect((await reserve(first)).first).toBe(1n);
    await first.close();
    expect((await reserve(await openFor(directory, new SetClock()))).first).toBe(4097n);
  });

  it('S-2 R1.1 a window that would reach 2^63 is SEQ_RANGE and takes nothing; what fits is given', async () => {
    const directory = temporaryDirectory();
    const { writes } = await openFor(directory, new SetClock());
    const { tenantId, conversationId } = place();
    await withRawTable(directory, 'sequence', (raw) =>
      raw.put(conversationKey(tenantId, conversationId), encodeValue([SEQ_MAX - 10n, 1n])),
    );
    const reserve = (count: number) => writes.reserveWindow(tenantId, conversationId, count, 2n);
    await expect(reserve(11)).rejects.toMatchObject({ code: 'SEQ_RANGE' });
    expect(await reserve(10)).toEqual({ first: SEQ_MAX - 10n, count: 10, idFloorMs: 2n });
    await expect(reserve(1)).rejects.toMatchObject({ code: 'SEQ_RANGE' });
  });
});

describe('a damaged file', () => {
  it('R4.2 a row in a foreign bucket is STORE_CORRUPT', async () => {
    const directory = temporaryDirectory();
    const { store, writes } = await openFor(directory, new SetClock());
    const where = somewhere(5n);
    const { tenantId, conversationId } = where;
    await store.insertRecord(where, fullRecord(5n), life());
    await withRawTable(directory, 'record', (raw) => {
      const row = raw.get(rowKey(tenantId, conversationId, bucketOf(5n), 5n));
      if (row !== undefined) raw.put(rowKey(tenantId, conversationId, 1n, 5n), row);
    });
    await expect(writes.readBucket(tenantId, conversationId, 1n)).rejects.toMatchObject(CORRUPT);
    expect(await writes.readBucket(tenantId, conversationId, 0n)).toHaveLength(1);
  });

  it('values of another shape are STORE_CORRUPT, each for its own row alone', async () => {
    const directory = temporaryDirectory();
    const { writes } = await openFor(directory, new SetClock());
    const entry = reservation();
    const { tenantId, conversationId } = place();
    const damaged = encodeValue(['of another shape']);
    await withRawTable(directory, 'dedup', (raw) =>
      raw.put(dedupKey(entry.tenantId, entry.senderId, entry.clientMessageId), damaged),
    );
    for (const table of ['sequence', 'head']) {
      await withRawTable(directory, table, (raw) =>
        raw.put(conversationKey(tenantId, conversationId), damaged),
      );
    }
    await expect(writes.reserve(entry)).rejects.toMatchObject(CORRUPT);
    await expect(writes.reserveWindow(tenantId, conversationId, 1, 1n)).rejects.toMatchObject(CORRUPT);
    await expect(writes.writeHead(tenantId, conversationId, headWrite())).rejects.toMatchObject(CORRUPT);
    await expect(writes.readHead(tenantId, conversationId)).rejects.toMatchObject(CORRUPT);
    expect(await writes.reserve(reservation())).toBeUndefined();
  });
});
