/** The writing commands on the embedded store: what they print, and what is then in store and log. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/cli/system-clock.js';
import { decodeLogRecord, type LogRecord } from '../../src/codec/log-record.js';
import { type MessageRecord, MessageState, RetentionClass } from '../../src/domain/message.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { conversation, tenant } from '../stores/fixtures.js';
import {
  messageJson,
  operandsOf,
  type ProgramUnderTest,
  programUnderTest,
  type Row,
  TENANT,
} from './write-program.js';

const bytesOf = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** What the store and the log hold after a command. */
async function inspect<T>(
  { dataDir }: ProgramUnderTest,
  look: (opened: Awaited<ReturnType<typeof openEmbedded>>) => Promise<T>,
): Promise<T> {
  const opened = await openEmbedded(dataDir, systemClock);
  try {
    return await look(opened);
  } finally {
    await opened.close();
  }
}

function rowOf(program: ProgramUnderTest, row: Row): Promise<MessageRecord | undefined> {
  const where = {
    tenantId: tenant(bytesOf(TENANT)),
    conversationId: conversation(bytesOf(row.conversation_id)),
    seq: BigInt(row.conversation_seq),
  };
  return inspect(program, ({ writes }) => writes.readRecord(where));
}

function logged(program: ProgramUnderTest): Promise<(LogRecord | undefined)[]> {
  return inspect(program, async ({ log }) => {
    const records: (LogRecord | undefined)[] = [];
    await log.read({
      from: [],
      until: await log.ends(),
      signal: new AbortController().signal,
      onEntries: async (entries) => {
        for (const { value } of entries) records.push(decodeLogRecord(value));
      },
    });
    return records;
  });
}

async function committed(program: ProgramUnderTest, over: Record<string, unknown> = {}): Promise<Row> {
  const { rows, errors } = await program.run(['commit', '--json'], messageJson(over));
  const [row] = rows;
  if (row === undefined) throw new Error(errors);
  return row;
}

describe('commit', () => {
  it('writes every field, and the log has the same row', async () => {
    const program = programUnderTest();
    const [user, device] = [randomUUID(), randomUUID()];
    const row = await committed(program, {
      sender_device_id: device,
      message_type: 8,
      custom_type: 'app.poll',
      schema_version: 3,
      mention_targets: { user_ids: [user], at_all: true },
      reply_to_conversation_seq: 7,
      retention_class: 'ephemeral_24h',
      media_metadata: { object_id: 'o', bytes: '9007199254740991', width: 3, checksum: 'AAE=' },
    });
    const record = await rowOf(program, row);
    expect(record).toMatchObject({
      messageType: 8,
      customType: 'app.poll',
      schemaVersion: 3,
      replyToSeq: 7n,
      retentionClass: RetentionClass.EPHEMERAL_24H,
      createdAtMs: BigInt(row.created_at as string),
    });
    expect(Buffer.from(record?.messageId ?? []).toString('hex')).toBe(row.message_id);
    expect(Buffer.from(record?.senderDeviceId ?? []).equals(bytesOf(device))).toBe(true);
    // common.proto: user_ids is field 1, at_all field 2; of the media object_id 1, bytes 3, width 4, checksum 9.
    const mentions = Buffer.concat([Buffer.from([0x0a, 16]), bytesOf(user), Buffer.from([0x10, 1])]);
    expect(Buffer.from(record?.mentionTargets ?? [])).toEqual(mentions);
    const media = '0a016f' + '18ffffffffffffff0f' + '2003' + '4a020001';
    expect(Buffer.from(record?.mediaMetadata ?? []).toString('hex')).toBe(media);
    expect(record?.ttlSeconds).toBeLessThanOrEqual(86_400);
    const expected = { kind: 'message', record: { seq: 1n, customType: 'app.poll' } };
    expect(await logged(program)).toMatchObject([expected]);
  });

  it('D16: a retry with the same client_message_id, by another run, gives the same acknowledgement', async () => {
    const program = programUnderTest();
    const given = messageJson();
    const first = await program.run(['commit', '--json'], given);
    const again = await program.run(['commit', '--json'], { ...given, payload_text: 'changed' });
    expect(again.rows).toEqual(first.rows);
    expect(await logged(program)).toHaveLength(1);
    const elsewhere = { ...given, conversation_id: randomUUID() };
    const reused = await program.run(['commit', '--json'], elsewhere);
    expect(reused.rows).toMatchObject([{ error: { code: 'CLIENT_MESSAGE_ID_REUSED' } }]);
  });

  it('keeps the order of a conversation, from seq 1 and without holes, also over several runs', async () => {
    const program = programUnderTest();
    const conversations = [randomUUID(), randomUUID(), randomUUID()];
    const items = Array.from({ length: 30 }, (_, index) =>
      messageJson({ conversation_id: conversations[index % 3], payload_text: `${index}` }),
    );
    const lines = items.map((item) => JSON.stringify(item)).join('\n');
    const { rows } = await program.run(['commit', '--json'], lines);
    expect(rows.map(({ line, conversation_seq }) => [line, conversation_seq])).toEqual(
      items.map((_, index) => [index + 1, String(Math.floor(index / 3) + 1)]),
    );
    const next = await committed(program, { conversation_id: conversations[0] });
    expect(next.conversation_seq).toBe('11');
  });

  it('names a message that has no client_message_id, so that it can be retried', async () => {
    const program = programUnderTest();
    const given = messageJson({ client_message_id: undefined });
    const first = await program.run(['commit', '--json'], given);
    const named = { ...given, client_message_id: first.rows[0]?.client_message_id };
    expect((await program.run(['commit', '--json'], named)).rows).toEqual(first.rows);
    expect((await program.run(['commit', '--json'], given)).rows[0]?.conversation_seq).toBe('3');
  });

  it('reads a file, and prints a table', async () => {
    const program = programUnderTest();
    const file = path.join(program.directory, 'message.json');
    fs.writeFileSync(file, JSON.stringify(messageJson({ client_message_id: 'mine' })));
    const { exitCode, out } = await program.run(['commit', '--file', file]);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^line +tenant_id .*outcome\n1 .* mine +1 .*committed$/);
  });

  it('D15: record = archive leaves the row to the archiver', async () => {
    const program = programUnderTest();
    const { rows } = await program.run(['commit', '--json', '--record', 'archive'], messageJson());
    const row = rows[0] as Row;
    expect(await rowOf(program, row)).toBeUndefined();
    const parking = path.join(program.directory, 'parked');
    await program.run(['archive', '--until-end', '--parking-file', parking]);
    expect(await rowOf(program, row)).toMatchObject({ state: MessageState.NORMAL });
  });
});

