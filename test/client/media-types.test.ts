/**
 * /v1/message, /v1/history and /v1/lookup answer the same in their three media types: each is asked the same question in
 * each type, the answers are read by protobufjs, msgpackr and JSON.parse and brought to one form.
 */
import http from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack, Unpackr } from 'msgpackr';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { historyStopName } from '../../src/domain/history.js';
import { formatHex, formatUuid } from '../../src/domain/ids.js';
import { resultName } from '../../src/domain/result.js';
import { activity, message, tenant, user } from '../stores/fixtures.js';
import { ROOT } from '../tidy/source-scan.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  startSidecarUnderTest,
} from './sidecar-under-test.js';

const contract = protobuf.loadSync(join(ROOT, 'proto', 'mailjoin.proto'));
const keepCase = new protobuf.Root().loadSync(join(ROOT, 'proto', 'mailjoin.proto'), { keepCase: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'bigint' });
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const TENANT = tenant();

/** A question by field, as protobuf names it: bytes, numbers, text. Uuids and ids are told apart for JSON. */
type Question = Readonly<Record<string, Uint8Array | number | boolean | string>>;

describe('the three media types', () => {
  let under: SidecarUnderTest;
  let written: StoredConversation;
  const reactor = user();

  beforeAll(async () => {
    under = await startSidecarUnderTest({ lookup: true });
    written = await under.write(TENANT, [4094n, 4095n, 4096n, 4097n]);
    const { writes } = under.sidecar.stores;
    const where = { tenantId: TENANT, conversationId: written.conversationId, seq: 4095n };
    for (const [index, userId] of [reactor, user(), user()].entries()) {
      await writes.putReaction(where, { userId, reactionKey: '+1', createdAtMs: 2n ** 41n + BigInt(index) });
    }
    const { conversationId, messages } = written;
    for (const { record } of messages) {
      await writes.putIndex(
        TENANT,
        record.messageId,
        { conversationId, seq: record.seq },
        { ttlSeconds: undefined, timestampMicros: 1n },
      );
    }
  });
  afterAll(() => under.stop());

  const idAt = (seq: bigint): Uint8Array => {
    const found = written.messages.find(({ record }) => record.seq === seq);
    if (found === undefined) throw new Error('was written');
    return found.record.messageId;
  };

  /** The answer in each media type, in one form. */
  async function answers(path: string, name: string, question: Question): Promise<unknown[]> {
    const whole = { contract_version: 1, tenant_id: TENANT as Uint8Array, ...question };
    const proto = contract.lookupType(`mailjoin.v1.${name}Request`);
    const camel = Object.fromEntries(
      Object.entries(whole).map(([field, value]) => [
        field.replaceAll(/_[a-z]/g, ([, letter = '']) => letter.toUpperCase()),
        value,
      ]),
    );
    const json = Object.fromEntries(
      Object.entries(whole).map(([field, value]) => [
        field,
        value instanceof Uint8Array ? (field === 'message_id' ? formatHex(value) : formatUuid(value)) : value,
      ]),
    );
    const post = (type: string, body: Uint8Array) => postBytes(under.socketPath, path, type, body);
    const inProto = await post('application/x-protobuf', proto.encode(camel).finish());
    const answerType = keepCase.lookupType(`mailjoin.v1.${name}Response`);
    const read = answerType.toObject(answerType.decode(inProto), {
      longs: String,
      defaults: true,
      arrays: true,
    });
    return [
      plain(read),
      plain(unpackr.unpack(await post('application/msgpack', pack(whole)))),
      plain(JSON.parse(String(await post('application/json', Buffer.from(JSON.stringify(json)))))),
    ];
  }

  async function same(path: string, name: string, question: Question): Promise<Record<string, unknown>> {
    const [inProto, inMsgpack, inJson] = (await answers(path, name, question)).map(placed);
    expect(inMsgpack).toEqual(inProto);
    expect(inJson).toEqual(inProto);
    return inProto as Record<string, unknown>;
  }

  it('say the same of a message and who reacted', async () => {
    const { conversationId } = written;
    const ask = { conversation_id: conversationId, conversation_seq: 4095, message_id: idAt(4095n) };
    const first = await same('/v1/message', 'Message', {
      ...ask,
      user_id: reactor,
      want_reactors: true,
      reactors_limit: 2,
    });
    expect(first).toMatchObject({ result: 'OK', self_reaction_keys: ['+1'] });
    expect(first.reactors).toHaveLength(2);
    const after = Buffer.from(String(first.next_reactors_after), 'hex');
    const second = await same('/v1/message', 'Message', {
      ...ask,
      want_reactors: true,
      reactors_after: after,
      reaction_key: '+1',
    });
    expect(second.reactors).toHaveLength(1);
    expect(second.next_reactors_after).toBeUndefined();
    const other = await same('/v1/message', 'Message', { ...ask, message_id: message() });
    expect(other).toMatchObject({ result: 'MISMATCH' });
  });

  it('say the same of a page, of its end and of a hole', async () => {
    const { conversationId } = written;
    const ask = { conversation_id: conversationId };
    const page = await same('/v1/history', 'History', { ...ask, limit: 3 });
    expect(page).toMatchObject({ has_more: 'true', next_anchor: '4095', stop: 'LIMIT' });
    expect(page.entries).toHaveLength(3);
    expect(await same('/v1/history', 'History', { ...ask, anchor: 4095 })).toMatchObject({
      has_more: 'false',
      stop: 'END',
    });
    await under.sidecar.stores.writes.writeHead(TENANT, conversationId, {
      latestSeq: 100_000n,
      lastMessageId: message(),
      lastActivityId: activity(),
      lastSenderId: undefined,
      preview: undefined,
      updatedAtMs: 1n,
      fencingEpoch: 1n,
      headVersion: 1n,
    });
    const hole = await same('/v1/history', 'History', { ...ask, direction: 1, anchor: 4097 });
    expect(hole).toMatchObject({ stop: 'HOLE', hole: { began_at: '4098' } });
  });

  it('say the same of a look-up, found and not', async () => {
    const found = await same('/v1/lookup', 'Lookup', { message_id: idAt(4096n), want_body: true });
    expect(found).toMatchObject({ found: 'true', result: 'OK', conversation_seq: '4096', seq_bucket: '1' });
    expect(found.body).toEqual({ message_id: formatHex(idAt(4096n)), conversation_seq: '4096' });
    const placed = await same('/v1/lookup', 'Lookup', { message_id: idAt(4096n) });
    expect(placed.body).toBeUndefined();
    const missing = await same('/v1/lookup', 'Lookup', { message_id: message() });
    expect(missing).toEqual({ contract_version: '1', found: 'false', result: 'NOT_FOUND' });
  });
});

