/** `mailjoin/store`: what openWriter refuses, and that what it opened is closed again. */
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  conversationKeyId,
  openWriter,
  toConversationId,
  toMessageId,
  toTenantId,
  toUserId,
} from '../../src/cli/library.js';
import type { Settings } from '../../src/cli/settings.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { temporaryDirectory } from '../server/server-fixture.js';

const dataDir = (): string => path.join(temporaryDirectory(), 'data');

describe('openWriter refuses', () => {
  it.each<[string, object, string]>([
    ['an unknown setting, with the nearest', { contactPoint: ['a'] }, 'did you mean contactPoints?'],
    ['a value of another type', { brokers: {} }, 'no form'],
    ['a value out of range', { storeTimeoutMs: 0 }, 'storeTimeoutMs'],
    ['what does not go together', { store: 'cql' }, 'contactPoints'],
    ['no log', { store: 'cql', contactPoints: ['a'], log: 'kafka' }, 'brokers'],
  ])('%s', async (_, given, text) => {
    // What a JavaScript caller may give.
    const opening = openWriter(given as Partial<Settings>, { log: SILENT_LOG });
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(text),
    });
  });

  it('every problem at once', async () => {
    const given = { store: 'cql', inCap: 0, stoer: 'x' } as Partial<Settings>;
    const message = expect.stringMatching(/stoer[\s\S]*inCap[\s\S]*contactPoints/);
    await expect(openWriter(given)).rejects.toMatchObject({ message });
  });

  it('a store that is not there, where it is to change one', async () => {
    const opening = openWriter({ dataDir: dataDir() }, { needsStore: true });
    await expect(opening).rejects.toMatchObject({ code: 'STORE_MISSING' });
  });

  it('ids that are none', () => {
    expect(() => toTenantId('x')).toThrow(expect.objectContaining({ code: 'MESSAGE_INVALID' }));
    expect(() => toMessageId(new Uint8Array(15))).toThrow('message_id');
  });
});

it('B37: after a key was destroyed nothing more is sealed under it', async () => {
  const opened = await openWriter({ dataDir: dataDir() }, { log: SILENT_LOG });
  onTestFinished(async () => void (await opened.close(1_000)));
  const message = {
    tenantId: toTenantId('00112233-4455-6677-8899-aabbccddeeff'),
    conversationId: toConversationId(Buffer.alloc(16, 7)),
    senderId: toUserId(Buffer.alloc(16, 8)),
    payload: Buffer.from('x'),
  };
  await opened.writer.commit({ ...message, clientMessageId: '1' });
  const id = conversationKeyId(message.tenantId, message.conversationId);
  expect(id).toBe('00112233-4455-6677-8899-aabbccddeeff/07070707-0707-0707-0707-070707070707');
  await opened.destroyKey({ scope: 'conversation', id, version: 1 });
  const after = opened.writer.commit({ ...message, clientMessageId: '2' });
  await expect(after).rejects.toMatchObject({ code: 'KEY_DESTROYED' });
  const ends = await opened.log.ends();
  expect(ends).toEqual([{ partition: 0, offset: 2n }]);
});
