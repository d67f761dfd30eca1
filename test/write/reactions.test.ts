import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import { REACTION_KEYS_MAX } from '../../src/domain/limits.js';
import { reactionKeyOf } from '../../src/domain/reaction.js';
import type { MessageTarget } from '../../src/write/row-change.js';
import { message, readSummary, user } from '../stores/fixtures.js';
import {
  Crash,
  chat,
  committed,
  logged,
  twoProcesses,
  type WritingProcess,
  writingProcess,
} from './write-fixtures.js';

const THUMB = '\u{1f44d}';
const HEART = '\u2764';
const SELECTOR = '\ufe0f';

async function shown({ opened }: WritingProcess, target: MessageTarget): Promise<Record<string, number>> {
  return Object.fromEntries((await readSummary(opened.store, target))?.counts ?? []);
}

/** What the reactions themselves say. */
async function counted({ opened }: WritingProcess, target: MessageTarget): Promise<Record<string, number>> {
  const counts = new Map<string, number>();
  for await (const { reactionKey } of opened.writes.readReactions(target)) {
    if (reactionKey !== '') counts.set(reactionKey, (counts.get(reactionKey) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

describe('reaction keys', () => {
  it.each([
    ['an empty one', ''],
    ['a variation selector alone', SELECTOR],
    ['one of 65 bytes', 'x'.repeat(65)],
    ['a control character', 'a\u0000'],
    ['half a character', '\ud83d'],
  ])('refuse %s, with nothing written', async (_, reactionKey) => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    await expect(process.writer.react({ ...target, userId: user(), reactionKey })).rejects.toMatchObject({
      code: 'REACTION_INVALID',
    });
    expect(await counted(process, target)).toEqual({});
  });

  it('B46: are the same with and without U+FE0F, and composed or not', () => {
    expect(reactionKeyOf(THUMB + SELECTOR)).toBe(THUMB);
    expect(reactionKeyOf(HEART + SELECTOR)).toBe(reactionKeyOf(HEART));
    expect(reactionKeyOf('e\u0301')).toBe('\u00e9');
    expect(reactionKeyOf('\u{1f44d}\u{1f3fd}')).not.toBe(THUMB);
    const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';
    expect(reactionKeyOf(family)).toBe(family);
    const unit = fc.constantFrom('e', '\u0301', SELECTOR, HEART, THUMB, '\u200d', '\u0323');
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const key = reactionKeyOf(text);
        expect(reactionKeyOf(key)).toBe(key);
        expect(reactionKeyOf(text.replaceAll(SELECTOR, ''))).toBe(key);
      }),
    );
  });
});

