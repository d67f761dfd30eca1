// One result per entry: every kind of result, alone among good neighbours (design: "One result per entry").
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { RequestKind } from '../../src/domain/entries.js';
import type { MessageId, TenantId } from '../../src/domain/ids.js';
import { GROUP_READ_BYTES_MAX } from '../../src/domain/limits.js';
import { dekKey, MessageState } from '../../src/domain/message.js';
import { ResultCode } from '../../src/domain/result.js';
import {
  bodyOf,
  makeWorld,
  names,
  newConversation,
  placeOf,
  requestFor,
  revision,
  textOf,
  unavailable,
} from './harness.js';

describe('an entry that yields no body', () => {
  it('is NOT_FOUND without a row, and when it was deleted', async () => {
    const { add, join } = makeWorld();
    const conversationId = newConversation();
    const good = add(conversationId, 1n, 'good');
    const deleted = add(conversationId, 2n, 'gone', { state: MessageState.DELETED });
    const absent = { ...good, seq: 3n };
    const outcome = await join([absent, good, deleted]);
    expect(names(outcome)).toEqual(['NOT_FOUND', 'OK', 'NOT_FOUND']);
    expect(textOf(outcome, 1)).toBe('good');
  });

  it('is MISMATCH when the row has another message_id, cached or not', async () => {
    const { add, join } = makeWorld();
    const good = add(newConversation(), 5n, 'good');
    const wrong = { ...good, messageId: randomBytes(16) as unknown as MessageId };
    expect(names(await join([good, wrong]))).toEqual(['OK', 'MISMATCH']);
    expect(names(await join([good, wrong]))).toEqual(['OK', 'MISMATCH']);
  });

  it('is NOT_FOUND when a cached message is asked for at other coordinates', async () => {
    const { add, join } = makeWorld();
    const good = add(newConversation(), 5n, 'good');
    await join([good]);
    expect(
      names(await join([{ ...good, seq: 6n }, { ...good, conversationId: newConversation() }, good])),
    ).toEqual(['NOT_FOUND', 'NOT_FOUND', 'OK']);
  });

  it('is TAMPERED when its payload was changed, moved, or is not sealed (D22)', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const good = add(conversationId, 1n, 'good');
    const changed = add(conversationId, 2n, 'changed');
    const record = [...store.records.values()];
    const payload = Uint8Array.from(record[1]?.payload as Uint8Array);
    payload[30] = (payload[30] as number) ^ 1;
    const flipped = add(conversationId, 2n, 'changed', { payload, messageId: changed.messageId });
    const moved = add(conversationId, 3n, 'x', { payload: record[0]?.payload });
    const unsealed = add(conversationId, 4n, 'x', { payload: Buffer.from('plain'), dekId: undefined });
    const outcome = await join([flipped, good, moved, unsealed]);
    expect(names(outcome)).toEqual(['TAMPERED', 'OK', 'TAMPERED', 'TAMPERED']);
    expect(outcome.bodies.count).toBe(1);
  });

  it('is TAMPERED when its envelope is too short or of an unknown suite, without an attempt to open it', async () => {
    const { add, join } = makeWorld();
    const conversationId = newConversation();
    const bad = [
      Buffer.alloc(0),
      Buffer.of(1),
      Buffer.alloc(40, 1),
      Buffer.alloc(60, 9),
      Buffer.alloc(60, 0x81),
    ];
    const references = bad.map((payload, index) => add(conversationId, BigInt(index), 'x', { payload }));
    expect(names(await join(references))).toEqual(bad.map(() => 'TAMPERED'));
  });

  it('is ERASED when its key was destroyed, and UNAVAILABLE when its key is unknown or the provider fails (D12)', async () => {
    const { add, join, keyring, failures } = makeWorld();
    const conversationId = newConversation();
    const erased = { scope: 'test', id: 'erased', version: 1 };
    const broken = { scope: 'test', id: 'broken', version: 1 };
    keyring.answers.set(dekKey(erased), { status: 'destroyed' });
    keyring.answers.set(dekKey(broken), { status: 'failed', cause: new Error('throttled') });
    const outcome = await join([
      add(conversationId, 1n, 'a', { dekId: erased }),
      add(conversationId, 2n, 'b', { dekId: { scope: 'test', id: 'never', version: 1 } }),
      add(conversationId, 3n, 'c', { dekId: broken }),
      add(conversationId, 4n, 'good'),
    ]);
    expect(names(outcome)).toEqual(['ERASED', 'UNAVAILABLE', 'UNAVAILABLE', 'OK']);
    expect(outcome.bodies.count).toBe(1);
    expect(failures).toEqual([]);
  });

  it('is UNAVAILABLE when its key cannot be asked for, also without a payload: a thumbnail is content too (D12)', async () => {
    const { add, join, cache } = makeWorld();
    const dekId = { scope: 'test', id: 'perhaps destroyed', version: 1 };
    const fields = { dekId, payload: undefined, mediaMetadata: Buffer.from('thumbnail') };
    const outcome = await join([add(newConversation(), 1n, '', fields)]);
    expect([names(outcome), outcome.bodies.count]).toEqual([['UNAVAILABLE'], 0]);
    expect(cache.stats().bodies).toBe(0);
  });

  it('is UNAVAILABLE when the store fails twice, and its neighbours of another group are served', async () => {
    const { add, join, store, failures } = makeWorld();
    const a = add(newConversation(), 1n, 'a');
    const b = add(newConversation(), 1n, 'b');
    store.failNext(unavailable(), unavailable(), unavailable());
    const outcome = await join([a, b]);
    expect(names(outcome).sort()).toEqual(['OK', 'UNAVAILABLE']);
    expect(failures).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
    expect(names(await join([a, b]))).toEqual(['OK', 'OK']);
  });

  it('is UNAVAILABLE, not lost, when the opener has a bug; no slot stays reserved', async () => {
    const opener = {
      open: async () => {
        throw new Error('bug');
      },
    };
    const { add, join, cache, failures } = makeWorld({ opener });
    expect(names(await join([add(newConversation(), 1n, 'a')]))).toEqual(['UNAVAILABLE']);
    expect(failures).toEqual(['INTERNAL']);
    expect(cache.stats().reserved).toBe(0);
  });

  it('is DEADLINE when it is unsettled by then; what is there is answered', async () => {
    const { add, join, store } = makeWorld();
    const warm = add(newConversation(), 1n, 'warm');
    await join([warm]);
    const cold = add(newConversation(), 1n, 'cold');
    const release = store.hold();
    const outcome = await join([cold, warm], { deadlineMs: 20 });
    expect(names(outcome)).toEqual(['DEADLINE', 'OK']);
    release();
  });

  it('is DEFERRED when the response is full; the first body is sent whatever its size', async () => {
    const { add, join } = makeWorld();
    const conversationId = newConversation();
    const references = [1n, 2n, 3n].map((seq) => add(conversationId, seq, 'x'.repeat(1000)));
    const first = await join(references, { responseBytesMax: 1 });
    expect(names(first).sort()).toEqual(['DEFERRED', 'DEFERRED', 'OK']);
    const rest = references.filter((_, index) => first.entries.code[index] === ResultCode.DEFERRED);
    expect(names(await join(rest))).toEqual(['OK', 'OK']);
  });

  it('is DEFERRED when the read ended before its row, whose bytes were many; asked for again it is there', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const references = [1n, 2n, 3n].map((seq) => add(conversationId, seq, 'large'));
    const absent = { ...add(newConversation(), 1n, 'other'), conversationId, seq: 4n };
    store.unread = () => [{ shape: 'range', from: 1n, to: 2n }];
    const outcome = await join([...references, absent]);
    expect(names(outcome)).toEqual(['DEFERRED', 'DEFERRED', 'OK', 'NOT_FOUND']);
    expect(store.reads.map(({ bytesMax, isRepeated }) => [bytesMax, isRepeated])).toEqual([
      [GROUP_READ_BYTES_MAX, false],
    ]);
    store.unread = undefined;
    expect(names(await join(references))).toEqual(['OK', 'OK', 'OK']);
    expect(store.reads).toHaveLength(2);
  });

  it('is served to live delivery that joined the read of a backlog which ended before its row', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const references = [1n, 2n, 3n].map((seq) => add(conversationId, seq, `large ${seq}`));
    store.unread = ({ statements: [first] }) =>
      first?.shape !== 'in' && first?.to === 3n ? [{ shape: 'range', from: 1n, to: 2n }] : undefined;
    const release = store.hold();
    const arrived = store.arrival();
    const backlog = join(references);
    await arrived;
    const live = join(references.slice(0, 1), { kind: RequestKind.PUSH_EVENTS });
    release();
    expect(names(await backlog)).toEqual(['OK', 'DEFERRED', 'OK']);
    expect(textOf(await live, 0)).toBe('large 1');
    expect(store.reads).toHaveLength(2);
  });

  it('is read again in small pages when its read has failed', async () => {
    const { add, join, store } = makeWorld();
    store.failNext(unavailable());
    expect(names(await join([add(newConversation(), 1n, 'large')]))).toEqual(['OK']);
    expect(store.reads.map(({ isRepeated }) => isRepeated)).toEqual([false, true]);
  });

  it('is DEFERRED when the response may take no more memory (B21)', async () => {
    const { add, joiner } = makeWorld();
    const conversationId = newConversation();
    const references = Array.from({ length: 20 }, (_, index) =>
      add(conversationId, BigInt(index), 'x'.repeat(5000)),
    );
    const asked: number[] = [];
    const outcome = await joiner.join(requestFor(references), 0, (bytes) => {
      asked.push(bytes);
      return bytes <= 40_000;
    });
    expect(outcome.bodies.buffer.length).toBeLessThanOrEqual(40_000);
    expect(Math.max(...asked)).toBeGreaterThan(40_000);
    expect(new Set(names(outcome))).toEqual(new Set(['OK', 'DEFERRED']));
  });

  it('is as the decoder left it when it is INLINE or INVALID: nothing is read', async () => {
    const { add, joiner, store } = makeWorld();
    const reference = add(newConversation(), 1n, 'x');
    const request = requestFor([reference, reference]);
    request.entries.code[0] = ResultCode.INLINE;
    request.entries.code[1] = ResultCode.INVALID;
    expect(names(await joiner.join(request))).toEqual(['INLINE', 'INVALID']);
    expect(store.reads).toHaveLength(0);
  });
});

