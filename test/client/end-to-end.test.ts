import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  decodeMessageBody,
  type JoinEntry,
  type JoinResult,
  MailjoinClient,
  planReasonName,
} from '../../src/client/index.js';
import { activity, life, message, summary, tenant } from '../stores/fixtures.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  type StoredMessage,
  startSidecarUnderTest,
} from './sidecar-under-test.js';

const TENANT = tenant();
let under: SidecarUnderTest;

beforeAll(async () => {
  under = await startSidecarUnderTest();
});

afterAll(() => under.stop());

function span(from: bigint, count: number): bigint[] {
  return Array.from({ length: count }, (_, index) => from + BigInt(index));
}

function entryOf({ conversationId }: StoredConversation, { record }: StoredMessage): JoinEntry {
  return { conversationId, seq: record.seq, messageId: record.messageId };
}

function entriesOf(stored: StoredConversation): JoinEntry[] {
  return stored.messages.map((each) => entryOf(stored, each));
}

function join(entries: readonly JoinEntry[], more: object = {}): Promise<JoinResult> {
  return under.client.join({ kind: 'MAILBOX_BATCH', tenantId: TENANT, entries, wantReceipt: true, ...more });
}

/** Every body is its message, payload and all. */
function expectBodies(result: JoinResult, messages: readonly StoredMessage[]): void {
  expect(result.entries.map((entry) => entry.result)).toEqual(messages.map(() => 'OK'));
  messages.forEach(({ record, payload }, index) => {
    const body = decodeMessageBody(result.entries[index]?.body as Uint8Array);
    expect(payload.equals(body.payload as Uint8Array)).toBe(true);
    expect(Buffer.from(body.messageId).equals(record.messageId)).toBe(true);
    expect(body).toMatchObject({
      conversationSeq: record.seq,
      clientMessageId: record.clientMessageId,
      replyToConversationSeq: record.replyToSeq,
      createdAtMs: record.createdAtMs,
    });
  });
}

