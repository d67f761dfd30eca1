/** What the writing commands refuse: words that are not understood (2), items that are none and what fails (1). */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { messageJson, programUnderTest, TENANT } from './write-program.js';

function media(thumbnailBytes: number): Record<string, unknown> {
  return { media_metadata: { object_id: 'o', thumbnail: Buffer.alloc(thumbnailBytes).toString('base64') } };
}

describe('what is not understood: exit code 2, nothing opened', () => {
  it.each<[string[], unknown, string]>([
    [['commit'], undefined, 'give JSON with --file or on standard input'],
    [['commit'], '', 'the input is empty'],
    [['commit'], [], 'the input is an empty list'],
    [['recall', TENANT], undefined, 'expected: mailjoin recall TENANT CONVERSATION SEQ MESSAGE_ID'],
    [['edit', '--text', 'x'], messageJson(), '--text goes with TENANT'],
    [['edit', TENANT, TENANT, '1', '0'.repeat(32), '--file', 'x'], undefined, 'cannot be given together'],
    [['hold'], undefined, 'hold place'],
    [['commit', '--record', 'later'], messageJson(), 'must be one of sync, archive'],
  ])('%j', async (words, input, text) => {
    const program = programUnderTest();
    const { exitCode, errors } = await program.run(words, input);
    expect([exitCode, errors]).toEqual([2, expect.stringContaining(text)]);
    expect(fs.existsSync(program.dataDir)).toBe(false);
  });
});

describe('an item that is none: exit code 1, nothing opened', () => {
  it.each<[string, Record<string, unknown>, string, string]>([
    ['an unknown field', { sender: 'x' }, 'MESSAGE_INVALID', 'no such field: sender'],
    ['a field with a typing error', { sender_ids: 'x' }, 'MESSAGE_INVALID', 'did you mean sender_id?'],
    ['no payload', { payload_text: undefined }, 'MESSAGE_INVALID', 'payload_text or payload_base64'],
    ['two payloads', { payload_base64: 'AA==' }, 'MESSAGE_INVALID', 'payload_text and as payload_base64'],
    ['no base64', { payload_text: undefined, payload_base64: 'A' }, 'MESSAGE_INVALID', 'no base64'],
    ['a lone surrogate', { payload_text: '\ud800' }, 'MESSAGE_INVALID', 'no UTF-8 form'],
    ['no text', { payload_text: 5 }, 'MESSAGE_INVALID', 'payload_text is no text'],
    ['no uuid', { sender_id: 'me' }, 'MESSAGE_INVALID', 'sender_id is no uuid'],
    ['a rounded number', { reply_to_conversation_seq: 2 ** 60 }, 'MESSAGE_INVALID', 'was rounded'],
    ['a broken number', { message_type: 1.5 }, 'MESSAGE_INVALID', 'message_type'],
    ['an unknown class', { retention_class: 'for_ever' }, 'MESSAGE_INVALID', 'compliance_hold'],
    ['a user who is none', { mention_targets: { user_ids: ['x'] } }, 'MESSAGE_INVALID', 'user_ids[0]'],
    ['no list of users', { mention_targets: { user_ids: 'x' } }, 'MESSAGE_INVALID', 'no list of uuids'],
    [
      'an unknown media field',
      { media_metadata: { objectid: 'x' } },
      'MESSAGE_INVALID',
      'media_metadata.objectid',
    ],
    [
      'media without an object',
      { media_metadata: {} },
      'MESSAGE_INVALID',
      'media_metadata.object_id is missing',
    ],
    [
      'a negative width',
      { media_metadata: { object_id: 'o', width: -1 } },
      'MESSAGE_INVALID',
      'width is out of range',
    ],
  ])('%s', async (_, over, code, text) => {
    const program = programUnderTest();
    const { exitCode, rows } = await program.run(['commit', '--json'], messageJson(over));
    expect(exitCode).toBe(1);
    expect(rows).toMatchObject([
      { line: 1, error: { code, message: expect.stringContaining(text), retryable: false } },
    ]);
    expect(fs.existsSync(program.dataDir)).toBe(false);
  });

  it('what repeats in an error is the field’s name, never its value', async () => {
    const secret = 'a secret of somebody';
    const items = [
      { sender_id: secret },
      { payload_text: [secret] },
      { mention_targets: { user_ids: [secret] } },
    ];
    const { out } = await programUnderTest().run(['commit'], items.map(messageJson));
    expect(out).toContain('sender_id is no uuid');
    expect(out).not.toContain(secret);
  });
});

