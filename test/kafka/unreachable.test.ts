// Without any broker: what is bounded, and what is refused at once.
import { describe, expect, it } from 'vitest';
import { LOG_WAITING_RECORDS_MAX } from '../../src/domain/limits.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog, type KafkaLogOptions } from '../../src/kafka/kafka-log.js';
import { freePorts } from '../../src/provision/free-ports.js';
import { codeOf } from '../stores/log-contract.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

async function nowhere(timeoutMs: number): Promise<KafkaLogOptions> {
  const [port] = await freePorts(1, ['127.0.0.1']);
  return { brokers: [`127.0.0.1:${port}`], topic: 't', clock, timeoutMs };
}

const record = { key: Buffer.from('k'), value: Buffer.from('v') };

describe('a Kafka log without brokers', () => {
  it.each([
    ['no broker', { brokers: [] }],
    ['a broker without port', { brokers: ['localhost'] }],
    ['a timeout of 0', { brokers: ['localhost:1'], timeoutMs: 0 }],
  ])('is CONFIG_INVALID with %s', (_, options) => {
    expect(() => new KafkaLog({ topic: 't', clock, ...options })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });

  it('refuses a topic of 0 partitions or replicas before it asks anybody', async () => {
    const connect = { brokers: ['localhost:1'], topic: 't' };
    expect(await codeOf(ensureTopic({ ...connect, partitions: 0, replicationFactor: 1 }))).toBe(
      'CONFIG_INVALID',
    );
    expect(await codeOf(ensureTopic({ ...connect, partitions: 1, replicationFactor: 0 }))).toBe(
      'CONFIG_INVALID',
    );
  });

  it('does not open for a writer, and makes no topic', async () => {
    const options = await nowhere(500);
    expect(await codeOf(KafkaLog.open(options))).toBe('LOG_UNAVAILABLE');
    expect(await codeOf(ensureTopic({ ...options, partitions: 1, replicationFactor: 1 }))).toBe(
      'LOG_UNAVAILABLE',
    );
  });

  it('opens for a reader all the same, which waits for them', async () => {
    const log = await KafkaLog.openReader(await nowhere(500));
    expect(await codeOf(log.ends())).toBe('LOG_UNAVAILABLE');
    await log.close();
  });

  it('gives up an append, the ends and a read that has an end, each in bounded time', async () => {
    const log = new KafkaLog(await nowhere(500));
    const startedAtMs = performance.now();
    const read = log.read({
      from: [],
      until: [{ partition: 0, offset: 1n }],
      onEntries: async () => {},
      signal: new AbortController().signal,
    });
    const codes = await Promise.all([codeOf(log.append(record)), codeOf(log.ends()), codeOf(read)]);
    expect(codes).toEqual(['LOG_UNAVAILABLE', 'LOG_UNAVAILABLE', 'LOG_UNAVAILABLE']);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    await log.close();
  });

  it('B50 refuses an oversized record before it is queued', async () => {
    const log = new KafkaLog(await nowhere(500));
    const value = Buffer.alloc(log.recordBytesMax + 1);
    expect(await codeOf(log.append({ key: Buffer.alloc(0), value }))).toBe('RECORD_TOO_LARGE');
    await log.close();
  });

  it('refuses at once what its queue does not hold, and all that waits in bounded time', async () => {
    const log = new KafkaLog(await nowhere(500));
    let settled = 0;
    const waiting = Array.from({ length: LOG_WAITING_RECORDS_MAX }, () =>
      codeOf(log.append(record)).finally(() => settled++),
    );
    expect(await codeOf(log.append(record))).toBe('LOG_UNAVAILABLE');
    expect(settled).toBe(0);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['LOG_UNAVAILABLE']));
    await log.close();
  });

  it('a follower and a member end well when their signal aborts', async () => {
    const log = new KafkaLog(await nowhere(500));
    const stop = new AbortController();
    const options = { onEntries: async () => {}, signal: stop.signal };
    const running = [log.read({ from: [], ...options }), log.consume({ group: 'g', ...options })];
    setImmediate(() => stop.abort());
    await Promise.all(running);
    await log.close();
  });

  it('closing ends followers and members', async () => {
    const log = new KafkaLog(await nowhere(500));
    const options = { onEntries: async () => {}, signal: new AbortController().signal };
    const running = [
      codeOf(log.read({ from: [], ...options })),
      codeOf(log.consume({ group: 'g', ...options })),
    ];
    await log.close();
    expect(await Promise.all(running)).toEqual(['LOG_UNAVAILABLE', 'LOG_UNAVAILABLE']);
  });
});
