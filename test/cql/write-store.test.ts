/** The CQL write store on a scripted session: answers that a real server cannot be made to give, and what is sent. */

import { randomBytes } from 'node:crypto';
import { types } from 'cassandra-driver';
import { describe, expect, it } from 'vitest';
import { CqlWriteStore } from '../../src/cql/write-store.js';
import { WINDOW_ATTEMPTS_MAX } from '../../src/domain/limits.js';
import { activity, conversation, life, message, somewhere, tenant, user } from '../stores/fixtures.js';
import { headWrite, place, plainValue, reservation } from '../stores/write-contract.js';
import { type Answer, FakeSession, page, recordRow } from './fake-session.js';

const CORRUPT = { code: 'STORE_CORRUPT' } as const;

function storeOn(answer?: Answer): { store: CqlWriteStore; session: FakeSession } {
  const session = new FakeSession(answer);
  return { store: new CqlWriteStore(session, 'ks'), session };
}

/** Every method once, with this seq wherever one is given. */
function everyCall(store: CqlWriteStore, seq: bigint): (() => Promise<unknown>)[] {
  const where = somewhere(seq);
  const { tenantId, conversationId } = where;
  const entry = reservation({ seq });
  return [
    () => store.reserve(entry),
    () => store.complete(entry),
    () => store.writeHead(tenantId, conversationId, headWrite({ latestSeq: seq })),
    () => store.advanceEarliest(tenantId, conversationId, seq),
    () => store.putReaction(where, { userId: user(), reactionKey: 'a', createdAtMs: 1n }),
    () => store.readReaction(where, user()),
    () => store.readReactionsPage(where, { after: user(), limit: 1 }),
    () => store.putIndex(tenantId, message(), { conversationId, seq }, life()),
    () => store.readRecord(where),
  ];
}

describe('sequence numbers', () => {
  it.each([2n ** 63n, -1n])('S-2 R1.1 seq %s is SEQ_RANGE before anything is sent', async (seq) => {
    const { store, session } = storeOn();
    for (const call of everyCall(store, seq)) {
      await expect(call()).rejects.toMatchObject({ code: 'SEQ_RANGE' });
    }
    await expect(store.readReactions(somewhere(seq))[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'SEQ_RANGE',
    });
    expect(session.asked).toEqual([]);
  });
});

describe('what is sent', () => {
  it('R2.3 D24 client_dedup is written conditionally and read serially; of R2 tables no other is', async () => {
    const { store, session } = storeOn(({ statement }) =>
      page(statement.access === 'conditional' ? [{ '[applied]': true }] : []),
    );
    for (const call of everyCall(store, 1n)) await call();
    const { tenantId, senderId, clientMessageId } = reservation();
    const where = place();
    await store.read(tenantId, senderId, clientMessageId);
    await store.claimHead(where.tenantId, where.conversationId, 1n);
    await store.readHead(where.tenantId, where.conversationId);
    await store.listHeads(undefined, 1);
    await store.readBucket(where.tenantId, where.conversationId, 0n);
    await store.lookup(tenantId, message());
    await store.reserveWindow(where.tenantId, where.conversationId, 1, 1n);
    await store.saveCheckpoint('a', 'b');
    await store.loadCheckpoint('a');
    const tables = (access: string) => [
      ...new Set(session.asked.filter((a) => a.statement.access === access).map((a) => a.statement.table)),
    ];
    expect(tables('conditional').sort()).toEqual(['client_dedup', 'mailjoin_sequence']);
    expect(tables('serial')).toEqual(['client_dedup']);
    const plain = [...tables('read'), ...tables('write')];
    expect(plain).not.toContain('client_dedup');
    expect(plain).toContain('conversation_head');
  });

  it('D18 R3.2 nothing is bound as null, and no statement deletes', async () => {
    const { store, session } = storeOn();
    const where = place();
    const bare = headWrite({ lastSenderId: undefined, preview: undefined });
    await store.writeHead(where.tenantId, where.conversationId, bare);
    for (const call of everyCall(store, 1n)) await call().catch(() => undefined);
    expect(session.asked.length).toBeGreaterThan(5);
    for (const { statement, values } of session.asked) {
      expect(statement.cql).not.toMatch(/\bDELETE\b|\bnull\b/i);
      expect(values).not.toContain(null);
      // Unset is right where a column is left as it is; here every column has a value.
      expect(values).not.toContain(undefined);
    }
  });
});

