/**
 * Days of normal operation on a real Cassandra, compressed into seconds: short lives by a tenant_custom policy, and then
 * what the server says that it scans (S-5, S-6).
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { messageStatements } from '../../src/cql/message-statements.js';
import type { CqlStores } from '../../src/cql/open.js';
import { ConversationSealer } from '../../src/crypto/conversation-sealer.js';
import { DekCache } from '../../src/crypto/dek-cache.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { idKeyAt } from '../../src/domain/ids.js';
import { RetentionClass } from '../../src/domain/message.js';
import type { LogReader } from '../../src/domain/write-ports.js';
import { Retention } from '../../src/write/retention.js';
import type { RetentionPolicies } from '../../src/write/retention-policies.js';
import type { MessageTarget } from '../../src/write/row-change.js';
import { Writer } from '../../src/write/writer.js';
import { archiverOn, unstopped } from '../archive/archive-fixtures.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { ReadTracer } from '../cql/read-tracer.js';
import { openFor, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { until, user } from '../stores/fixtures.js';
import { bytes, type Chat, chat, messageIn, targetOf } from './write-fixtures.js';

const { TENANT_CUSTOM, COMPLIANCE_HOLD, EPHEMERAL_24H, DEFAULT } = RetentionClass;

/** Short, but long enough for a slow machine to place a hold in. */
const CUSTOM_SECONDS = 6;