describe('changes of a message', () => {
  it('edit and recall take what commit printed; a recall again is acknowledged alike; then no edit', async () => {
    const program = programUnderTest();
    const row = await committed(program);
    const edited = await program.run(['edit', ...operandsOf(row), '--text', 'new', '--json']);
    expect(edited.rows).toMatchObject([{ conversation_seq: '1', event_conversation_seq: '2' }]);
    expect(await rowOf(program, row)).toMatchObject({ state: MessageState.EDITED });
    const recalled = await program.run(['recall', '--json'], row);
    expect(recalled.rows).toMatchObject([{ event_conversation_seq: '3' }]);
    const record = await rowOf(program, row);
    expect(record).toMatchObject({ state: MessageState.RECALLED, recallEventSeq: 3n });
    expect(Buffer.from(record?.lastActivityId ?? []).toString('hex')).toBe(
      recalled.rows[0]?.last_activity_id,
    );
    expect((await program.run(['recall', '--json'], row)).rows).toEqual(recalled.rows);
    const late = await program.run(['edit', ...operandsOf(row), '--text', 'newer']);
    expect([late.exitCode, late.out]).toEqual([1, expect.stringContaining('MESSAGE_RECALLED')]);
    expect((await logged(program)).map((each) => each?.kind)).toEqual(['message', 'edit', 'recall']);
  });

  it('react sets, replaces and takes back; B46: U+FE0F makes no second reaction', async () => {
    const program = programUnderTest();
    const row = await committed(program);
    const [one, two] = [randomUUID(), randomUUID()];
    const react = async (...words: string[]) =>
      (await program.run(['react', ...operandsOf(row), ...words, '--json'])).rows[0]?.counts;
    expect(await react('--user', one, '--key', '\u2764\ufe0f')).toEqual({ '\u2764': 1 });
    expect(await react('--user', two, '--key', '\u2764')).toEqual({ '\u2764': 2 });
    expect(await react('--user', two, '--key', '👍')).toEqual({ '\u2764': 1, '👍': 1 });
    expect(await react('--user', one, '--take-back')).toEqual({ '👍': 1 });
    const both = await program.run(['react', ...operandsOf(row), '--user', one, '--key', 'x', '--take-back']);
    expect([both.exitCode, both.out]).toEqual([1, expect.stringContaining('take_back')]);
  });

  it('S-5: hold place removes the TTL, hold lift gives the policy’s', async () => {
    const program = programUnderTest();
    const row = await committed(program);
    expect((await program.run(['hold', 'place', ...operandsOf(row)])).exitCode).toBe(0);
    expect(await rowOf(program, row)).toMatchObject({
      ttlSeconds: undefined,
      retentionClass: RetentionClass.COMPLIANCE_HOLD,
    });
    const lift = ['hold', 'lift', ...operandsOf(row), '--class'];
    const wrong = await program.run([...lift, 'compliance_hold']);
    expect([wrong.exitCode, wrong.out]).toEqual([
      1,
      expect.stringContaining('the hold that is to be lifted'),
    ]);
    expect((await program.run([...lift, 'ephemeral_24h'])).exitCode).toBe(0);
    const lifted = await rowOf(program, row);
    expect(lifted?.retentionClass).toBe(RetentionClass.EPHEMERAL_24H);
    expect(lifted?.ttlSeconds).toBeLessThanOrEqual(86_400);
  });

  it('D17: recover tells what it saw, and goes on from there', async () => {
    const program = programUnderTest();
    await program.run(['recall'], await committed(program));
    const first = await program.run(['recover', '--json']);
    expect(first.rows).toMatchObject([{ records: 2, recalls: 1, shown: 1, applied: 0, undecodable: 0 }]);
    expect((await program.run(['recover', '--json'])).rows).toMatchObject([{ records: 0 }]);
    expect((await program.run(['recover'])).out).toContain('events that their rows show');
  });

  it('heads shows a conversation’s head, and says where there is none', async () => {
    const program = programUnderTest();
    const conversation_id = randomUUID();
    await committed(program, { conversation_id, preview_text: 'hel' });
    const last = await committed(program, { conversation_id });
    const { rows } = await program.run(['heads', TENANT, conversation_id, '--json']);
    expect(rows).toMatchObject([{ latest_conversation_seq: '2', last_message_id: last.message_id }]);
    const none = await program.run(['heads', TENANT, randomUUID()]);
    expect([none.exitCode, none.errors]).toEqual([1, expect.stringContaining('has no head')]);
    const wrong = await program.run(['heads', TENANT, 'x']);
    expect([wrong.exitCode, wrong.errors]).toEqual([
      2,
      expect.stringContaining('CONVERSATION must be a uuid'),
    ]);
  });
});