describe('rows that no writer of ours leaves', () => {
  const ghost = { message_id: null, conversation_seq: null, state: 1, created_at: null };

  it('D7 B12 a client_dedup row without its ids reads as absent, and a reservation that meets it is STORE_CORRUPT', async () => {
    const { store } = storeOn(({ statement }) =>
      page([statement.access === 'conditional' ? { '[applied]': false, ...ghost } : ghost]),
    );
    const entry = reservation();
    expect(await store.read(entry.tenantId, entry.senderId, entry.clientMessageId)).toBeUndefined();
    await expect(store.reserve(entry)).rejects.toMatchObject(CORRUPT);
  });

  it('B12 an index row that expires just now is absent', async () => {
    const { store } = storeOn(() => page([{ conversation_id: null, conversation_seq: null }]));
    expect(await store.lookup(tenant(), message())).toBeUndefined();
  });

  it('R1.1 an index row whose seq has bit 63 set is STORE_CORRUPT', async () => {
    const row = { conversation_id: new types.Uuid(randomBytes(16)), conversation_seq: -1n };
    const { store } = storeOn(() => page([row]));
    await expect(store.lookup(tenant(), message())).rejects.toMatchObject(CORRUPT);
  });

  it('B07 a part of the reactions is read over empty pages too, and a row without a key only counts', async () => {
    const ids = Array.from({ length: 3 }, () => user());
    const rows = ids.map((id, index) => ({
      user_id: new types.Uuid(Buffer.from(id)),
      reaction_key: index === 1 ? null : 'a',
      created_at: 1n,
    }));
    const script = [page([], 'b'), page(rows.slice(0, 2), 'c'), page(rows.slice(2))];
    const { store } = storeOn(({ pageState }) => script[['b', 'c'].indexOf(pageState ?? '') + 1] ?? page([]));
    const whole = await store.readReactionsPage(somewhere(), { after: undefined, limit: 3 });
    expect(plainValue(whole.reactions.map(({ userId }) => userId))).toEqual(plainValue([ids[0], ids[2]]));
    expect(whole.next).toBeUndefined();
    const part = await store.readReactionsPage(somewhere(), { after: undefined, limit: 2 });
    expect(plainValue([part.reactions.length, part.next])).toEqual(plainValue([1, ids[1]]));
  });

  it('R4.2 a row of a foreign bucket is STORE_CORRUPT', async () => {
    const { store } = storeOn(() => page([recordRow(4095n), recordRow(4096n)]));
    await expect(store.readBucket(tenant(), conversation(), 0n)).rejects.toMatchObject(CORRUPT);
  });

  it('R4.2 more than 4,096 rows of a bucket are STORE_CORRUPT, however they are paged', async () => {
    const rows = Array.from({ length: 2049 }, (_, seq) => recordRow(BigInt(seq)));
    const { store } = storeOn(({ pageState }) => page(rows, pageState === undefined ? 'b' : undefined));
    await expect(store.readBucket(tenant(), conversation(), 0n)).rejects.toMatchObject(CORRUPT);
  });

  it('a head without any column of the owner is told with E alone', async () => {
    const columns = {
      latest_conversation_seq: null,
      earliest_available_conversation_seq: 4n,
      last_message_id: null,
      last_activity_id: null,
      last_sender_id: null,
      preview_or_placeholder: null,
      member_count: 3,
      updated_at: null,
      fencing_epoch: null,
      head_version: null,
    };
    const { store } = storeOn(() => page([columns]));
    const head = await store.readHead(tenant(), conversation());
    expect(head).toMatchObject({ earliestAvailableSeq: 4n, memberCount: 3, latestSeq: undefined });
  });
});