describe('bodies', () => {
  it('RECALLED has no content, whatever state says, once the recall event is set (D12, D14)', async () => {
    const { add, join } = makeWorld();
    const conversationId = newConversation();
    const content = { mediaMetadata: Buffer.from('media'), mentionTargets: Buffer.from('mentions') };
    const outcome = await join([
      add(conversationId, 1n, 'secret', { ...content, state: MessageState.RECALLED }),
      add(conversationId, 2n, 'secret', { ...content, state: MessageState.EDITED, recallEventSeq: 9n }),
    ]);
    expect(names(outcome)).toEqual(['RECALLED', 'RECALLED']);
    for (const index of [0, 1]) {
      const body = bodyOf(outcome, index);
      expect(body).toMatchObject({
        state: 1,
        payload: undefined,
        mediaMetadata: undefined,
        mentionTargets: undefined,
      });
    }
    expect(outcome.bodies.buffer.includes('secret')).toBe(false);
  });

  it('B05 are sent once however often they are named; one result per entry, in order', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const [three, five] = [add(conversationId, 3n, 'three'), add(conversationId, 5n, 'five')];
    store.summaries.set(`${Buffer.from(conversationId).toString('hex')}/5`, {
      seq: 5n,
      counts: [['+1', 2]],
      version: 1n,
      updatedAtMs: 1n,
    });
    const references = [five, five, three, five, ...new Array(100).fill(three)];
    for (const pass of ['cold', 'warm']) {
      const outcome = await join(references);
      expect(outcome.bodies.count, pass).toBe(2);
      expect(references.map((_, index) => textOf(outcome, index))).toEqual([
        'five',
        'five',
        'three',
        'five',
        ...new Array(100).fill('three'),
      ]);
      expect([...(bodyOf(outcome, 0)?.reactions?.counts ?? [])]).toEqual([['+1', 2]]);
    }
    expect(store.reads).toHaveLength(1);
  });

  it('B32 of several sizes and tenants never show bytes of their neighbours', async () => {
    const { add, join } = makeWorld();
    const conversationId = newConversation();
    const sizes = [10, 4095, 4096, 8192, 0, 1];
    const references = sizes.map((size, index) =>
      add(conversationId, BigInt(index), String.fromCharCode(65 + index).repeat(size)),
    );
    for (const _ of [0, 1]) {
      const outcome = await join(references);
      sizes.forEach((size, index) => {
        expect(textOf(outcome, index)).toBe(String.fromCharCode(65 + index).repeat(size));
      });
    }
  });

  it('an unsealed payload is served only where the operator allows it (D22)', async () => {
    const { add, join } = makeWorld({ allowUnsealed: true });
    const reference = add(newConversation(), 1n, '', { payload: Buffer.from('e2ee'), dekId: undefined });
    const outcome = await join([reference]);
    expect([names(outcome), textOf(outcome, 0)]).toEqual([['OK'], 'e2ee']);
  });

  it('B42 another tenant gets what it would get for an unknown message', async () => {
    const { add, join } = makeWorld();
    const reference = add(newConversation(), 1n, 'secret');
    await join([reference]);
    const outcome = await join([reference], { tenantId: randomBytes(16) as unknown as TenantId });
    expect(names(outcome)).toEqual(['NOT_FOUND']);
  });

  it('B12 expire before their row can: no hit in the last second of a TTL, nor after it', async () => {
    const { add, join, store, clock } = makeWorld();
    const reference = add(newConversation(), 1n, 'short', { ttlSeconds: 5 });
    await join([reference]);
    clock.now += 3_999;
    await join([reference]);
    expect(store.reads).toHaveLength(1);
    store.records.clear();
    clock.now += 1;
    expect(names(await join([reference]))).toEqual(['NOT_FOUND']);
  });
});