describe('the real sidecar on the embedded store', () => {
  it('S-1: a backlog of 500 across a bucket boundary takes at most 2 reads; warm it takes none', async () => {
    const stored = await under.write(TENANT, span(3_900n, 500));
    const cold = await join(entriesOf(stored));
    expectBodies(cold, stored.messages);
    const { rangeStatements = 0, coveringStatements = 0, inStatements = 0 } = cold.receipt ?? {};
    expect(rangeStatements + coveringStatements + inStatements).toBeLessThanOrEqual(2);
    const warm = await join(entriesOf(stored));
    expectBodies(warm, stored.messages);
    expect(warm.receipt).toMatchObject({ messages: 500, cacheHits: 500, groups: 0, rangeStatements: 0 });
  });

  it('S-1: 5 messages in each of 20 conversations take at most 21 reads', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) => under.write(TENANT, span(BigInt(index * 37), 5))),
    );
    const result = await join(all.flatMap(entriesOf));
    expectBodies(
      result,
      all.flatMap(({ messages }) => messages),
    );
    const { rangeStatements = 0, coveringStatements = 0, inStatements = 0 } = result.receipt ?? {};
    expect(rangeStatements + coveringStatements + inStatements).toBeLessThanOrEqual(21);
  });

  it('D5: the receipt says how each group was read and why; a warm batch read none', async () => {
    const [run, scattered, near] = await Promise.all([
      under.write(TENANT, span(10n, 8)),
      under.write(TENANT, [5n, 700n, 1_400n, 4_000n]),
      under.write(TENANT, [...span(4_096n, 5), ...span(4_102n, 5)]),
    ]);
    const entries = [run, scattered, near].flatMap(entriesOf);
    const { receipt } = await join(entries);
    const reads = receipt?.reads.map(({ reason, ...read }) => ({ ...read, reason: planReasonName(reason) }));
    expect(reads).toHaveLength(3);
    expect(reads).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          bucket: 0n,
          messages: 8,
          span: 8,
          rangeStatements: 1,
          reason: 'CONSECUTIVE',
        }),
        expect.objectContaining({ messages: 4, span: 3_996, inStatements: 1, reason: 'IN_CHEAPER' }),
        expect.objectContaining({ bucket: 1n, span: 11, coveringStatements: 1, reason: 'COVERING_CHEAPER' }),
      ]),
    );
    expect((await join(entries)).receipt?.reads).toEqual([]);
  });

  it('B01, S-2: seqs around 2^53, 2^62 and 2^63 keep their bodies; from 2^63 on an entry is INVALID alone', async () => {
    const seqs = [
      2n ** 53n - 1n,
      2n ** 53n,
      2n ** 53n + 1n,
      2n ** 62n - 1n,
      2n ** 62n,
      2n ** 62n + 1n,
      2n ** 63n - 1n,
    ];
    const stored = await under.write(TENANT, seqs);
    expectBodies(await join(entriesOf(stored)), stored.messages);
    const beyond = [2n ** 63n, 2n ** 64n - 1n, 2n ** 70n, -1n].map((seq) => ({
      ...(entriesOf(stored)[0] as JoinEntry),
      seq,
    }));
    const result = await join([...beyond, ...entriesOf(stored)]);
    for (const entry of result.entries.slice(0, beyond.length)) {
      expect(entry).toMatchObject({ result: 'INVALID', invalidReason: 'SEQ_RANGE', body: undefined });
    }
    expect(result.entries.slice(beyond.length).every((entry) => entry.result === 'OK')).toBe(true);
  });

  it('one bad entry never spoils its neighbours; duplicates share a body', async () => {
    const stored = await under.write(TENANT, span(1n, 3));
    const [first, second, third] = entriesOf(stored) as [JoinEntry, JoinEntry, JoinEntry];
    const inlineBody = randomBytes(40);
    const result = await join([
      first,
      { ...second, messageId: message() },
      { ...third, seq: 99n },
      { ...first, messageId: first.messageId.slice(1) as Uint8Array },
      { ...first, conversationId: 'no uuid' },
      { ...second, inlineBody },
      { ...second, mailboxSeq: 2n ** 63n },
      first,
      third,
    ]);
    expect(result.entries.map((entry) => entry.invalidReason ?? entry.result)).toEqual([
      'OK',
      'MISMATCH',
      'NOT_FOUND',
      'MESSAGE_ID_LENGTH',
      'CONVERSATION_ID_LENGTH',
      'INLINE',
      'MAILBOX_SEQ_RANGE',
      'OK',
      'OK',
    ]);
    expect(result.entries[5]?.body).toBe(inlineBody);
    expect(result.entries[7]?.body).toBe(result.entries[0]?.body);
    expect(result.bodies).toHaveLength(2);
  });

  it('B42: another tenant gets the same answer as for a message that never was', async () => {
    const stored = await under.write(TENANT, span(1n, 2));
    await join(entriesOf(stored));
    const result = await join(entriesOf(stored), { tenantId: tenant() });
    expect(result.entries.map((entry) => entry.result)).toEqual(['NOT_FOUND', 'NOT_FOUND']);
  });

  it('D12: a recalled message is a body without content; reactions stand behind the others', async () => {
    const stored = await under.write(TENANT, span(10n, 2));
    const { conversationId } = stored;
    const { messages } = under.sidecar.stores;
    const recall = { recallEventSeq: 77n, lastActivityId: activity(Buffer.alloc(16, 0xff)) };
    await messages.recallRecord(
      { tenantId: TENANT, conversationId, seq: 10n },
      recall,
      life(1_900_000_000_000_000n),
    );
    await messages.putSummary({ tenantId: TENANT, conversationId, seq: 11n }, summary(11n, 5n, [['👍', 3]]));
    const { entries } = await join(entriesOf(stored));
    expect(entries.map((entry) => entry.result)).toEqual(['RECALLED', 'OK']);
    const [recalled, reacted] = entries.map((entry) => decodeMessageBody(entry.body as Uint8Array));
    expect(recalled).toMatchObject({
      state: 1,
      recallEventConversationSeq: 77n,
      payload: undefined,
      mediaMetadata: undefined,
      mentionTargets: undefined,
    });
    expect(reacted?.reactions?.counts).toEqual(new Map([['👍', 3]]));
    expect(reacted?.reactions?.summaryVersion).toBe(5n);
  });

  it('a floor above what is stored is NOT_YET, at or below it is OK', async () => {
    const stored = await under.write(TENANT, span(1n, 1));
    const [entry] = entriesOf(stored) as [JoinEntry];
    const revision = stored.messages[0]?.record.lastActivityId as Uint8Array;
    const results = await join([
      { ...entry, floor: { lastActivityId: Buffer.alloc(16, 0xff) } },
      { ...entry, floor: { summaryVersion: 1n } },
      { ...entry, floor: { lastActivityId: revision } },
    ]);
    expect(results.entries.map(({ result, retryable }) => [result, retryable])).toEqual([
      ['NOT_YET', true],
      ['NOT_YET', true],
      ['OK', false],
    ]);
  });

  it('what does not fit a response is DEFERRED, and asked for again when told to', async () => {
    const stored = await under.write(TENANT, span(1n, 12), 30_000);
    const once = await join(entriesOf(stored), { responseBytesMax: 100_000 });
    const deferred = once.entries.filter((entry) => entry.result === 'DEFERRED').length;
    expect(deferred).toBeGreaterThan(0);
    expect(deferred).toBeLessThan(12);
    const whole = await join(entriesOf(stored), { responseBytesMax: 100_000, repeatDeferred: true });
    expectBodies(whole, stored.messages);
    expect(whole.rounds).toBe(4);
  });

  it('B07: carries responses of several megabytes byte for byte', async () => {
    const stored = await under.write(TENANT, span(1n, 100), 64 * 1024);
    expectBodies(await join(entriesOf(stored)), stored.messages);
  });

  it('B37: a destroyed key makes its messages ERASED, and no others', async () => {
    const [gone, kept] = await Promise.all([
      under.write(TENANT, span(1n, 3)),
      under.write(TENANT, span(1n, 3)),
    ]);
    await under.sidecar.stores.keys.destroy(gone.dekId, Date.now());
    const { entries } = await join([...entriesOf(gone), ...entriesOf(kept)]);
    expect(entries.map((entry) => entry.result)).toEqual(['ERASED', 'ERASED', 'ERASED', 'OK', 'OK', 'OK']);
  });

  it('B39: with 500 aborts, no call is answered with what another asked for', async () => {
    const conversations = await Promise.all(
      Array.from({ length: 10 }, (_, index) => under.write(TENANT, span(BigInt(index), 20), 3_000)),
    );
    const busy = new MailjoinClient({ socketPath: under.socketPath, connectionsMax: 6 });
    let served = 0;
    const calls = Array.from({ length: 1_000 }, async (_, index) => {
      const stored = conversations[(index * 7) % conversations.length] as StoredConversation;
      const abort = new AbortController();
      const entries = entriesOf(stored);
      const request = { kind: 'PUSH_EVENTS', tenantId: TENANT, entries, deadlineMs: 30_000 } as const;
      const call = busy.join(request, { signal: abort.signal });
      if (index % 2 === 0) setTimeout(() => abort.abort(), index % 40);
      const result = await call.catch((error: unknown) => error);
      if (abort.signal.aborted && result === abort.signal.reason) return;
      expectBodies(result as JoinResult, stored.messages);
      served++;
    });
    await Promise.all(calls);
    expect(served).toBeGreaterThanOrEqual(500);
    await busy.close();
  });

  it('a body larger than a whole read buffer and an empty batch are served by the same connection', async () => {
    const one = new MailjoinClient({ socketPath: under.socketPath, connectionsMax: 1 });
    const stored = await under.write(TENANT, span(1n, 1), 2 * 1024 * 1024);
    for (let round = 0; round < 3; round++) {
      const request = { kind: 'MAILBOX_BATCH', tenantId: TENANT, entries: entriesOf(stored) } as const;
      expectBodies(await one.join(request), stored.messages);
      expect((await one.join({ ...request, entries: [] })).entries).toEqual([]);
    }
    await one.close();
  });

  it('probes answer', async () => {
    expect(await under.client.health()).toMatchObject({ ok: true, status: 200 });
    expect(await under.client.ready()).toMatchObject({ ok: true, status: 200 });
  });

  it('a sidecar that stops fails its callers with codes that say so, and never with another code', async () => {
    const other = await startSidecarUnderTest();
    const stored = await other.write(TENANT, span(1n, 200), 2_000);
    const request = { kind: 'MAILBOX_BATCH', tenantId: TENANT, entries: entriesOf(stored) } as const;
    await other.client.join(request);
    const calls = Array.from({ length: 200 }, () =>
      other.client.join(request).then(
        () => 'OK',
        (error) => error.code,
      ),
    );
    const stopped = other.sidecar.stop(2_000);
    const codes = new Set(await Promise.all(calls));
    await stopped;
    expect(
      [...codes].filter(
        (code) => !['OK', 'SHUTTING_DOWN', 'CLIENT_CONNECT', 'CLIENT_DISCONNECTED'].includes(code),
      ),
    ).toEqual([]);
    await expect(other.client.join(request)).rejects.toMatchObject({
      code: 'CLIENT_CONNECT',
      retryable: true,
    });
    await other.stop();
  });
});
