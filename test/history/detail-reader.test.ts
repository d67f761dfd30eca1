/** A message's detail beside reads of reactions that fail, are late or never answer; the join is a real one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import type { DetailRequest } from '../../src/codec/detail-request.js';
import type { DetailOutcome } from '../../src/codec/detail-response.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { REACTOR_READS_MAX } from '../../src/domain/limits.js';
import { ResultCode } from '../../src/domain/result.js';
import type { Reaction, ReactionsPage } from '../../src/domain/write-ports.js';
import { DetailReader } from '../../src/history/detail-reader.js';
import { ReadDeadline } from '../../src/history/read-deadline.js';
import type { Joiner } from '../../src/join/joiner.js';
import { CREATED_AT_MS, message, user } from '../stores/fixtures.js';
import type { OpenedHistory } from './history-contract.js';
import { historyWorld, newPlace, putMessages } from './history-fixtures.js';
import { openEmbeddedHistory } from './open-embedded-history.js';

const NEVER = new Promise<never>(() => undefined);
const UNAVAILABLE = { code: 'STORE_UNAVAILABLE' };
const REACTORS = { limit: 1, after: undefined, reactionKey: undefined };

let opened: OpenedHistory;
let details: DetailReader;
let ask: DetailRequest;
let own: () => Promise<Reaction | undefined>;
let pages: () => Promise<ReactionsPage>;
let failures: string[];
let join: MockInstance<Joiner['join']>;

beforeAll(async () => {
  opened = await openEmbeddedHistory();
});
beforeEach(async () => {
  const { joiner } = historyWorld(opened.stores);
  join = vi.spyOn(joiner, 'join');
  failures = [];
  own = async () => undefined;
  pages = async () => ({ reactions: [], next: undefined });
  const reactions = { readReaction: () => own(), readReactionsPage: () => pages() };
  details = new DetailReader({ joiner, reactions, onFailure: (code) => failures.push(code) });
  const place = newPlace();
  const messageId = (await putMessages(opened.stores, place, [1n])).get(1n);
  if (messageId === undefined) throw new Error('was written');
  ask = { ...place, seq: 1n, messageId, userId: user(), reactors: undefined, deadlineMs: 20_000 };
});
afterAll(() => opened.close());

/** The deadline comes when the body is there and nothing else: no clock decides which of them was first. */
async function detailAtDeadline(request: DetailRequest): Promise<DetailOutcome> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const asked = details.detail(request);
    asked.catch(() => undefined);
    await join.mock.results.at(-1)?.value;
    await new Promise(setImmediate);
    vi.advanceTimersByTime(request.deadlineMs);
    return await asked;
  } finally {
    vi.useRealTimers();
  }
}

const reacted = (): Reaction => ({ userId: user(), reactionKey: '+1', createdAtMs: CREATED_AT_MS });

describe('R4.5 a message in detail whose reactions', () => {
  it('are not read by the deadline is unavailable then, though its body is there: none would mean nobody reacted', async () => {
    own = () => NEVER;
    await expect(detailAtDeadline(ask)).rejects.toMatchObject(UNAVAILABLE);
    own = async () => undefined;
    pages = () => NEVER;
    await expect(detailAtDeadline({ ...ask, reactors: REACTORS })).rejects.toMatchObject(UNAVAILABLE);
    // What is merely late was no failure of a read.
    expect(failures).toEqual([]);
  });

  it('are cut short by the deadline tells those it has, and where to go on', async () => {
    const [first, gone] = [reacted(), { ...reacted(), reactionKey: '' }];
    const answers = [Promise.resolve({ reactions: [first, gone], next: gone.userId }), NEVER];
    pages = () => answers.shift() ?? NEVER;
    const outcome = await detailAtDeadline({ ...ask, reactors: REACTORS });
    expect(outcome.reactors).toEqual({ shown: [first], next: gone.userId });
  });

  it('B52 fail once are read again; twice, the request fails', async () => {
    const answers: (Error | Reaction)[] = [new MailjoinError('STORE_UNAVAILABLE'), reacted()];
    own = async () => {
      const answer = answers.shift();
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nothing scripted');
      return answer;
    };
    expect((await details.detail(ask)).selfReactionKeys).toEqual(['+1']);
    expect(failures).toEqual(['STORE_UNAVAILABLE']);
    answers.push(new MailjoinError('STORE_UNAVAILABLE'), new MailjoinError('STORE_UNAVAILABLE'));
    await expect(details.detail(ask)).rejects.toMatchObject(UNAVAILABLE);
  });

  it('are never answered is answered at once all the same when it is not shown', async () => {
    own = () => NEVER;
    pages = () => NEVER;
    const outcome = await details.detail({ ...ask, reactors: REACTORS, messageId: message() });
    expect(outcome).toMatchObject({ result: ResultCode.MISMATCH, selfReactionKeys: [], reactors: undefined });
  });

  it('fail is answered all the same when it is not shown', async () => {
    own = () => Promise.reject(new MailjoinError('STORE_REFUSED'));
    const outcome = await details.detail({ ...ask, seq: 2n });
    expect(outcome).toMatchObject({ result: ResultCode.NOT_FOUND, selfReactionKeys: [] });
  });

  it('are read beside those of others: only so many at once, and none whose asker has left', async () => {
    let sent = 0;
    const ends: (() => void)[] = [];
    own = () => {
      sent++;
      return new Promise((resolve) => ends.push(() => resolve(undefined)));
    };
    const running = Array.from({ length: REACTOR_READS_MAX }, () => details.detail(ask));
    await expect(detailAtDeadline(ask)).rejects.toMatchObject(UNAVAILABLE);
    expect(sent).toBe(REACTOR_READS_MAX);
    for (const end of ends) end();
    await Promise.all(running);
    own = async () => reacted();
    expect((await details.detail(ask)).selfReactionKeys).toEqual(['+1']);
    expect(sent).toBe(REACTOR_READS_MAX);
  });
});

it('no timer of a deadline outlives its request, whichever way that ends', async () => {
  const close = vi.spyOn(ReadDeadline.prototype, 'close');
  await details.detail(ask);
  own = () => Promise.reject(new MailjoinError('STORE_REFUSED'));
  await expect(details.detail(ask)).rejects.toMatchObject({ code: 'STORE_REFUSED' });
  await details.detail({ ...ask, messageId: message() });
  expect(close).toHaveBeenCalledTimes(3);
  close.mockRestore();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  new ReadDeadline(20_000).close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
