/** The writing half of the store contract: checks before writing, last-write-wins per column, absent columns. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { effectiveState, MessageState } from '../../src/domain/message.js';
import { SEQ_MAX } from '../../src/domain/seq.js';
import type { Opened } from './contract.js';
import {
  activity,
  at,
  bareRecord,
  dek,
  fullRecord,
  INSERT_MICROS,
  life,
  plain,
  readOne,
  readRange,
  somewhere,
  summary,
} from './fixtures.js';

const edit = (payload: Uint8Array, over: { version?: number } = {}) => ({
  payload,
  dekId: dek({ scope: 'conversation', id: 'k1', version: over.version ?? 2 }),
  editedAtActivityId: activity(),
  lastActivityId: activity(),
});
const recall = (recallEventSeq: bigint) => ({ recallEventSeq, lastActivityId: activity() });
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex');

export function writeContract(opened: Opened): void {
  describe('writes', () => {
    describe.each([2n ** 63n, 2n ** 63n + 1n, 2n ** 64n - 1n, -1n])('S-2 R1.1 seq %s', (seq) => {
      it('is refused by every write before anything is sent', async () => {
        const { store } = opened();
        const where = somewhere(seq);
        const refused = { code: 'SEQ_RANGE' };
        await expect(store.insertRecord(where, fullRecord(seq), life())).rejects.toMatchObject(refused);
        await expect(store.editRecord(where, edit(randomBytes(8)), life())).rejects.toMatchObject(refused);
        await expect(store.recallRecord(where, recall(1n), life())).rejects.toMatchObject(refused);
        await expect(store.putSummary(where, summary(seq, 1n, [['a', 1]]))).rejects.toMatchObject(refused);
        // What the value would have become in a signed column must not exist.
        const wrapped = BigInt.asUintN(63, seq);
        expect((await readRange(store, at(where, wrapped))).records).toEqual([]);
      });

      it('is refused as the seq of a recall event and of a reply', async () => {
        const { store } = opened();
        const where = somewhere(1n);
        await expect(store.recallRecord(where, recall(seq), life())).rejects.toMatchObject({
          code: 'SEQ_RANGE',
        });
        await expect(
          store.insertRecord(where, fullRecord(1n, { replyToSeq: seq }), life()),
        ).rejects.toMatchObject({
          code: 'SEQ_RANGE',
        });
        expect(await readOne(store, where)).toBeUndefined();
      });
    });

    it.each([0, -1, 0.4, Number.NaN, 630_720_001, 2 ** 31])(
      'D8 B14 a TTL of %s seconds is refused by every write, and nothing is written',
      async (ttlSeconds) => {
        const { store } = opened();
        const where = somewhere(1n);
        const bad = life(INSERT_MICROS, ttlSeconds);
        const refused = { code: 'TTL_RANGE' };
        await expect(store.insertRecord(where, fullRecord(1n), bad)).rejects.toMatchObject(refused);
        await expect(store.editRecord(where, edit(randomBytes(8)), bad)).rejects.toMatchObject(refused);
        await expect(store.recallRecord(where, recall(2n), bad)).rejects.toMatchObject(refused);
        expect(await readOne(store, where)).toBeUndefined();
      },
    );

    it('returns every column exactly as written', async () => {
      const { store } = opened();
      const where = somewhere(SEQ_MAX);
      const record = fullRecord(SEQ_MAX, {
        messageType: 127,
        schemaVersion: 2 ** 31 - 1,
        customType: 'ünï \u{1f600}',
        replyToSeq: SEQ_MAX,
        state: MessageState.EDITED,
        recallEventSeq: 2n ** 53n + 1n,
        editedAtActivityId: activity(),
        createdAtMs: 2n ** 53n + 1n,
        retentionClass: 3,
        dekId: { scope: 'sçope', id: 'a/b', version: 2 ** 31 - 1 },
      });
      await store.insertRecord(where, record, life());
      expect(plain(await readOne(store, where))).toEqual(plain(record));
    });

    it('tells an empty payload and an empty text from absent ones', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = bareRecord(1n, { payload: new Uint8Array(0), customType: '' });
      await store.insertRecord(where, record, life());
      const got = await readOne(store, where);
      expect(got?.payload?.length).toBe(0);
      expect(got?.customType).toBe('');
      expect(got?.clientMessageId).toBeUndefined();
    });

    it('D18 leaves absent columns absent, and undefined when read', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = bareRecord(1n);
      await store.insertRecord(where, record, life());
      expect(plain(await readOne(store, where))).toEqual(plain(record));
    });

    it('D18 a later insert does not erase the columns that it lacks', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      await store.insertRecord(where, record, life());
      await store.insertRecord(
        where,
        bareRecord(1n, { messageId: record.messageId }),
        life(INSERT_MICROS + 1n),
      );
      expect(plain(await readOne(store, where))).toEqual(plain(record));
    });

    it('R2.1 a repeated insert changes nothing', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      for (let i = 0; i < 3; i++) await store.insertRecord(where, record, life());
      expect(plain(await readOne(store, where))).toEqual(plain(record));
    });

    it('D14 an edit replaces payload, key, state and revision together, and nothing else', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      const change = edit(randomBytes(40));
      await store.insertRecord(where, record, life());
      await store.editRecord(where, change, life(INSERT_MICROS + 5n));
      expect(plain(await readOne(store, where))).toEqual(
        plain({ ...record, ...change, state: MessageState.EDITED }),
      );
    });

    it('D14 a recall sets state, event and revision, and keeps the content', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      const change = recall(2n ** 53n + 1n);
      await store.insertRecord(where, record, life());
      await store.recallRecord(where, change, life(INSERT_MICROS + 5n));
      expect(plain(await readOne(store, where))).toEqual(
        plain({ ...record, ...change, state: MessageState.RECALLED }),
      );
    });

    it('D14 a replayed insert undoes neither a recall nor an edit', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const record = fullRecord(1n);
      await store.insertRecord(where, record, life());
      const change = edit(randomBytes(24));
      await store.editRecord(where, change, life(INSERT_MICROS + 5n));
      await store.insertRecord(where, record, life());
      expect(hex((await readOne(store, where))?.payload)).toBe(hex(change.payload));
      const event = recall(9n);
      await store.recallRecord(where, event, life(INSERT_MICROS + 9n));
      await store.insertRecord(where, record, life());
      const got = await readOne(store, where);
      expect(got?.recallEventSeq).toBe(9n);
      expect(got?.state).toBe(MessageState.RECALLED);
      expect(hex(got?.lastActivityId)).toBe(hex(event.lastActivityId));
    });

    it('D14 edits arriving out of order end with the later one', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life());
      const later = edit(randomBytes(24));
      await store.editRecord(where, later, life(INSERT_MICROS + 20n));
      await store.editRecord(where, edit(randomBytes(24)), life(INSERT_MICROS + 10n));
      const got = await readOne(store, where);
      expect(hex(got?.payload)).toBe(hex(later.payload));
      expect(hex(got?.lastActivityId)).toBe(hex(later.lastActivityId));
    });

    it('D14 a message edited after its recall stays recalled', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life());
      await store.recallRecord(where, recall(9n), life(INSERT_MICROS + 5n));
      await store.editRecord(where, edit(randomBytes(24)), life(INSERT_MICROS + 10n));
      const got = await readOne(store, where);
      expect(got?.state).toBe(MessageState.EDITED);
      expect(got && effectiveState(got)).toBe(MessageState.RECALLED);
    });

    it('D14 a late recall with a lower timestamp keeps its event and loses the rest', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.insertRecord(where, fullRecord(1n), life());
      const change = edit(randomBytes(24));
      await store.editRecord(where, change, life(INSERT_MICROS + 10n));
      await store.recallRecord(where, recall(9n), life(INSERT_MICROS + 5n));
      const got = await readOne(store, where);
      expect(got?.recallEventSeq).toBe(9n);
      expect(got?.state).toBe(MessageState.EDITED);
      expect(hex(got?.lastActivityId)).toBe(hex(change.lastActivityId));
    });

    it('at equal timestamps the greater value wins, in whatever order they come', async () => {
      const { store } = opened();
      const [low, high] = [Buffer.alloc(8, 0x10), Buffer.alloc(8, 0xf0)];
      for (const order of [
        [low, high],
        [high, low],
      ]) {
        const where = somewhere(1n);
        const record = fullRecord(1n);
        for (const payload of order) await store.insertRecord(where, { ...record, payload }, life());
        expect(hex((await readOne(store, where))?.payload)).toBe(hex(high));
      }
    });

    it('B15 an edit or recall of a row that does not exist leaves nothing to read', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await store.editRecord(where, edit(randomBytes(8)), life());
      await store.recallRecord(at(where, 2n), recall(3n), life());
      const rows = await readRange(store, where, 2n);
      expect(rows.records).toEqual([]);
      expect(rows.cost.rows).toBe(0);
    });

    it('D15 an insert that arrives after its edit and recall shows both', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      const change = edit(randomBytes(24));
      const event = recall(9n);
      await store.editRecord(where, change, life(INSERT_MICROS + 5n));
      await store.recallRecord(where, event, life(INSERT_MICROS + 9n));
      const record = fullRecord(1n);
      await store.insertRecord(where, record, life());
      expect(plain(await readOne(store, where))).toEqual(
        plain({ ...record, ...change, ...event, state: MessageState.RECALLED }),
      );
    });
  });
}
