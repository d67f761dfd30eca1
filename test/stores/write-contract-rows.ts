/** Whole rows of message_record for recall, edit, holds and the advancer (D14, D20, R4.2). */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type MessageRecord, MessageState, RetentionClass } from '../../src/domain/message.js';
import { bucketOf, bucketStart } from '../../src/domain/seq.js';
import {
  activity,
  at,
  bareRecord,
  conversation,
  fullRecord,
  INSERT_MICROS,
  insertMany,
  life,
  plain,
  somewhere,
  tenant,
  until,
} from './fixtures.js';
import { type Opened, SEQ_REFUSED, SEQS_ACCEPTED, SEQS_REFUSED } from './write-contract.js';

const edit = () => ({
  payload: randomBytes(24),
  dekId: { scope: 'conversation', id: 'k1', version: 2 },
  editedAtActivityId: activity(),
  lastActivityId: activity(),
});

export function rowContract(opened: Opened): void {
  describe('whole rows', () => {
    it.each(SEQS_REFUSED)('S-2 R1.1 seq %s is refused before anything is sent', async (seq) => {
      await expect(opened().writes.readRecord(somewhere(seq))).rejects.toMatchObject(SEQ_REFUSED);
    });

    it('S-2 seqs at 2^62 ± 1 and 2^63 − 1 are read back, in order within their buckets', async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      const rows = await insertMany(messages, where, SEQS_ACCEPTED);
      for (const [seq, record] of rows) {
        expect(plain(await writes.readRecord(at(where, seq)))).toEqual(plain(record));
      }
      const { tenantId, conversationId } = where;
      const seqs: bigint[] = [];
      for (const bucket of new Set(SEQS_ACCEPTED.map(bucketOf))) {
        for (const { seq } of await writes.readBucket(tenantId, conversationId, bucket)) seqs.push(seq);
      }
      expect(seqs).toEqual([...SEQS_ACCEPTED]);
    });

    it('a row that is not there is undefined, in another tenant and conversation too', async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      await messages.insertRecord(where, fullRecord(1n), life());
      expect(await writes.readRecord(at(where, 2n))).toBeUndefined();
      expect(await writes.readRecord({ ...where, tenantId: tenant() })).toBeUndefined();
      expect(await writes.readRecord({ ...where, conversationId: conversation() })).toBeUndefined();
    });

    it('D18 a row is read back whole with what changed it since, absent columns absent', async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      const record = bareRecord(1n);
      await messages.insertRecord(where, record, life(INSERT_MICROS, 1000));
      expect(plain(await writes.readRecord(where))).toEqual(plain(record));
      const change = edit();
      const recall = { recallEventSeq: 9n, lastActivityId: activity() };
      await messages.editRecord(where, change, life(INSERT_MICROS + 1n, 1000));
      await messages.recallRecord(where, recall, life(INSERT_MICROS + 2n, 1000));
      const got = await writes.readRecord(where);
      expect(plain(got)).toEqual(plain({ ...record, ...change, ...recall, state: MessageState.RECALLED }));
      expect(got?.ttlSeconds).toBeGreaterThan(980);
      expect(got?.ttlSeconds).toBeLessThanOrEqual(1000);
    });

    it('B15 an edit or recall of a row that does not exist leaves nothing to read', async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      await messages.editRecord(where, edit(), life());
      await messages.recallRecord(at(where, 2n), { recallEventSeq: 3n, lastActivityId: activity() }, life());
      expect(await writes.readRecord(where)).toBeUndefined();
      expect(await writes.readBucket(where.tenantId, where.conversationId, 0n)).toEqual([]);
    });

    it('B12 a row that expires is there in full or not at all', { timeout: 20_000 }, async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      const record = fullRecord(1n);
      await messages.insertRecord(where, record, life(INSERT_MICROS, 2));
      let reads = 0;
      await until(async () => {
        const [got] = await writes.readBucket(where.tenantId, where.conversationId, 0n);
        if (got === undefined) return true;
        reads++;
        expect(plain(got)).toEqual(plain(record));
        return false;
      });
      expect(reads).toBeGreaterThan(0);
      expect(await writes.readRecord(where)).toBeUndefined();
    });

    it('B07 R4.2 a bucket is read whole, ascending, each row once, and nothing of its neighbours', {
      timeout: 120_000,
    }, async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      const start = bucketStart(3n);
      const inside = Array.from({ length: 1_300 }, (_, n) => start + BigInt(n * 3));
      const rows = await insertMany(messages, where, [...inside, start - 1n, bucketStart(4n)], () => ({
        payload: randomBytes(2048),
      }));
      const got = await writes.readBucket(where.tenantId, where.conversationId, 3n);
      expect(got.map(({ seq }) => seq)).toEqual(inside);
      for (const record of got) expect(plain(record)).toEqual(plain(rows.get(record.seq)));
    });

    it('D20 S-5 a hold placed in time outlives the TTL, and ends when it is lifted', {
      timeout: 30_000,
    }, async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      const soon = 3;
      await messages.insertRecord(where, fullRecord(1n), life(INSERT_MICROS, soon));
      await messages.insertRecord(at(where, 2n), fullRecord(2n), life(INSERT_MICROS, soon));

      const before = (await writes.readRecord(where)) as MessageRecord;
      const held = { ...before, retentionClass: RetentionClass.COMPLIANCE_HOLD };
      await messages.insertRecord(where, held, life(INSERT_MICROS + 1n));
      expect((await writes.readRecord(where))?.ttlSeconds).toBeUndefined();

      // The neighbour's end is the proof that the former TTL has passed.
      await until(async () => (await writes.readRecord(at(where, 2n))) === undefined);
      expect(plain(await writes.readRecord(where))).toEqual(plain(held));

      await messages.insertRecord(where, before, life(INSERT_MICROS + 2n, 1000));
      const lifted = await writes.readRecord(where);
      expect(plain(lifted)).toEqual(plain(before));
      expect(lifted?.ttlSeconds).toBeLessThanOrEqual(1000);
      await messages.insertRecord(where, before, life(INSERT_MICROS + 3n, 1));
      await until(async () => (await writes.readRecord(where)) === undefined);
    });

    it('D20 D14 a repeated insert at the former timestamp lifts no hold', async () => {
      const { messages, writes } = opened();
      const where = somewhere();
      const record = fullRecord(1n);
      await messages.insertRecord(where, record, life(INSERT_MICROS, 1000));
      const held = { ...record, retentionClass: RetentionClass.COMPLIANCE_HOLD };
      await messages.insertRecord(where, held, life(INSERT_MICROS + 1n));
      await messages.insertRecord(where, record, life(INSERT_MICROS, 1000));
      const got = await writes.readRecord(where);
      expect(plain(got)).toEqual(plain(held));
      expect(got?.ttlSeconds).toBeUndefined();
    });
  });
}
