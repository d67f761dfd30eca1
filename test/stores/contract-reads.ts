/** The reading half of the store contract: exact ids and seqs, shapes, pages, tenants, cost. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { MessageRecord } from '../../src/domain/message.js';
import type { GroupRows } from '../../src/domain/ports.js';
import { bucketOf, SEQ_MAX } from '../../src/domain/seq.js';
import { asksFor, type ReadStatement } from '../../src/domain/statement.js';
import type { Opened } from './contract.js';
import {
  at,
  conversation,
  fullRecord,
  groupRead,
  insertMany,
  life,
  message,
  plain,
  readOne,
  readRange,
  seqsOf,
  somewhere,
  tenant,
} from './fixtures.js';

const TIMEOUT_MS = 60_000;

/** IN statements of at most 100 seqs each, as the planner makes them. */
function inStatements(seqs: readonly bigint[]): ReadStatement[] {
  const statements: ReadStatement[] = [];
  for (let i = 0; i < seqs.length; i += 100) statements.push({ shape: 'in', seqs: seqs.slice(i, i + 100) });
  return statements;
}

export function readContract(opened: Opened): void {
  describe('reads', () => {
    it('answers an empty bucket with no rows and one statement on each table', async () => {
      const rows = await readRange(opened().store, somewhere(), 100n);
      expect(rows.records).toEqual([]);
      expect(rows.summaries).toEqual([]);
      expect(rows.cost).toMatchObject({
        recordStatements: 1,
        summaryStatements: 1,
        furtherPages: 0,
        rows: 0,
        bytes: 0,
      });
    });

    it('is ready to answer: ping resolves', async () => {
      await expect(opened().store.ping()).resolves.toBeUndefined();
    });

    it('B01 S-2 keeps neighbours at 2^53 and at the end of the range apart, exactly', async () => {
      const { store } = opened();
      const where = somewhere();
      const seqs = [
        2n ** 53n - 1n,
        2n ** 53n,
        2n ** 53n + 1n,
        2n ** 62n - 1n,
        2n ** 62n,
        2n ** 62n + 1n,
        SEQ_MAX - 1n,
        SEQ_MAX,
      ];
      const rows = await insertMany(store, where, seqs, (seq) => ({ replyToSeq: seq }));
      for (const seq of seqs) {
        expect(plain(await readOne(store, at(where, seq)))).toEqual(plain(rows.get(seq)));
      }
      const pair = await readRange(store, at(where, SEQ_MAX - 1n), SEQ_MAX);
      expect(seqsOf(pair.records)).toEqual([SEQ_MAX - 1n, SEQ_MAX]);
    });

    it('B03 reads buckets 2^31 − 1 and 2^31', async () => {
      const { store } = opened();
      const where = somewhere();
      const seqs = [8_796_093_022_207n, 8_796_093_022_208n];
      expect(seqs.map(bucketOf)).toEqual([2n ** 31n - 1n, 2n ** 31n]);
      const rows = await insertMany(store, where, seqs);
      for (const seq of seqs)
        expect(plain(await readOne(store, at(where, seq)))).toEqual(plain(rows.get(seq)));
    });

    it(
      'B04 reads 2,048 even seqs by IN lists at the cap, and 100 and 101 of them',
      async () => {
        const { store } = opened();
        const where = somewhere(0n);
        const seqs = Array.from({ length: 2048 }, (_, i) => BigInt(i * 2));
        const rows = await insertMany(store, where, seqs, () => ({ payload: randomBytes(16) }));
        for (const count of [100, 101, 200, 2048]) {
          const statements = inStatements(seqs.slice(0, count));
          const got = await store.readGroup(groupRead(where, statements));
          expect(seqsOf(got.records)).toEqual(seqs.slice(0, count));
          expect(got.cost.recordStatements).toBe(Math.ceil(count / 100));
          expect(got.cost.summaryStatements).toBe(Math.ceil(count / 100));
          expect(got.cost.rows).toBe(count);
        }
        const all = await store.readGroup(groupRead(where, inStatements(seqs)));
        for (const record of all.records) {
          expect(Buffer.from(record.messageId)).toEqual(Buffer.from(rows.get(record.seq)?.messageId ?? []));
        }
      },
      TIMEOUT_MS,
    );

    it('B05 answers each row once when an IN list names a seq twice', async () => {
      const { store } = opened();
      const where = somewhere(3n);
      await insertMany(store, where, [3n, 5n]);
      const rows = await store.readGroup(groupRead(where, [{ shape: 'in', seqs: [3n, 5n, 5n, 5n] }]));
      expect(seqsOf(rows.records)).toEqual([3n, 5n]);
    });

    it('reads an IN list of absent and present seqs: the present ones', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await insertMany(store, where, [1n, 9n]);
      const rows = await store.readGroup(groupRead(where, [{ shape: 'in', seqs: [1n, 4n, 9n, 12n] }]));
      expect(seqsOf(rows.records)).toEqual([1n, 9n]);
    });

    it('includes the surplus rows of a covering range, and both bounds', async () => {
      const { store } = opened();
      const where = somewhere(10n);
      await insertMany(store, where, [9n, 10n, 11n, 12n, 13n]);
      const rows = await store.readGroup(groupRead(where, [{ shape: 'covering', from: 10n, to: 12n }]));
      expect(seqsOf(rows.records)).toEqual([10n, 11n, 12n]);
    });

    it('joins the rows of several statements of one visit', async () => {
      const { store } = opened();
      const where = somewhere(1n);
      await insertMany(store, where, [1n, 2n, 100n, 200n, 300n]);
      const rows = await store.readGroup(
        groupRead(where, [
          { shape: 'range', from: 1n, to: 2n },
          { shape: 'in', seqs: [100n, 300n] },
        ]),
      );
      expect(seqsOf(rows.records)).toEqual([1n, 2n, 100n, 300n]);
      expect(rows.cost.recordStatements).toBe(2);
    });

    it('S-4 answers a range over the seam of two buckets with the rows of the bucket asked only', async () => {
      const { store } = opened();
      const where = somewhere(4095n);
      await insertMany(store, where, [4094n, 4095n, 4096n, 4097n]);
      const low = await store.readGroup(groupRead(where, [{ shape: 'range', from: 4000n, to: 5000n }]));
      expect(seqsOf(low.records)).toEqual([4094n, 4095n]);
      const high = await store.readGroup(
        groupRead(at(where, 4096n), [{ shape: 'range', from: 4096n, to: 5000n }]),
      );
      expect(seqsOf(high.records)).toEqual([4096n, 4097n]);
    });

    it(
      'S-4 reads a whole bucket: 4,096 rows, no more',
      async () => {
        const { store } = opened();
        const where = somewhere(4096n);
        const seqs = Array.from({ length: 4096 }, (_, i) => 4096n + BigInt(i));
        await insertMany(store, where, [4095n, ...seqs, 8192n], () => ({ payload: randomBytes(8) }));
        const rows = await store.readGroup(groupRead(where, [{ shape: 'range', from: 0n, to: 100_000n }]));
        expect(rows.records.length).toBe(4096);
        expect(seqsOf(rows.records)).toEqual(seqs);
      },
      TIMEOUT_MS,
    );

    it.each([
      { count: 500, bytes: 4 * 1024 },
      { count: 100, bytes: 64 * 1024 },
    ])(
      'B07 follows all pages of a range of $count rows of $bytes bytes',
      async ({ count, bytes }) => {
        const { store } = opened();
        const where = somewhere(1n);
        const seqs = Array.from({ length: count }, (_, i) => BigInt(i + 1));
        const rows = await insertMany(store, where, seqs, () => ({
          payload: randomBytes(bytes),
          mediaMetadata: undefined,
          mentionTargets: undefined,
        }));
        const got = await readRange(store, where, BigInt(count));
        expect(seqsOf(got.records)).toEqual(seqs);
        for (const record of got.records) {
          const stored = rows.get(record.seq)?.payload ?? new Uint8Array();
          expect(Buffer.from(record.payload ?? []).equals(stored)).toBe(true);
        }
        expect(got.cost.recordStatements).toBe(1);
        expect(got.cost.bytes).toBe(count * bytes);
      },
      TIMEOUT_MS,
    );

    it(
      'B31 a read bounded in bytes says what is left of it, and in its next rounds comes to its end',
      async () => {
        const { store } = opened();
        const where = somewhere(1n);
        const seqs = Array.from({ length: 70 }, (_, i) => BigInt(i + 1));
        await insertMany(store, where, seqs, () => ({
          payload: randomBytes(4096),
          mediaMetadata: undefined,
          mentionTargets: undefined,
        }));
        const even = seqs.filter((seq) => seq % 2n === 0n && seq > 30n);
        const shapes: ReadStatement[][] = [
          [{ shape: 'range', from: 1n, to: 70n }],
          [
            { shape: 'covering', from: 0n, to: 30n },
            { shape: 'in', seqs: even },
          ],
        ];
        for (const statements of shapes) {
          const wanted = seqs.filter((seq) => statements.some((statement) => asksFor(statement, seq)));
          const read: bigint[] = [];
          let rest: readonly ReadStatement[] | undefined = statements;
          for (let round = 0; rest !== undefined; round++) {
            expect(round).toBeLessThan(wanted.length);
            const bounded = { ...groupRead(where, rest), bytesMax: 5000, isRepeated: true };
            const got: GroupRows = await store.readGroup(bounded);
            expect(got.records.length).toBeGreaterThan(0);
            expect(got.cost.bytes).toBe(got.records.length * 4096);
            read.push(...got.records.map(({ seq }) => seq));
            const left = wanted.filter((seq) => got.unread?.some((statement) => asksFor(statement, seq)));
            expect(left.filter((seq) => read.includes(seq))).toEqual([]);
            expect(read.length + left.length).toBe(wanted.length);
            rest = got.unread;
          }
          expect(read.sort((a, b) => Number(a - b))).toEqual(wanted);
        }
        const whole = { ...groupRead(where, [{ shape: 'range', from: 1n, to: 70n }]), bytesMax: 2 ** 30 };
        expect((await store.readGroup(whole)).unread).toBeUndefined();
      },
      TIMEOUT_MS,
    );

    it('B32 keeps payload bytes of neighbours and tenants apart', async () => {
      const { store } = opened();
      const tenants = [somewhere(1n), somewhere(1n)];
      const sizes = [10, 4095, 4096, 8192];
      for (const [which, where] of tenants.entries()) {
        const seqs = sizes.map((_, i) => BigInt(i + 1));
        await insertMany(store, where, seqs, (seq) => ({
          payload: new Uint8Array(sizes[Number(seq) - 1] as number).fill(which === 0 ? 0xa1 : 0xb2),
        }));
      }
      for (const [which, where] of tenants.entries()) {
        const rows = await readRange(store, where, BigInt(sizes.length));
        expect(rows.records.length).toBe(sizes.length);
        for (const record of rows.records) {
          expect(record.payload?.length).toBe(sizes[Number(record.seq) - 1]);
          expect(record.payload?.every((byte) => byte === (which === 0 ? 0xa1 : 0xb2))).toBe(true);
        }
      }
    });

    it('B41 tells byte-swapped tenants and conversations and ids with leading zeros apart', async () => {
      const { store } = opened();
      const straight = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
      const swapped = Buffer.from('33221100554477668899aabbccddeeff', 'hex');
      // A random conversation, so that a store that outlives the run starts empty here.
      const shared = conversation();
      const ids = ['00'.repeat(16), `${'00'.repeat(15)}01`, `0f${'00'.repeat(15)}`].map((hex) =>
        message(Buffer.from(hex, 'hex')),
      );
      for (const [i, bytes] of [straight, swapped].entries()) {
        const where = { tenantId: tenant(bytes), conversationId: shared, seq: 1n };
        for (const [k, messageId] of ids.entries()) {
          const record = fullRecord(BigInt(k + 1), { messageId, clientMessageId: `tenant ${i}` });
          await store.insertRecord(at(where, record.seq), record, life());
        }
      }
      for (const [i, bytes] of [straight, swapped].entries()) {
        const where = { tenantId: tenant(bytes), conversationId: shared, seq: 1n };
        const records = [...(await readRange(store, where, 3n)).records].sort((a, b) =>
          Number(a.seq - b.seq),
        );
        expect(records.map((record: MessageRecord) => Buffer.from(record.messageId).toString('hex'))).toEqual(
          ids.map((id) => Buffer.from(id).toString('hex')),
        );
        expect(records.map((record) => record.clientMessageId)).toEqual(Array(3).fill(`tenant ${i}`));
      }
      const nobody = { tenantId: tenant(), conversationId: shared, seq: 1n };
      expect((await readRange(store, nobody, 3n)).records).toEqual([]);
    });
  });
}
