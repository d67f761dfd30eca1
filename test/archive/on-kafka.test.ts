/** From commit to archived row on the real Kafka and Cassandra: `record = archive`, D15. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Archiver } from '../../src/archive/archiver.js';
import type { CqlStores } from '../../src/cql/open.js';
import { effectiveState, MessageState, RetentionClass } from '../../src/domain/message.js';
import type { Sealer } from '../../src/domain/sealing.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { Writer } from '../../src/write/writer.js';
import { clock, type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { describeWithKafka } from '../services/kafka.js';
import { conversation, readOne, tenant, until, user } from '../stores/fixtures.js';
import { archiverOn, KeptParking } from './archive-fixtures.js';

const TAKEOVER_MS = 40_000;
/** End-to-end encrypted content only (D22): nothing here is about sealing. */
const UNSEALED: Sealer = {
  keyAt: async () => undefined,
  sealPayload: () => Promise.reject(new Error('there is no key')),
  sealPreview: () => Promise.reject(new Error('there is no key')),
};

describeWithKafka('archiving from Kafka', ({ contactPoint }) => {
  describeWithCassandra('into Cassandra', (server) => {
    let live: KeyspaceUnderTest;
    let stores: CqlStores;
    let log: KafkaLog;
    let writer: Writer;
    const topic = `archive-${randomBytes(6).toString('hex')}`;
    beforeAll(async () => {
      live = await makeKeyspace(server);
      stores = await live.open();
      await ensureTopic({ brokers: [contactPoint], topic, partitions: 3, replicationFactor: 1 });
      log = await KafkaLog.open({ brokers: [contactPoint], topic, clock });
      const { messages, writes } = stores;
      writer = new Writer({
        messages,
        writes,
        outbox: log,
        sealer: UNSEALED,
        retention: NO_POLICIES,
        clock,
        record: 'archive',
        onAlert: () => undefined,
      });
    }, 180_000);
    afterAll(async () => {
      await writer?.close(5_000);
      await log?.close();
      await live?.drop();
    }, 60_000);

    /** A member of a group until it is stopped. */
    function member(group: string, parking = new KeptParking()) {
      const reader = new KafkaLog({ brokers: [contactPoint], topic, clock });
      const archiver: Archiver = archiverOn({ ...stores, clock }, reader, { group, parking });
      const stop = new AbortController();
      const done = archiver.run(stop.signal);
      return {
        archiver,
        parking,
        stop: async () => {
          stop.abort();
          await done;
          await reader.close();
        },
      };
    }

    const commit = (
      where: { tenantId: ReturnType<typeof tenant>; conversationId: ReturnType<typeof conversation> },
      text: string,
      retentionClass?: number,
    ) =>
      writer.commit({
        ...where,
        senderId: user(),
        clientMessageId: randomBytes(8).toString('hex'),
        payload: Buffer.from(text),
        retentionClass,
      });

    it('D15 D14: a message is there once it is archived, recalls and edits stay, poison is parked, replays undo nothing', {
      timeout: 180_000,
    }, async () => {
      const chats = Array.from({ length: 6 }, () => ({ tenantId: tenant(), conversationId: conversation() }));
      const [where] = chats;
      if (where === undefined) throw new Error('there are six');
      const sent = await Promise.all(
        chats.flatMap((chat) =>
          Array.from({ length: 10 }, async (_, at) => ({ chat, ...(await commit(chat, `m${at}`)) })),
        ),
      );
      const held = await commit(where, 'held', RetentionClass.COMPLIANCE_HOLD);
      const [recalled, edited] = sent;
      if (recalled === undefined || edited === undefined) throw new Error('there are sixty');
      expect(await readOne(stores.messages, { ...where, seq: recalled.seq })).toBeUndefined();
      await log.append({ key: where.conversationId, value: Buffer.from('0effff', 'hex') });

      const first = member('archive');
      const second = member('archive');
      await until(
        async () => first.archiver.totals().records + second.archiver.totals().records >= 62,
        TAKEOVER_MS,
      );
      await writer.recall({ ...where, seq: recalled.seq, messageId: recalled.messageId });
      await writer.edit({
        ...where,
        seq: edited.seq,
        messageId: edited.messageId,
        payload: Buffer.from('edited'),
      });
      // The events are in the log before the writer changes the row (R5.4): an archiver may be the first to.
      const events = ({ archiver }: ReturnType<typeof member>): number =>
        archiver.totals().events + archiver.totals().shown;
      await until(async () => events(first) + events(second) >= 2, TAKEOVER_MS);
      await until(
        async () => (first.archiver.totals().lag ?? 1n) + (second.archiver.totals().lag ?? 1n) === 0n,
        TAKEOVER_MS,
      );
      await Promise.all([first.stop(), second.stop()]);
      const parked = [...first.parking.parked, ...second.parking.parked].map(({ code }) => code);
      expect(new Set(parked)).toEqual(new Set(['LOG_CORRUPT']));

      const state = async () => {
        const rows = await Promise.all(
          sent.map(({ chat, seq }) => readOne(stores.messages, { ...chat, seq })),
        );
        return rows.map(
          (row) =>
            row && [
              effectiveState(row),
              Buffer.from(row.payload ?? []).toString(),
              Buffer.from(row.lastActivityId ?? []).toString('hex'),
            ],
        );
      };
      const before = await state();
      expect(before.filter((row) => row === undefined)).toEqual([]);
      expect(before[0]?.[0]).toBe(MessageState.RECALLED);
      expect(before[1]?.slice(0, 2)).toEqual([MessageState.EDITED, 'edited']);
      for (const { chat, messageId, seq } of sent) {
        expect(await stores.writes.lookup(chat.tenantId, messageId)).toMatchObject({ seq });
      }

      const reader = new KafkaLog({ brokers: [contactPoint], topic, clock });
      const again = archiverOn({ ...stores, clock }, reader, { group: 'again' });
      await again.run(new AbortController().signal, await reader.ends());
      await reader.close();
      expect(again.totals()).toMatchObject({ messages: 61, shown: 2, events: 0, parked: 1, lag: 0n });
      expect(await state()).toEqual(before);
      const row = await readOne(stores.messages, { ...where, seq: held.seq });
      expect(row?.ttlSeconds).toBeUndefined();
      expect(row).toBeDefined();
    });
  });
});