describe('an item that fails leaves its neighbours: exit code 1', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['S-2: bit 63', { reply_to_conversation_seq: String(2n ** 63n) }, 'SEQ_RANGE'],
    ['B50: a thumbnail above 32 KiB', media(32 * 1024 + 1), 'MESSAGE_TOO_LARGE'],
    ['B50: a payload above 16 MiB', { payload_text: 'x'.repeat(16 * 1024 ** 2 + 1) }, 'MESSAGE_TOO_LARGE'],
    ['a type out of range', { message_type: 128 }, 'MESSAGE_INVALID'],
    ['a client_message_id of 256 bytes', { client_message_id: 'x'.repeat(256) }, 'MESSAGE_INVALID'],
  ])('%s', async (_, over, code) => {
    const conversation_id = randomUUID();
    const items = [messageJson({ conversation_id, ...over }), messageJson({ conversation_id })];
    const { exitCode, rows } = await programUnderTest().run(['commit', '--json'], items);
    expect(exitCode).toBe(1);
    expect(rows[0]).toMatchObject({ line: 1, conversation_id, error: { code } });
    // Nothing was written of the first, not even a seq used up.
    expect(rows[1]).toMatchObject({ line: 2, conversation_seq: '1' });
  });

  it('a line that is no JSON leaves the others; an input that is none at all is one failure', async () => {
    const program = programUnderTest();
    const lines = `${JSON.stringify(messageJson())}\n\nnope\n`;
    const { exitCode, rows } = await program.run(['commit', '--json'], lines);
    expect(exitCode).toBe(1);
    expect(rows.map(({ line, error }) => [line, error !== undefined])).toEqual([
      [1, false],
      [3, true],
    ]);
    const none = await program.run(['commit'], '{"a":\n"b":');
    expect([none.exitCode, none.errors]).toEqual([
      1,
      expect.stringContaining('neither JSON nor lines of JSON'),
    ]);
  });

  it.each<[string, Record<string, string>]>([
    ['recall', {}],
    ['edit', { payload_text: 'x' }],
    ['react', { user_id: randomUUID(), reaction_key: '👍' }],
    ['hold place', {}],
    ['hold lift', {}],
  ])('%s: MESSAGE_NOT_FOUND and MESSAGE_MISMATCH name their message', async (name, fields) => {
    const program = programUnderTest();
    const [row] = (await program.run(['commit', '--json'], messageJson())).rows;
    const there = { ...row, ...fields };
    const items = [
      { ...there, conversation_seq: '77' },
      { ...there, message_id: '0'.repeat(32) },
    ];
    const { exitCode, rows } = await program.run([...name.split(' '), '--json'], items);
    expect(exitCode).toBe(1);
    expect(rows).toMatchObject([
      { conversation_seq: '77', error: { code: 'MESSAGE_NOT_FOUND', retryable: false } },
      { message_id: '0'.repeat(32), error: { code: 'MESSAGE_MISMATCH' } },
    ]);
  });

  it('writing without a log is refused (R5.1), and so is a retention file that is wrong (R3.4)', async () => {
    const program = programUnderTest();
    const without = await program.run(['commit', '--log', 'none'], messageJson());
    expect([without.exitCode, without.errors]).toEqual([1, expect.stringContaining('writing needs one')]);
    const file = path.join(program.directory, 'retention.json');
    fs.writeFileSync(file, '{"tenants":{"x":{"default_seconds":0}}}');
    const wrong = await program.run(['commit', '--retention-file', file], messageJson());
    expect([wrong.exitCode, wrong.errors]).toEqual([2, expect.stringContaining('tenant x')]);
    expect((await program.run(['capacity', '--json'])).out).toBe('{"rows":0}');
  });

  it('a file that is not there is CONFIG_INVALID', async () => {
    const { exitCode, errors } = await programUnderTest().run(['commit', '--file', 'not/there.json']);
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringMatching(/CONFIG_INVALID.*not\/there.json cannot be read/),
    ]);
  });
});
