/** What a look-up does when the index fails, is wrong, or is asked too much at once (R2.2). */
import { beforeEach, expect, it, vi } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { LOOKUPS_MAX } from '../../src/domain/limits.js';
import type { IndexEntry } from '../../src/domain/write-ports.js';
import { MessageLookup } from '../../src/history/message-lookup.js';
import { conversation, message, tenant } from '../stores/fixtures.js';

let answer: () => Promise<IndexEntry | undefined>;
let counted: string[];
let failures: string[];
let joinedWithin: number[];
let nowMs: number;
let lookups: MessageLookup;

beforeEach(() => {
  counted = [];
  failures = [];
  joinedWithin = [];
  nowMs = 0;
  lookups = new MessageLookup({
    index: { lookup: () => answer() },
    joiner: {
      join: ({ deadlineMs }) => {
        joinedWithin.push(deadlineMs);
        throw new MailjoinError('OVERLOADED');
      },
    },
    clock: { nowMs: () => nowMs },
    onLookup: (outcome) => counted.push(outcome),
    onFailure: (code) => failures.push(code),
  });
});

const ask = () => ({ tenantId: tenant(), messageId: message(), deadlineMs: 1_000, wantBody: true });

it('a read of the index that fails is told and not repeated: whoever asks may ask again', async () => {
  const unavailable = new MailjoinError('STORE_UNAVAILABLE');
  answer = () => Promise.reject(unavailable);
  await expect(lookups.lookup(ask())).rejects.toBe(unavailable);
  expect([counted, failures]).toEqual([['failed'], ['STORE_UNAVAILABLE']]);
});

it('R2.2 only so many run at once: a further one is refused, unread, and one that ended makes room', async () => {
  const ends: (() => void)[] = [];
  answer = () => new Promise((resolve) => ends.push(() => resolve(undefined)));
  const running = Array.from({ length: LOOKUPS_MAX }, () => lookups.lookup(ask()));
  await expect(lookups.lookup(ask())).rejects.toMatchObject({ code: 'OVERLOADED' });
  expect(ends).toHaveLength(LOOKUPS_MAX);
  ends.shift()?.();
  await running.shift();
  const next = lookups.lookup(ask());
  expect(ends).toHaveLength(LOOKUPS_MAX);
  for (const end of ends) end();
  await Promise.all([...running, next]);
  expect(counted).toEqual(new Array(LOOKUPS_MAX + 1).fill('missing'));
});

it('the message itself gets what the read of the index has left of the deadline', async () => {
  for (const spentMs of [400, 1_400]) {
    answer = async () => {
      nowMs += spentMs;
      return { conversationId: conversation(), seq: 1n };
    };
    await expect(lookups.lookup(ask())).rejects.toMatchObject({ code: 'OVERLOADED' });
  }
  expect(joinedWithin).toEqual([600, 0]);
  expect(counted).toEqual(['found', 'found']);
});

it('the deadline ends it while the index is still read; that read keeps its place and is counted when it ends', async () => {
  const ends: (() => void)[] = [];
  answer = () => new Promise((resolve) => ends.push(() => resolve(undefined)));
  const late = Array.from({ length: LOOKUPS_MAX }, () => lookups.lookup({ ...ask(), deadlineMs: 20 }));
  const settled = await Promise.allSettled(late);
  expect(settled.map(({ status }) => status)).toEqual(new Array(LOOKUPS_MAX).fill('rejected'));
  await expect(late[0]).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect([counted, failures, joinedWithin]).toEqual([[], [], []]);
  await expect(lookups.lookup(ask())).rejects.toMatchObject({ code: 'OVERLOADED' });
  for (const end of ends) end();
  await vi.waitFor(() => expect(counted).toEqual(new Array(LOOKUPS_MAX).fill('missing')));
  answer = async () => undefined;
  expect((await lookups.lookup(ask())).entry).toBeUndefined();
});
