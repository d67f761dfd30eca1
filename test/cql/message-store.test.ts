/** What the store makes of answers that no healthy server gives, and what exactly it sends. */
import { types } from 'cassandra-driver';
import { describe, expect, it } from 'vitest';
import { CqlStore } from '../../src/cql/message-store.js';
import type { CqlPage } from '../../src/cql/session.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { PAGE_BYTES_MAX, REPEATED_PAGE_ROWS } from '../../src/domain/limits.js';
import type { Clock, GroupRead, GroupRows } from '../../src/domain/ports.js';
import type { ReadStatement } from '../../src/domain/statement.js';
import {
  activity,
  at,
  bareRecord,
  conversation,
  fullRecord,
  groupRead,
  life,
  readRange,
  seqsOf,
  somewhere,
  summary,
} from '../stores/fixtures.js';
import { type Answer, type Asked, FakeSession, page, recordRow, summaryRow } from './fake-session.js';

const clock: Clock = { nowMs: () => 41, epochMs: () => 0 };

function storeOn(session: FakeSession): CqlStore {
  return new CqlStore(session, 'ks', clock);
}

/** Answers record statements by one function, summaries by another. */
function byTable(records: Answer, summaries: Answer = () => page([])): Answer {
  return (asked) => (asked.statement.table === 'message_record' ? records(asked) : summaries(asked));
}

const isFurther = (asked: Asked) => asked.pageState !== undefined;