describe('pages', () => {
  it('B07 a bucket is read on after an empty page', async () => {
    const { store } = storeOn(({ pageState }) => {
      if (pageState === undefined) return page([recordRow(9n)], 'a');
      return pageState === 'a' ? page([], 'b') : page([recordRow(3n)]);
    });
    const rows = await store.readBucket(tenant(), conversation(), 0n);
    expect(rows.map(({ seq }) => seq)).toEqual([3n, 9n]);
  });

  it('B07 conversations whose tokens are equal are listed once each, whatever the step', async () => {
    const uuid = (byte: number) => new types.Uuid(Buffer.alloc(16, byte));
    const ring = [
      [-5n, 1],
      [7n, 1],
      [7n, 2],
      [7n, 3],
      [7n, 4],
      [9n, 1],
    ] as const;
    const row = ([token, byte]: readonly [bigint, number]) => ({
      tenant_id: uuid(byte),
      conversation_id: uuid(0xf0),
      head_token: token,
      latest_conversation_seq: 1n,
      earliest_available_conversation_seq: null,
      last_message_id: Buffer.from(message()),
      last_activity_id: Buffer.from(activity()),
      last_sender_id: null,
      preview_or_placeholder: null,
      member_count: null,
      updated_at: null,
      fencing_epoch: 1n,
      head_version: 1n,
    });
    for (const limit of [1, 2, 3, 6, 7]) {
      const { store } = storeOn(({ values }) => {
        const [from] = values;
        return page(ring.filter(([token]) => typeof from !== 'bigint' || token >= from).map(row));
      });
      const seen: number[] = [];
      let from: string | undefined;
      do {
        const { heads, next } = await store.listHeads(from, limit);
        seen.push(...heads.map(({ tenantId }) => tenantId[0] as number));
        from = next;
      } while (from !== undefined);
      expect(seen).toEqual([1, 1, 2, 3, 4, 1]);
    }
  });
});

describe('windows of sequence numbers', () => {
  it('go on from the mark that a refusal tells', async () => {
    let refusals = 0;
    const { store } = storeOn(({ statement, values }) => {
      if (statement.access === 'read') return page([{ next_seq: 5n, reserved_at: 10n }]);
      if (refusals++ === 0) return page([{ '[applied]': false, next_seq: 105n, reserved_at: 20n }]);
      expect(values).toContain(105n);
      return page([{ '[applied]': true }]);
    });
    const { tenantId, conversationId } = place();
    const window = await store.reserveWindow(tenantId, conversationId, 100, 15n);
    expect(window).toEqual({ first: 105n, count: 100, idFloorMs: 20n });
  });

  it('are STORE_UNAVAILABLE where others reserve without pause, after a bounded number of attempts', async () => {
    let mark = 1n;
    const { store, session } = storeOn(() =>
      page([{ '[applied]': false, next_seq: ++mark, reserved_at: 1n }]),
    );
    const { tenantId, conversationId } = place();
    await expect(store.reserveWindow(tenantId, conversationId, 1, 1n)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect(session.asked.length).toBe(1 + WINDOW_ATTEMPTS_MAX);
  });

  it('B10 a retried reservation of the same mark that finds it taken is given the next one', async () => {
    const answers = [
      page([]),
      page([{ '[applied]': false, next_seq: 11n, reserved_at: 1n }]),
      page([{ '[applied]': true }]),
    ];
    const { store } = storeOn(() => answers.shift() ?? page([]));
    const { tenantId, conversationId } = place();
    expect(plainValue(await store.reserveWindow(tenantId, conversationId, 10, 1n))).toMatchObject({
      first: 11n,
    });
  });
});
