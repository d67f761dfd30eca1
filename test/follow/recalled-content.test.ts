/** Content of a recalled message does not come back by what was read or written around the recall (S-7, B16). */
import { expect, it } from 'vitest';
import { MessageState } from '../../src/domain/message.js';
import { ResultCode } from '../../src/domain/result.js';
import { LogEvents } from '../../src/follow/log-events.js';
import { DetailReader } from '../../src/history/detail-reader.js';
import {
  makeWorld,
  names,
  newConversation,
  placeOf,
  requestFor,
  revision,
  TENANT,
  textOf,
} from '../join/harness.js';
import { user } from '../stores/fixtures.js';
import { editOf, entryOf, recallOf } from './log-fixtures.js';

it('S-7: a recall in the log, its row still NORMAL, is not undone by an edit above it', async () => {
  const { add, cache, join, joiner } = makeWorld();
  const events = new LogEvents({ joiner, onKeyDestroyed: [] });
  const reference = add(newConversation(), 1n, 'first', { lastActivityId: revision(10) });
  const target = { tenantId: TENANT, ...reference };
  events.apply(entryOf(recallOf(target, revision(20))));
  const { conversationId, messageId } = reference;
  // Its writer has read the row before the recall was written, or instead of it.
  events.apply(entryOf(editOf(target, revision(30))));
  const edited = { messageId, lastActivityId: revision(30), state: MessageState.EDITED };
  add(conversationId, 1n, 'edited', edited);
  expect(names(await join([reference]))).toEqual(['NOT_YET']);
  expect(cache.stats().bodies).toBe(0);
  add(conversationId, 1n, 'edited', { ...edited, recallEventSeq: 9n });
  const outcome = await join([reference]);
  expect([names(outcome), textOf(outcome, 0)]).toEqual([['RECALLED'], undefined]);
});

it('B16: rows that a page read before a recall are not cached when the recalled body has come and gone', async () => {
  const { add, cache, clock, join, joiner, store } = makeWorld();
  const reference = add(newConversation(), 1n, 'secret', { lastActivityId: revision(10) });
  const { conversationId, messageId } = reference;
  const record = store.records.get(placeOf(conversationId, 1n));
  if (record === undefined) throw new Error('no row');
  const cost = { recordStatements: 1, summaryStatements: 1, furtherPages: 0, rows: 1, bytes: 0 };
  const rows = { records: [record], summaries: [], sentAtMs: clock.now, cost };
  const floor = { activityId: revision(20), summaryVersion: 0n, recalled: true };
  joiner.raiseFloor(TENANT, messageId, floor, 3_600_000);
  add(conversationId, 1n, 'secret', { messageId, lastActivityId: revision(20), recallEventSeq: 9n });
  expect(names(await join([reference]))).toEqual(['RECALLED']);
  cache.clear();
  const page = await joiner.join(requestFor([reference]), 0, undefined, new Map([[0n, rows]]));
  expect([names(page), textOf(page, 0)]).toEqual([['RECALLED'], undefined]);
  expect(names(await join([reference]))).toEqual(['RECALLED']);
});

it('S-7: a message’s detail does not show what was recalled while its reactions were read', async () => {
  const { add, joiner } = makeWorld();
  const reference = add(newConversation(), 1n, 'secret', { lastActivityId: revision(10) });
  let answer!: () => void;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let asked!: () => void;
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const reader = new DetailReader({
    joiner,
    reactions: {
      readReaction: async () => {
        asked();
        await held;
        return undefined;
      },
      readReactionsPage: () => Promise.reject(new Error('not asked')),
    },
    onFailure: () => undefined,
  });
  const detail = reader.detail({
    tenantId: TENANT,
    ...reference,
    userId: user(),
    reactors: undefined,
    deadlineMs: 20_000,
  });
  await isAsked;
  await new Promise(setImmediate);
  const floor = { activityId: revision(20), summaryVersion: 0n, recalled: true };
  joiner.raiseFloor(TENANT, reference.messageId, floor, 3_600_000);
  answer();
  expect(await detail).toMatchObject({ result: ResultCode.NOT_YET, body: undefined, selfReactionKeys: [] });
});
