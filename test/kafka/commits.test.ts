// Concurrent commits on a real broker: each one's record at an offset of its own, none lost, none doubled.
import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { decodeLogRecord } from '../../src/codec/log-record.js';
import type { LogEntry, LogPosition } from '../../src/domain/write-ports.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { describeWithKafka } from '../services/kafka.js';
import { chat, messageIn, writingProcess } from '../write/write-fixtures.js';

const COMMITS = 20;

describeWithKafka('commits on Kafka', ({ contactPoint }) => {
  it('B50: 20 at once are 20 records at 20 offsets', async () => {
    const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
    const connect = { brokers: [contactPoint], topic: `commits-${randomBytes(6).toString('hex')}` };
    await ensureTopic({ ...connect, partitions: 1, replicationFactor: 1 });
    const log = await KafkaLog.open({ ...connect, clock });
    onTestFinished(() => log.close());
    const places: LogPosition[] = [];
    const outbox = {
      recordBytesMax: log.recordBytesMax,
      close: async () => {},
      append: async (record: Parameters<KafkaLog['append']>[0]) => {
        const place = await log.append(record);
        places.push(place);
        return place;
      },
    };
    const { writer } = await writingProcess({ outbox });
    const where = chat();
    const acknowledged = await Promise.all(
      Array.from({ length: COMMITS }, () => writer.commit(messageIn(where))),
    );
    expect(new Set(places.map(({ offset }) => offset)).size).toBe(COMMITS);

    const entries: LogEntry[] = [];
    await log.read({
      from: [],
      until: await log.ends(),
      onEntries: async (more) => void entries.push(...more),
      signal: new AbortController().signal,
    });
    const seqs = entries.map(({ value }) => {
      const record = decodeLogRecord(value);
      return record?.kind === 'message' ? record.record.seq : undefined;
    });
    const rising = acknowledged.map(({ seq }) => seq).sort((a, b) => Number(a - b));
    expect([...seqs].sort((a, b) => Number((a ?? 0n) - (b ?? 0n)))).toEqual(rising);
    expect(new Set(entries.map(({ offset }) => offset)).size).toBe(COMMITS);
  });
});