describe('a reaction (R5.5, D19)', () => {
  it('is refused for a message that is not there, another one, or a recalled one; taking back is not', async () => {
    const process = await writingProcess();
    const where = chat();
    const target = await committed(process, where);
    const userId = user();
    const react = (over: object) => process.writer.react({ ...target, userId, reactionKey: THUMB, ...over });
    await expect(react({ seq: 9n })).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    await expect(react({ messageId: message() })).rejects.toMatchObject({ code: 'MESSAGE_MISMATCH' });
    await expect(react({ userId: userId.subarray(1) })).rejects.toMatchObject({ code: 'MESSAGE_INVALID' });
    await react({});
    await process.writer.recall(target);
    await expect(react({})).rejects.toMatchObject({ code: 'MESSAGE_RECALLED' });
    await react({ reactionKey: undefined });
    expect(await shown(process, target)).toEqual({});
  });

  it('is one per user: another one replaces it, taking it back shows none', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const [a, b] = [user(), user()];
    await process.writer.react({ ...target, userId: a, reactionKey: THUMB });
    await process.writer.react({ ...target, userId: b, reactionKey: THUMB });
    expect(await shown(process, target)).toEqual({ [THUMB]: 2 });
    await process.writer.react({ ...target, userId: a, reactionKey: HEART });
    expect(await shown(process, target)).toEqual({ [THUMB]: 1, [HEART]: 1 });
    await process.writer.react({ ...target, userId: b, reactionKey: undefined });
    expect(await shown(process, target)).toEqual({ [HEART]: 1 });
    await process.writer.react({ ...target, userId: a, reactionKey: undefined });
    expect(await shown(process, target)).toEqual({});
    const [, ...events] = await logged(process.opened.log);
    expect(events.at(-1)).toMatchObject({ kind: 'reactions', counts: [[HEART, 0]] });
  });

  it('B46: U+1F44D and U+2764 with and without U+FE0F count together, also beside a foreign writer’s', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const foreign = { userId: user(), reactionKey: HEART + SELECTOR, createdAtMs: 1n };
    await process.opened.writes.putReaction(target, foreign);
    await process.opened.store.putSummary(target, {
      seq: target.seq,
      counts: [[HEART + SELECTOR, 1]],
      version: 1n,
      updatedAtMs: 1n,
    });
    for (const reactionKey of [THUMB, THUMB + SELECTOR, HEART, HEART + SELECTOR]) {
      await process.writer.react({ ...target, userId: user(), reactionKey });
    }
    expect(await shown(process, target)).toEqual({ [THUMB]: 2, [HEART]: 3 });
  });

  it('B47: of the key __proto__ is one like any other', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const { counts } = await process.writer.react({ ...target, userId: user(), reactionKey: '__proto__' });
    expect(counts).toEqual([['__proto__', 1]]);
  });

  it('B14: of a user whose clock goes back still replaces the former one', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const userId = user();
    await process.writer.react({ ...target, userId, reactionKey: THUMB });
    process.clock.ms -= 3_600_000;
    const { counts } = await process.writer.react({ ...target, userId, reactionKey: HEART });
    expect(counts).toEqual([[HEART, 1]]);
  });

  it('summary_version rises with every operation, whatever the clock does', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    let last = 0n;
    for (const stepMs of [0, 1000, -3_600_000, 0, 0, 10]) {
      process.clock.ms += stepMs;
      const { summaryVersion } = await process.writer.react({
        ...target,
        userId: user(),
        reactionKey: THUMB,
      });
      expect(summaryVersion).toBeGreaterThan(last);
      last = summaryVersion;
    }
    expect((await readSummary(process.opened.store, target))?.version).toBe(last);
  });

  it('R2.4: is refused with a further key when a message shows as many as it may', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const users: UserId[] = [];
    for (let index = 0; index < REACTION_KEYS_MAX; index++) {
      const userId = user();
      users.push(userId);
      await process.opened.writes.putReaction(target, {
        userId,
        reactionKey: `key-${index}`,
        createdAtMs: 1n,
      });
    }
    await process.writer.react({ ...target, userId: user(), reactionKey: 'key-0' });
    await expect(
      process.writer.react({ ...target, userId: user(), reactionKey: 'one more' }),
    ).rejects.toMatchObject({ code: 'REACTION_KEYS_FULL' });
    await process.writer.react({ ...target, userId: user(), reactionKey: 'key-1' });
    await process.writer.react({ ...target, userId: users[5] as UserId, reactionKey: undefined });
    await process.writer.react({ ...target, userId: user(), reactionKey: 'one more' });
    expect(Object.keys(await shown(process, target))).toHaveLength(REACTION_KEYS_MAX);
  });

  it.each(['read', 'reaction', 'summary', 'log'] as const)(
    'whose writer crashed after %s is right after a retry from another process',
    async (step) => {
      const [first, second] = await twoProcesses();
      const target = await committed(first, chat());
      const userId = user();
      await first.writer.react({ ...target, userId, reactionKey: THUMB });
      const request = { ...target, userId, reactionKey: HEART };
      first.crashAfter('react', step);
      await expect(first.writer.react(request)).rejects.toThrow(Crash);
      const { counts } = await second.writer.react(request);
      expect(counts).toEqual([[HEART, 1]]);
      expect(await shown(second, target)).toEqual({ [HEART]: 1 });
      const events = (await logged(second.opened.log)).filter(({ kind }) => kind === 'reactions');
      // Until the summary was written, 0 also tells of the one before.
      const gone = step === 'read' || step === 'reaction' ? [[THUMB, 0]] : [];
      expect(events.at(-1)).toMatchObject({ counts: expect.arrayContaining([[HEART, 1], ...gone]) });
    },
  );

  it('an older summary that arrives late does not bring back a key that was taken back', async () => {
    const [first, second] = await twoProcesses();
    const target = await committed(first, chat());
    const userId = user();
    // The first process's summary is lost on its way: the store has the reaction, the summary comes later.
    const late: Parameters<typeof first.opened.store.putSummary>[] = [];
    first.opened.store.putSummary = async (...write) => {
      late.push(write);
      throw new Error('timed out');
    };
    await expect(first.writer.react({ ...target, userId, reactionKey: HEART })).rejects.toThrow('timed out');
    first.clock.ms += 5;
    await second.writer.react({ ...target, userId, reactionKey: undefined });
    for (const write of late) await second.opened.store.putSummary(...write);
    expect(await shown(second, target)).toEqual({});
  });

  it('gives up when others never stop changing the summary: STORE_UNAVAILABLE', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    // A store that acknowledges and forgets: a fault that the real one cannot be made to show.
    process.opened.store.putSummary = async () => undefined;
    await expect(
      process.writer.react({ ...target, userId: user(), reactionKey: THUMB }),
    ).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    Reflect.deleteProperty(process.opened.store, 'putSummary');
    const { counts } = await process.writer.react({ ...target, userId: user(), reactionKey: THUMB });
    expect(counts).toEqual([[THUMB, 2]]);
  });
});