describe("a caller's floor", () => {
  it('is met by a body at or above it; a lower cached body is read again', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const old = add(conversationId, 1n, 'old', { lastActivityId: revision(5) });
    await join([old]);
    const edited = add(conversationId, 1n, 'new', { lastActivityId: revision(7), messageId: old.messageId });
    expect(textOf(await join([old]), 0)).toBe('old');
    expect(textOf(await join([{ ...edited, floor: { activityId: revision(6) } }]), 0)).toBe('new');
    expect(textOf(await join([old]), 0)).toBe('new');
    expect(store.reads).toHaveLength(2);
  });

  it('gives NOT_YET after one further read, and does not hold up entries without it', async () => {
    const { add, join, store } = makeWorld();
    const reference = add(newConversation(), 1n, 'old', { lastActivityId: revision(5) });
    const outcome = await join([{ ...reference, floor: { activityId: revision(6) } }, reference]);
    expect(names(outcome)).toEqual(['NOT_YET', 'OK']);
    expect(store.reads).toHaveLength(2);
  });

  it('on the summary opens the payload again where no revision proves that it is the same', async () => {
    const { add, join, store } = makeWorld();
    const conversationId = newConversation();
    const reference = add(conversationId, 1n, 'old!', { lastActivityId: undefined });
    await join([reference]);
    add(conversationId, 1n, 'new!', { lastActivityId: undefined, messageId: reference.messageId });
    store.summaries.set(placeOf(conversationId, 1n), {
      seq: 1n,
      counts: [],
      version: 5n,
      updatedAtMs: undefined,
    });
    expect(textOf(await join([{ ...reference, floor: { summaryVersion: 5n } }]), 0)).toBe('new!');
  });

  it('on the summary reads again without opening the payload again', async () => {
    const world = makeWorld();
    const { add, store } = world;
    const conversationId = newConversation();
    const reference = add(conversationId, 1n, 'text', { lastActivityId: revision(1) });
    await world.join([reference]);
    const place = `${Buffer.from(conversationId).toString('hex')}/1`;
    store.summaries.set(place, { seq: 1n, counts: [['+1', 1]], version: 4n, updatedAtMs: 2n });
    world.keyring.answers.set(dekKey(world.dekId), { status: 'ok', key: randomBytes(32) });
    const outcome = await world.join([{ ...reference, floor: { summaryVersion: 4n } }]);
    // With another key in its place an attempt to open would be TAMPERED.
    expect([names(outcome), textOf(outcome, 0)]).toEqual([['OK'], 'text']);
    expect(bodyOf(outcome, 0)?.reactions?.summaryVersion).toBe(4n);
  });
});