/** Bodies come in the order in which they settle: each is shown with its entry instead. */
function placed(answer: unknown): unknown {
  const { bodies, entries, ...others } = answer as { bodies?: unknown[]; entries?: { body?: string }[] };
  if (bodies === undefined || entries === undefined) return answer;
  return {
    ...others,
    entries: entries.map(({ body, ...entry }) => ({ ...entry, body: bodies[Number(body) - 1] })),
  };
}

/** Ids as hexadecimal, numbers and switches as text, codes by name; absent fields left out; of a body its place. */
function plain(value: unknown, field = ''): unknown {
  if (field === 'result' && typeof value === 'number') return resultName(value);
  if (field === 'stop' && typeof value === 'number') return historyStopName(value);
  if (field === 'bodies' && Array.isArray(value)) return value.map((body) => plain(body, 'body'));
  if (value instanceof Uint8Array) return field === 'body' ? bodyOf(value) : formatHex(value);
  if (typeof value === 'string') return UUID.test(value) ? value.replaceAll('-', '') : value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map((each) => plain(each));
  const fields = Object.entries(value).flatMap(([name, each]) => {
    const isAbsent = each === null || (name === 'body' && each === 0) || EMPTY.has(name, each);
    return isAbsent ? [] : [[name, plain(each, name)] as const];
  });
  const whole = Object.fromEntries(fields);
  if (field !== 'body') return whole;
  return { message_id: whole.message_id, conversation_seq: whole.conversation_seq };
}

/** What protobuf cannot tell from absent, and the other types leave out. */
const EMPTY = {
  has: (name: string, value: unknown): boolean =>
    (name === 'reactors' && Array.isArray(value) && value.length === 0) ||
    (name === 'conversation_id' && value instanceof Uint8Array && value.length === 0),
};

function bodyOf(bytes: Uint8Array): unknown {
  const type = keepCase.lookupType('mailjoin.v1.MessageBody');
  return plain(type.toObject(type.decode(bytes), { longs: String }), 'body');
}

function postBytes(socketPath: string, path: string, type: string, body: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': type };
    const request = http.request({ socketPath, path, method: 'POST', headers }, (response) => {
      buffer(response).then((bytes) => {
        if (response.statusCode === 200) resolve(bytes);
        else reject(new Error(`${response.statusCode}: ${bytes}`));
      }, reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
