// Two whole sidecars on one embedded store, told of events through its log alone (B16, B37, B50, design: floors).
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outbox } from '../../src/domain/write-ports.js';
import { type SidecarUnderTest, startSidecarUnderTest } from '../client/sidecar-under-test.js';
import { activity, fullRecord, life, message, tenant, until } from '../stores/fixtures.js';
import { append, keyDestroyed, messageOf, reactionsOf, recallOf } from './log-fixtures.js';
import { applied, firstOf, isReady, joinAll, metric, resultOf } from './sidecars.js';

const TENANT = tenant();
/** Above every random revision. */
const LATER = activity(Buffer.alloc(16, 0xff));
/** Nothing but the log tells of destroyed keys in the time of a test. */
const settings = { keyPollMs: 3_600_000, warm: true };

let one: SidecarUnderTest;
let two: SidecarUnderTest;
let startedAtMs = 0;

beforeAll(async () => {
  one = await startSidecarUnderTest(settings);
  two = await startSidecarUnderTest({
    ...settings,
    dataDir: path.join(path.dirname(one.socketPath), 'data'),
  });
  startedAtMs = Date.now();
  for (const each of [one, two]) await until(() => isReady(each));
});
afterAll(async () => {
  await two.stop();
  await one.stop();
});

function outbox(): Outbox {
  const { log } = one.sidecar.stores;
  if (log === undefined) throw new Error('the embedded store has a log');
  return log;
}

it('poison records are counted by both and stop nothing', async () => {
  await append(outbox(), Buffer.from([0xff, 0xff]));
  for (const each of [one, two]) {
    await applied(each, 'skipped');
    expect(await isReady(each)).toBe(true);
  }
});

it('B16: cached in both, recalled while the row still says NORMAL: neither serves the content once it has read the event', async () => {
  const target = firstOf(await one.write(TENANT, [1n]));
  for (const { client } of [one, two]) {
    expect((await resultOf(client, target))[0]).toBe('OK');
    expect((await joinAll(client, [target])).receipt?.cacheHits).toBe(1);
  }
  await append(outbox(), recallOf(target, LATER));
  for (const each of [one, two]) {
    await applied(each, 'recall');
    expect(await resultOf(each.client, target)).toEqual(['NOT_YET', undefined]);
  }
  const { messages } = one.sidecar.stores;
  await messages.recallRecord(target, { recallEventSeq: 9n, lastActivityId: LATER }, life(2n ** 60n));
  for (const { client } of [one, two]) {
    expect(await resultOf(client, target)).toEqual(['RECALLED', undefined]);
    expect(await resultOf(client, target)).toEqual(['RECALLED', undefined]);
  }
});

it('B16: recalled while batches of both are reading it again and again: no OK after the event was read', async () => {
  const target = firstOf(await one.write(TENANT, [1n]));
  const before = await metric(two, 'mailjoin_log_records_total{kind="recall"}');
  let stopped = false;
  const reading = [one, two].map(async ({ client }) => {
    while (!stopped) await resultOf(client, target);
  });
  await append(outbox(), recallOf(target, LATER));
  for (const each of [one, two]) {
    await applied(each, 'recall', before + 1);
    for (let ask = 0; ask < 20; ask++) expect((await resultOf(each.client, target))[0]).toBe('NOT_YET');
  }
  stopped = true;
  await Promise.all(reading);
});

it('reactions reach both: the cached bodies are rewritten, and hit', async () => {
  const target = firstOf(await one.write(TENANT, [1n]));
  for (const { client } of [one, two]) await resultOf(client, target);
  await append(outbox(), reactionsOf(target, 4n, [['a', 2]]));
  for (const each of [one, two]) {
    await applied(each, 'reactions');
    const joined = await joinAll(each.client, [target]);
    expect(joined.entries[0]?.result).toBe('OK');
    expect(joined.receipt?.cacheHits).toBe(1);
  }
});

it('B37: a key destroyed, told by the log: both answer ERASED, and nothing cached of it is left', async () => {
  const conversation = await one.write(TENANT, [1n, 2n, 3n]);
  const targets = conversation.messages.map(({ record: { seq, messageId } }) => ({
    ...firstOf(conversation),
    seq,
    messageId,
  }));
  const bodies: number[] = [];
  for (const { client, sidecar } of [one, two]) {
    const before = sidecar.cacheStats().bodies;
    await joinAll(client, targets);
    expect(sidecar.cacheStats().bodies).toBe(before + 3);
    bodies.push(before);
  }
  await one.sidecar.stores.keys.destroy(conversation.dekId, Date.now());
  await append(outbox(), keyDestroyed(conversation.dekId));
  for (const each of [one, two]) {
    await applied(each, 'key_destroyed');
    expect(each.sidecar.cacheStats().bodies).toBe(bodies.shift());
    const { entries } = await joinAll(each.client, targets);
    expect(entries.map(({ result }) => result)).toEqual(['ERASED', 'ERASED', 'ERASED']);
  }
});

it('warm: a committed message of a conversation in use is joined from its log record, without a read, where it is in use', async () => {
  const conversation = await one.write(TENANT, [1n, 2n]);
  const [used, fresh] = conversation.messages;
  if (used === undefined || fresh === undefined) throw new Error('two messages');
  await resultOf(one.client, firstOf(conversation));
  // Fresh for certain, as far as clocks may differ; the row of the second message is not asked for.
  await until(async () => Date.now() > startedAtMs + 500);
  const messageId = message();
  const createdAtMs = BigInt(Date.now() + 9_700);
  const record = fullRecord(2n, { ...fresh.record, messageId, createdAtMs, mediaMetadata: undefined });
  await append(outbox(), messageOf(conversation, record));
  for (const each of [one, two]) await applied(each, 'message');
  await until(async () => (await metric(one, 'mailjoin_warmed_total')) === 1);
  const target = { ...firstOf(conversation), seq: 2n, messageId };
  await until(async () => (await joinAll(one.client, [target])).receipt?.groups === 0);
  expect(await resultOf(one.client, target)).toEqual(['OK', fresh.payload.toString('hex')]);
  expect(await metric(two, 'mailjoin_warmed_total')).toBe(0);
  // The row at these coordinates has another message_id: who reads it says so.
  expect((await resultOf(two.client, target))[0]).toBe('MISMATCH');
});
