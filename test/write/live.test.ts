/** The write side on a real Cassandra, with the embedded log: what only a real server's reconciliation can show. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CqlStores } from '../../src/cql/open.js';
import { ConversationSealer } from '../../src/crypto/conversation-sealer.js';
import { DekCache } from '../../src/crypto/dek-cache.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { effectiveState, MessageState, RetentionClass } from '../../src/domain/message.js';
import type { SequenceAllocator } from '../../src/write/allocator.js';
import { insertMicros } from '../../src/write/message-ids.js';
import { NO_POLICIES, type RetentionPolicies } from '../../src/write/retention-policies.js';
import type { Operation, Step } from '../../src/write/steps.js';
import { Writer } from '../../src/write/writer.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { openFor, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { life, readSummary, until, user } from '../stores/fixtures.js';
import { allocatorOf, bytes, Crash, chat, hex, logged, messageIn, targetOf } from './write-fixtures.js';

const KEK = randomBytes(32);

describeWithCassandra('the write side on Cassandra', (server) => {
  let keyspace: KeyspaceUnderTest;
  let sessions: CqlStores[];
  beforeAll(async () => {
    keyspace = await makeKeyspace(server);
    sessions = [await keyspace.open(), await keyspace.open()];
  }, 120_000);
  afterAll(() => keyspace.drop());

  /** Two writing processes with sessions of their own and one log; `crash` ends an operation after that step. */
  async function processes(retention: RetentionPolicies = NO_POLICIES, allocator?: SequenceAllocator) {
    const { log } = await openFor(temporaryDirectory(), clock);
    let crash: string | undefined;
    const alerts: string[] = [];
    const writers = sessions.map(({ messages, writes, keys: store }) => {
      const keys = new KeyAdmin(store, KEK, clock);
      const keyring = new DekCache({ provider: new LocalKeyProvider(store, KEK), clock });
      const sealer = new ConversationSealer({ keys, keyring, clock });
      return new Writer({
        messages,
        writes,
        outbox: log,
        sealer,
        retention,
        clock,
        ...(allocator === undefined ? {} : { allocator }),
        onAlert: (alert) => alerts.push(alert),
        watchStep: (operation, step) => {
          if (crash !== `${operation} ${step}`) return;
          crash = undefined;
          throw new Crash(`${operation} ${step}`);
        },
      });
    });
    const [first, second] = writers as [Writer, Writer];
    const { writes, messages } = sessions[0] as CqlStores;
    const crashAfter = (operation: Operation, step: Step): void => {
      crash = `${operation} ${step}`;
    };
    return { first, second, writes, messages, log, alerts, crashAfter };
  }

  it.each(['reserve', 'seal', 'record', 'log', 'complete'] as const)(
    'D16: a retry from another process after a crash after %s gives the same acknowledgement and one row',
    async (step) => {
      const { first, second, writes, log, crashAfter } = await processes();
      const where = chat();
      const given = messageIn(where, { preview: bytes('hel') });
      crashAfter('commit', step);
      await expect(first.commit(given)).rejects.toThrow(Crash);
      const acknowledged = await second.commit(given);
      expect(acknowledged.seq).toBe(1n);
      const again = await first.commit(given);
      expect(hex(again.messageId)).toBe(hex(acknowledged.messageId));
      expect(again.seq).toBe(1n);
      expect(await writes.readBucket(where.tenantId, where.conversationId, 0n)).toHaveLength(1);
      expect(await writes.readBucket(where.tenantId, where.conversationId, 1n)).toEqual([]);
      expect(await logged(log)).toHaveLength(step === 'log' ? 2 : 1);
      await Promise.all([first.headsIdle(), second.headsIdle()]);
      const head = await writes.readHead(where.tenantId, where.conversationId);
      expect(head).toMatchObject({ latestSeq: 1n });
    },
  );

  it('S-2: commits at 2^62 − 1, 2^62, 2^62 + 1 and 2^63 − 1 lie in that order; from 2^63 on nothing is written', async () => {
    const seqs = [2n ** 62n - 1n, 2n ** 62n, 2n ** 62n + 1n, 2n ** 63n - 1n];
    const { first, writes, log } = await processes(NO_POLICIES, allocatorOf(...seqs, 2n ** 63n));
    const where = chat();
    for (const seq of seqs) expect((await first.commit(messageIn(where))).seq).toBe(seq);
    const rows = await writes.readBucket(where.tenantId, where.conversationId, (2n ** 62n) >> 12n);
    expect(rows.map(({ seq }) => seq)).toEqual([2n ** 62n, 2n ** 62n + 1n]);
    await first.headsIdle();
    await expect(first.commit(messageIn(where))).rejects.toThrow('R1.1');
    const head = await writes.readHead(where.tenantId, where.conversationId);
    expect(head).toMatchObject({ latestSeq: 2n ** 63n - 1n });
    expect(await logged(log)).toHaveLength(seqs.length);
  });

  it('S-7: a recall that was logged only is applied by the recovery run, and a replayed INSERT does not undo it', async () => {
    const { first, second, writes, messages, log, crashAfter } = await processes();
    const where = chat();
    const target = targetOf(where, await first.commit(messageIn(where)));
    const inserted = await writes.readRecord(target);
    if (inserted === undefined) throw new Error('no row');
    crashAfter('recall', 'log');
    await expect(first.recall(target)).rejects.toThrow(Crash);
    const report = await second.recover(log, new AbortController().signal);
    expect(report).toMatchObject({ recalls: 1, applied: 1 });
    await messages.insertRecord(target, inserted, life(insertMicros(inserted.createdAtMs)));
    const row = await writes.readRecord(target);
    expect(row && effectiveState(row)).toBe(MessageState.RECALLED);
  });

  it('S-5, D20: a held row outlives its TTL whole, a lifted one ends, and neither an edit nor a replay changes that', async () => {
    const { first, second, writes, messages } = await processes({ defaultSeconds: 4, tenants: new Map() });
    const where = chat();
    const held = targetOf(where, await first.commit(messageIn(where)));
    const lifted = targetOf(where, await first.commit(messageIn(where)));
    const plain = targetOf(where, await first.commit(messageIn(where)));
    const inserted = await writes.readRecord(held);
    await Promise.all([first.placeHold(held), first.placeHold(lifted)]);
    await second.edit({ ...held, payload: bytes('edited while held') });
    if (inserted === undefined) throw new Error('no row');
    await messages.insertRecord(held, inserted, life(insertMicros(inserted.createdAtMs), 4));
    await until(async () => (await writes.readRecord(plain)) === undefined);
    expect(await writes.readRecord(held)).toMatchObject({
      state: MessageState.EDITED,
      retentionClass: RetentionClass.COMPLIANCE_HOLD,
      ttlSeconds: undefined,
    });
    expect(await writes.lookup(where.tenantId, held.messageId)).toMatchObject({ seq: held.seq });
    await first.liftHold(lifted, RetentionClass.DEFAULT);
    await until(async () => (await writes.readRecord(lifted)) === undefined);
    await expect(second.edit({ ...plain, payload: bytes('x') })).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    });
    expect(await writes.readRecord(plain)).toBeUndefined();
  });

  it('B49: heads by two processes end at the highest seq', async () => {
    const { first, second, writes } = await processes();
    const where = chat();
    const acknowledged = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? first : second).commit(messageIn(where))),
    );
    await Promise.all([first.headsIdle(), second.headsIdle()]);
    const highest = acknowledged
      .map(({ seq }) => seq)
      .sort((a, b) => Number(a - b))
      .at(-1);
    expect(await writes.readHead(where.tenantId, where.conversationId)).toMatchObject({ latestSeq: highest });
    expect(new Set(acknowledged.map(({ seq }) => seq)).size).toBe(40);
  });

  it('D19: reactions by two processes end with the right counts', async () => {
    const { first, second, writes, messages } = await processes();
    const where = chat();
    const target = targetOf(where, await first.commit(messageIn(where)));
    const users = Array.from({ length: 12 }, () => user());
    const keys = ['\u2764', '\u{1f44d}', undefined];
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (index % 2 === 0 ? first : second).react({
          ...target,
          userId: users[(index * 7) % 12] as (typeof users)[number],
          reactionKey: keys[index % 3],
        }),
      ),
    );
    const counted = new Map<string, number>();
    for await (const { reactionKey } of writes.readReactions(target)) {
      if (reactionKey !== '') counted.set(reactionKey, (counted.get(reactionKey) ?? 0) + 1);
    }
    expect(new Map((await readSummary(messages, target))?.counts)).toEqual(counted);
  });
});