describe('a group read that cannot be answered', () => {
  it('R4.2 S-4 a row of a foreign bucket is STORE_CORRUPT', async () => {
    const session = new FakeSession(byTable(() => page([recordRow(4095n), recordRow(4096n)])));
    await expect(readRange(storeOn(session), somewhere(1n), 9n)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
    });
  });

  it('R4.2 S-4 a summary of a foreign bucket is STORE_CORRUPT', async () => {
    const session = new FakeSession(
      byTable(
        () => page([]),
        () => page([summaryRow(4096n)]),
      ),
    );
    await expect(readRange(storeOn(session), somewhere(1n), 9n)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
    });
  });

  it.each(['message_record', 'message_reaction_summary'])(
    'R4.2 S-4 more than 4,096 rows of %s are STORE_CORRUPT, however they are paged',
    async (table) => {
      const row = table === 'message_record' ? recordRow : summaryRow;
      const full = Array.from({ length: 2048 }, (_, seq) => row(BigInt(seq)));
      const session = new FakeSession((asked) => {
        if (asked.statement.table !== table) return page([]);
        if (asked.pageState === undefined) return page(full, 'a');
        return asked.pageState === 'a' ? page(full, 'b') : page([row(7n)]);
      });
      await expect(readRange(storeOn(session), somewhere(0n), 4095n)).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
      });
    },
  );

  it('fails as a whole when the summaries fail, though the records came', async () => {
    const session = new FakeSession(
      byTable(
        () => page([recordRow(1n)]),
        () => Promise.reject(new MailjoinError('STORE_UNAVAILABLE')),
      ),
    );
    await expect(readRange(storeOn(session), somewhere(1n))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  it('fails as a whole when a further page fails', async () => {
    const session = new FakeSession(
      byTable((asked) => {
        if (isFurther(asked)) throw new MailjoinError('STORE_UNAVAILABLE');
        return page([recordRow(1n)], 'next');
      }),
    );
    await expect(readRange(storeOn(session), somewhere(1n))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  it('is STORE_UNAVAILABLE at its timeout, and then asks for no further page', async () => {
    let answerLate: (late: CqlPage) => void = () => {};
    const late = new Promise<CqlPage>((resolve) => {
      answerLate = resolve;
    });
    const session = new FakeSession(
      byTable(() => late),
      20,
    );
    await expect(readRange(storeOn(session), somewhere(1n))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    answerLate(page([recordRow(1n)], 'next'));
    await late;
    await new Promise(setImmediate);
    expect(session.asked.filter(isFurther)).toEqual([]);
  });

  it.each([2n ** 63n, -1n])('S-2 D6 a statement for seq %s is a bug: nothing is sent', async (seq) => {
    const session = new FakeSession();
    const store = storeOn(session);
    const where = somewhere(1n);
    for (const statement of [
      { shape: 'range', from: seq, to: seq },
      { shape: 'covering', from: 1n, to: seq },
      { shape: 'in', seqs: [1n, seq] },
    ] as const) {
      await expect(store.readGroup(groupRead(where, [statement]))).rejects.toThrow(/bit 63/);
    }
    expect(session.asked).toEqual([]);
  });
});

describe('what a group read sends and counts', () => {
  it("R4.4 sends both tables' statements before either answers", async () => {
    let answer: (empty: CqlPage) => void = () => {};
    const gate = new Promise<CqlPage>((resolve) => {
      answer = resolve;
    });
    const session = new FakeSession(() => gate);
    const reading = readRange(storeOn(session), somewhere(1n), 9n);
    await new Promise(setImmediate);
    expect(session.asked.map((asked) => asked.statement.table)).toEqual([
      'message_record',
      'message_reaction_summary',
    ]);
    answer(page([]));
    await reading;
  });

  it('B07 goes on after an empty page, for both tables, and counts the further pages', async () => {
    const pages: Answer = (asked) => {
      const row = asked.statement.table === 'message_record' ? recordRow : summaryRow;
      if (asked.pageState === undefined) return page([row(3n)], 'one');
      return asked.pageState === 'one' ? page([], 'two') : page([row(2n)]);
    };
    const got = await readRange(storeOn(new FakeSession(pages)), somewhere(1n), 9n);
    expect(got.records.map((record) => record.seq)).toEqual([3n, 2n]);
    expect(got.summaries.map((row) => row.seq)).toEqual([3n, 2n]);
    expect(got.cost).toMatchObject({ recordStatements: 1, summaryStatements: 1, furtherPages: 4, rows: 2 });
  });

  it('B07 begins with an empty page that has a next one', async () => {
    const session = new FakeSession(
      byTable((asked) => (isFurther(asked) ? page([recordRow(5n)]) : page([], 'next'))),
    );
    const got = await readRange(storeOn(session), somewhere(1n), 9n);
    expect(got.records.length).toBe(1);
  });

  it('asks for a read that failed before in small pages, and for large rows in pages of few from then on', async () => {
    const payload = Buffer.alloc(PAGE_BYTES_MAX);
    const large = byTable((asked) =>
      isFurther(asked) ? page([recordRow(2n, { payload_or_ciphertext: payload })]) : page([], 'next'),
    );
    const session = new FakeSession(large);
    const store = storeOn(session);
    const where = somewhere(1n);
    const read = groupRead(where, [{ shape: 'range', from: 1n, to: 9n }]);
    const pageRows = async (asked: GroupRead): Promise<Set<number | undefined>> => {
      session.asked.length = 0;
      await store.readGroup(asked);
      const ofSummaries = session.asked.filter(({ statement }) => statement.table !== 'message_record');
      // They are small, and not bounded: many pages of few rows would use up the read's time.
      expect(new Set(ofSummaries.map((each) => each.pageRows))).toEqual(new Set([undefined]));
      const ofRecords = session.asked.filter(({ statement }) => statement.table === 'message_record');
      return new Set(ofRecords.map((each) => each.pageRows));
    };
    expect(await pageRows({ ...read, isRepeated: true })).toEqual(new Set([REPEATED_PAGE_ROWS]));
    expect(await pageRows(read)).toEqual(new Set([1]));
    expect(await pageRows({ ...read, conversationId: conversation() })).toEqual(new Set([undefined]));
  });

  it('B31 ends its pages where the rows have reached their bytes, and says what is left', async () => {
    const payload = { payload_or_ciphertext: Buffer.alloc(10) };
    const pages = byTable((asked) =>
      isFurther(asked)
        ? page([])
        : page(
            [8n, 6n].map((seq) => recordRow(seq, payload)),
            'next',
          ),
    );
    const bytesMax = 20;
    const read = async (statement: ReadStatement): Promise<GroupRows> => {
      const store = storeOn(new FakeSession(pages));
      return store.readGroup({ ...groupRead(somewhere(1n), [statement]), bytesMax });
    };
    const range = await read({ shape: 'range', from: 1n, to: 9n });
    expect(range).toMatchObject({
      unread: [{ shape: 'range', from: 1n, to: 5n }],
      cost: { furtherPages: 0 },
    });
    expect((await read({ shape: 'in', seqs: [1n, 4n, 6n, 8n] })).unread).toEqual([
      { shape: 'in', seqs: [1n, 4n] },
    ]);
    for (const whole of [
      { shape: 'range', from: 6n, to: 9n } as const,
      { shape: 'in', seqs: [6n, 8n] } as const,
    ]) {
      expect((await read(whole)).unread).toBeUndefined();
    }
  });

  it('ends its pages after half of its time, where it is bounded; a read that is not goes on', async () => {
    let nowMs = 0;
    const session = new FakeSession(
      byTable((asked) => {
        nowMs += 300;
        const at = Number(asked.pageState ?? 0);
        return page([recordRow(BigInt(9 - at))], at < 8 ? String(at + 1) : undefined);
      }),
      1000,
    );
    const store = new CqlStore(session, 'ks', { nowMs: () => nowMs, epochMs: () => 0 });
    const read = groupRead(somewhere(1n), [{ shape: 'range', from: 1n, to: 9n }]);
    const bounded = await store.readGroup({ ...read, bytesMax: 1e6 });
    expect(seqsOf(bounded.records)).toEqual([8n, 9n]);
    expect(bounded.unread).toEqual([{ shape: 'range', from: 1n, to: 7n }]);
    const whole = await store.readGroup(read);
    expect([whole.records.length, whole.unread]).toEqual([9, undefined]);
  });

  it('B04 binds an IN list as one value, in one text for all lengths', async () => {
    const session = new FakeSession();
    const store = storeOn(session);
    for (const seqs of [[1n], [1n, 3n, 5n]]) {
      await store.readGroup(groupRead(somewhere(1n), [{ shape: 'in', seqs }]));
    }
    const records = session.asked.filter((asked) => asked.statement.table === 'message_record');
    expect(records.map((asked) => asked.values[3])).toEqual([[1n], [1n, 3n, 5n]]);
    expect(new Set(records.map((asked) => asked.statement.cql)).size).toBe(1);
  });

  it('tells when it was sent, so that lives are counted from there', async () => {
    expect((await readRange(storeOn(new FakeSession()), somewhere(1n))).sentAtMs).toBe(41);
  });

  it('B38 names its columns in every statement', async () => {
    const session = new FakeSession();
    await readRange(storeOn(session), somewhere(1n));
    for (const { statement } of session.asked) expect(statement.cql).not.toMatch(/\*/);
  });
});

describe('rows as the domain sees them', () => {
  const readRow = async (over: Parameters<typeof recordRow>[1]) => {
    const session = new FakeSession(byTable(() => page([recordRow(1n, over)])));
    return readRange(storeOn(session), somewhere(1n));
  };

  it.each(['message_id', 'created_at', 'state'])('B12 B15 a row without %s is absent', async (column) => {
    const got = await readRow({ [column]: null });
    expect(got.records).toEqual([]);
    expect(got.cost.rows).toBe(0);
  });

  it.each([0, 15, 17])('B41 a message_id of %s bytes in the store is absent', async (length) => {
    expect((await readRow({ message_id: Buffer.alloc(length, 1) })).records).toEqual([]);
  });

  it.each([
    [null, null, null, undefined],
    [9, null, null, 9],
    [null, 8, null, 8],
    [9, 8, 7, 7],
    [5, 8, 7, 5],
  ])('D8 of TTLs %s, %s and %s the least remains', async (created_ttl, payload_ttl, state_ttl, least) => {
    const got = await readRow({ created_ttl, payload_ttl, state_ttl });
    expect(got.records[0]?.ttlSeconds).toBe(least);
  });

  it('D22 a dek_id with a null member names an unknown key, never "unsealed"', async () => {
    const got = await readRow({ dek_id: new types.Tuple('scope', null, null) });
    expect(got.records[0]?.dekId).toEqual({ scope: 'scope', id: '', version: 0 });
  });

  it('B47 null values, 0 and below in counts are skipped; a null map is no reactions; the message is served', async () => {
    const counts = new Map<string, number | null>([
      ['a', null],
      ['b', 0],
      ['c', -1],
      ['__proto__', 2 ** 31 - 1],
      ['', 4],
    ]);
    const session = new FakeSession(
      byTable(
        () => page([recordRow(1n), recordRow(2n)]),
        () => page([summaryRow(1n, { counts }), summaryRow(2n), summaryRow(3n, { summary_version: null })]),
      ),
    );
    const got = await readRange(storeOn(session), somewhere(1n), 3n);
    expect(got.records.length).toBe(2);
    expect(got.summaries.map((row) => row.counts)).toEqual([[['__proto__', 2 ** 31 - 1]], []]);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});

describe('what a write sends', () => {
  it('S-2 R1.1 seqs from 2^63 on are refused before the store is touched', async () => {
    const session = new FakeSession();
    const store = storeOn(session);
    const bad = 2n ** 63n;
    const refused = { code: 'SEQ_RANGE' };
    await expect(store.insertRecord(somewhere(bad), fullRecord(bad), life())).rejects.toMatchObject(refused);
    await expect(
      store.insertRecord(somewhere(1n), fullRecord(1n, { recallEventSeq: bad }), life()),
    ).rejects.toMatchObject(refused);
    await expect(
      store.recallRecord(somewhere(1n), { recallEventSeq: bad, lastActivityId: activity() }, life()),
    ).rejects.toMatchObject(refused);
    await expect(store.putSummary(somewhere(bad), summary(bad, 1n, []))).rejects.toMatchObject(refused);
    expect(session.asked).toEqual([]);
  });

  it('D18 binds absent columns as unset, never as null', async () => {
    const session = new FakeSession();
    await storeOn(session).insertRecord(somewhere(1n), bareRecord(1n), life());
    const values = session.asked[0]?.values ?? [];
    expect(values).not.toContain(null);
    expect(values.filter((value) => value === undefined).length).toBe(15);
  });

  it('D8 uses a statement without TTL for rows that last, and binds the TTL of others before the timestamp', async () => {
    const session = new FakeSession();
    const store = storeOn(session);
    const where = somewhere(1n);
    await store.insertRecord(where, fullRecord(1n), life(77n));
    await store.insertRecord(where, fullRecord(1n), life(77n, 60));
    const recall = { recallEventSeq: 5n, lastActivityId: activity() };
    await store.recallRecord(where, recall, life(78n));
    await store.recallRecord(where, recall, life(78n, 61));
    const [lasting, expiring, lastingRecall, expiringRecall] = session.asked;
    expect(lasting?.statement.cql).not.toContain('TTL');
    expect(lasting?.values.at(-1)).toBe(77n);
    expect(expiring?.statement.cql).toMatch(/USING TTL \? AND TIMESTAMP \?$/);
    expect(expiring?.values.slice(-2)).toEqual([60, 77n]);
    expect(lastingRecall?.statement.cql).not.toContain('TTL');
    expect(lastingRecall?.values[0]).toBe(78n);
    expect(expiringRecall?.values.slice(0, 2)).toEqual([61, 78n]);
  });

  it('D14 an edit never mentions the recall event', async () => {
    const session = new FakeSession();
    const edit = { payload: Buffer.alloc(3), dekId: undefined };
    await storeOn(session).editRecord(
      somewhere(1n),
      { ...edit, editedAtActivityId: activity(), lastActivityId: activity() },
      life(),
    );
    expect(session.asked[0]?.statement.cql).not.toContain('recall_event');
  });

  it('D19 a summary of any number of keys is one statement, with its version as the timestamp', async () => {
    const session = new FakeSession();
    const store = storeOn(session);
    const where = somewhere(4097n);
    await store.putSummary(where, summary(4097n, 9n, [['a', 1]]));
    await store.putSummary(
      at(where, 4098n),
      summary(4098n, 10n, [
        ['a', 1],
        ['b', 0],
      ]),
    );
    expect(new Set(session.asked.map((asked) => asked.statement.cql)).size).toBe(1);
    expect(session.asked[1]?.values[0]).toBe(10n);
    expect(session.asked[1]?.values[1]).toEqual(
      new Map([
        ['a', 1],
        ['b', 0],
      ]),
    );
  });
});