describe('reactions at once', () => {
  it('of one process share rounds, and all are counted', async () => {
    const process = await writingProcess();
    const target = await committed(process, chat());
    const { store } = process.opened;
    const putSummary = store.putSummary.bind(store);
    let writes = 0;
    store.putSummary = (...write) => {
      writes++;
      return putSummary(...write);
    };
    const acknowledged = await Promise.all(
      Array.from({ length: 60 }, () =>
        process.writer.react({ ...target, userId: user(), reactionKey: THUMB }),
      ),
    );
    expect(await shown(process, target)).toEqual({ [THUMB]: 60 });
    expect(writes).toBeLessThan(30);
    const versions = new Set(acknowledged.map(({ summaryVersion }) => summaryVersion));
    expect(versions.size).toBe(writes);
  });

  it('D19: of two processes end with the counts of the reactions, whatever the interleaving and the clocks', async () => {
    const processes = await twoProcesses();
    const where = chat();
    const operation = fc.record({
      process: fc.nat(1),
      user: fc.nat(5),
      key: fc.option(fc.constantFrom(THUMB, HEART, 'a', 'b'), { nil: undefined }),
      turns: fc.nat(3),
    });
    const users = Array.from({ length: 6 }, () => user());
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 1, maxLength: 24 }),
        fc.boolean(),
        async (operations, isFrozen) => {
          const target = await committed(processes[0], where);
          const running: Promise<unknown>[] = [];
          for (const { process, user: index, key, turns } of operations) {
            const userId = users[index] as UserId;
            running.push(
              (processes[process] as WritingProcess).writer.react({ ...target, userId, reactionKey: key }),
            );
            if (!isFrozen) processes[0].clock.ms += turns - 1;
            for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
          }
          await Promise.all(running);
          expect(await shown(processes[0], target)).toEqual(await counted(processes[1], target));
        },
      ),
      { numRuns: 40 },
    );
  });

  it('D19: at versions that collide end right: two processes with one clock and no luck', async () => {
    const processes = await twoProcesses();
    const target = await committed(processes[0], chat());
    // A summary far ahead of the clock: every process chooses the next version, and so the same one.
    const version = 2n ** 62n;
    await processes[0].opened.store.putSummary(target, {
      seq: target.seq,
      counts: [],
      version,
      updatedAtMs: 1n,
    });
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (processes[index % 2] as WritingProcess).writer.react({
          ...target,
          userId: user(),
          reactionKey: index % 3 === 0 ? HEART : THUMB,
        }),
      ),
    );
    expect(await shown(processes[0], target)).toEqual({ [HEART]: 14, [THUMB]: 26 });
    expect((await readSummary(processes[0].opened.store, target))?.version).toBeGreaterThan(version);
  });
});