describeWithCassandra('normal operation, compressed', (server) => {
  let keyspace: KeyspaceUnderTest;
  let stores: CqlStores;
  let tracer: ReadTracer;
  beforeAll(async () => {
    keyspace = await makeKeyspace(server);
    stores = await keyspace.open();
    tracer = await ReadTracer.open(server);
  }, 120_000);
  afterAll(async () => {
    await tracer?.close();
    await keyspace?.drop();
  });

  /** A writer for a tenant whose tenant_custom messages live so long, and an archiver's whole replay of its log. */
  async function operation(where: Chat, customSeconds: number) {
    const { messages, writes, keys: store } = stores;
    const { log } = await openFor(temporaryDirectory(), clock);
    const policies: RetentionPolicies = {
      defaultSeconds: undefined,
      tenants: new Map([[idKeyAt(where.tenantId, 0), { defaultSeconds: undefined, customSeconds }]]),
    };
    const kek = randomBytes(32);
    const keys = new KeyAdmin(store, kek, clock);
    const keyring = new DekCache({ provider: new LocalKeyProvider(store, kek), clock });
    const alerts: string[] = [];
    const writer = new Writer({
      messages,
      writes,
      outbox: log,
      sealer: new ConversationSealer({ keys, keyring, clock }),
      retention: policies,
      clock,
      onAlert: (alert) => alerts.push(alert),
    });
    const commit = async (retentionClass: number): Promise<MessageTarget> =>
      targetOf(where, await writer.commit(messageIn(where, { retentionClass, preview: bytes('p') })));
    return { writer, alerts, commit, replay: () => replay(log, policies) };
  }

  async function replay(log: LogReader, policies: RetentionPolicies): Promise<void> {
    const whole: Pick<LogReader, 'consume'> = {
      consume: async ({ onEntries, signal }) =>
        log.read({ from: [], until: await log.ends(), onEntries, signal }),
    };
    const { messages, writes } = stores;
    const retention = new Retention(policies, () => undefined);
    const archiver = archiverOn({ messages, writes, clock }, whole, { retention });
    await archiver.run(unstopped());
    expect(archiver.totals()).toMatchObject({ parked: 0, retries: 0 });
  }

  /** Every row that the server still has of a bucket 0, complete or not. */
  async function rawSeqs({ tenantId, conversationId }: Chat): Promise<bigint[]> {
    const cql = `SELECT conversation_seq FROM ${keyspace.keyspace}.message_record WHERE tenant_id = ? AND conversation_id = ? AND seq_bucket = 0`;
    const { rows } = await keyspace.session.execute(
      { cql, table: 'message_record', shape: 'select', access: 'read' },
      [Buffer.from(tenantId), Buffer.from(conversationId)],
    );
    return rows.map((row) => row.conversation_seq as bigint).sort((a, b) => Number(a - b));
  }

  /** [live rows, tombstone cells] of seqs from..to of bucket 0. */
  const scanned = (where: Chat, from: bigint, to: bigint): Promise<[number, number]> =>
    tracer.scanned(messageStatements(keyspace.keyspace).records.range.cql, [
      Buffer.from(where.tenantId),
      Buffer.from(where.conversationId),
      0n,
      from,
      to,
    ]);

  it('S-5, B15: of a tenant_custom tenant only held rows outlive its TTL, a lifted one ends, and no ghost is left', {
    timeout: 60_000,
  }, async () => {
    const where = chat();
    const { writer, commit, replay } = await operation(where, CUSTOM_SECONDS);
    const [held, lifted, edited, recalled, born] = [
      await commit(TENANT_CUSTOM),
      await commit(TENANT_CUSTOM),
      await commit(TENANT_CUSTOM),
      await commit(TENANT_CUSTOM),
      await commit(COMPLIANCE_HOLD),
    ];
    const committedAtMs = Date.now();
    await Promise.all([writer.placeHold(held), writer.placeHold(lifted)]);
    await writer.edit({ ...edited, payload: bytes('changed') });
    await writer.edit({ ...held, payload: bytes('changed while held') });
    await writer.recall(recalled);
    await until(async () => (await rawSeqs(where)).length === 3, 20_000);
    // What comes late brings nothing back.
    await expect(writer.placeHold(edited)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    await expect(writer.recall(edited)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    // Whole seconds, rounded down, end a row early; until its policy's end a replay may still write it.
    const endMs = committedAtMs + (CUSTOM_SECONDS + 1) * 1000;
    await until(async () => Date.now() >= endMs, 20_000);
    await replay();
    expect(await rawSeqs(where)).toEqual([held.seq, lifted.seq, born.seq]);

    await writer.liftHold(lifted, TENANT_CUSTOM);
    await writer.liftHold(born, TENANT_CUSTOM);
    await until(async () => (await rawSeqs(where)).length === 1, 20_000);
    await replay();
    expect(await rawSeqs(where)).toEqual([held.seq]);
    expect(await stores.writes.readRecord(held)).toMatchObject({ ttlSeconds: undefined });
    expect(await stores.writes.lookup(where.tenantId, lifted.messageId)).toBeUndefined();
  });

  it('S-6, D18: a full read after commits, edits, recalls, reactions, holds, replays and expiries scans expired cells only', {
    timeout: 90_000,
  }, async () => {
    const where = chat();
    const { writer, alerts, commit, replay } = await operation(where, CUSTOM_SECONDS);
    const classes = [TENANT_CUSTOM, DEFAULT, EPHEMERAL_24H, TENANT_CUSTOM, COMPLIANCE_HOLD];
    const targets: MessageTarget[] = [];
    for (let day = 0; day < 7; day++) {
      const ofDay = await Promise.all(classes.map(commit));
      targets.push(...ofDay);
      const [first, second, third, fourth, fifth] = ofDay;
      if (!first || !second || !third || !fourth || !fifth) throw new Error('unreachable');
      await writer.edit({ ...first, payload: bytes(`day ${day}`) });
      await writer.edit({ ...second, payload: bytes('longer than it was before'), preview: bytes('e') });
      await writer.edit({ ...second, payload: bytes('short') });
      await writer.recall(third);
      const userId = user();
      await writer.react({ ...second, userId, reactionKey: '\u{1f44d}' });
      await writer.react({ ...second, userId, reactionKey: '\u2764' });
      await writer.react({ ...second, userId, reactionKey: undefined });
      if (day % 3 === 0) await writer.placeHold(fourth);
      await writer.recall(fifth);
      if (day % 2 === 0) await writer.liftHold(fifth, TENANT_CUSTOM);
      if (day % 3 === 1) await replay();
    }
    await writer.headsIdle();
    const endMs = Date.now() + (CUSTOM_SECONDS + 1) * 1000;
    await until(async () => Date.now() >= endMs, 20_000);
    await replay();
    // Held: fourth of days 0, 3 and 6, fifth of days 1, 3 and 5; second and third live longer than the test.
    await until(async () => (await rawSeqs(where)).length === 14 + 3 + 3, 20_000);

    const live = new Set(await rawSeqs(where));
    let expiredCells = 0;
    for (let seq = 0n; seq <= (targets.at(-1)?.seq ?? 0n) + 10n; seq++) {
      const [rows, cells] = await scanned(where, seq, seq);
      expect(rows).toBe(live.has(seq) ? 1 : 0);
      const isExpired = !live.has(seq) && targets.some((target) => target.seq === seq);
      if (isExpired) expiredCells += cells;
      else expect(cells, `tombstone cells of seq ${seq}, live or never written`).toBe(0);
    }
    expect(expiredCells).toBeGreaterThan(0);
    // No range of deleted rows beside them either.
    expect(await scanned(where, 0n, 4_095n)).toEqual([live.size, expiredCells]);
    expect(alerts.filter((alert) => alert === 'RETENTION_UNKNOWN')).toEqual([]);
    console.log(`S-6: ${live.size} live rows, ${expiredCells} expired cells, 0 other tombstones`);
  });
});
