/** message_reaction: one row per user and message, the later one wins (R5.5, R4.5, D19). */
import { describe, expect, it } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import type { Coordinates } from '../../src/domain/message.js';
import type { Reaction, ReactionStore, ReactionsPage } from '../../src/domain/write-ports.js';
import { at, CREATED_AT_MS, inParallel, somewhere, user } from './fixtures.js';
import { type Opened, plainValue, SEQ_REFUSED, SEQS_ACCEPTED, SEQS_REFUSED } from './write-contract.js';

const reaction = (reactionKey: string, over: Partial<Reaction> = {}): Reaction => ({
  userId: user(),
  reactionKey,
  createdAtMs: CREATED_AT_MS,
  ...over,
});

async function all(store: ReactionStore, where: Coordinates): Promise<Reaction[]> {
  const found: Reaction[] = [];
  for await (const each of store.readReactions(where)) found.push(each);
  return found;
}

/** Every part of a message's reactions, followed by `next`; more than so many would be an endless walk. */
async function parts(store: ReactionStore, where: Coordinates, limit: number): Promise<ReactionsPage[]> {
  const found: ReactionsPage[] = [];
  let after: UserId | undefined;
  do {
    const part = await store.readReactionsPage(where, { after, limit });
    found.push(part);
    after = part.next;
  } while (after !== undefined && found.length < 100);
  return found;
}

const sorted = (reactions: readonly Reaction[]) =>
  reactions.map((each) => JSON.stringify([plainValue(each.userId), each.reactionKey])).sort();

export function reactionContract(opened: Opened): void {
  describe('message_reaction', () => {
    it.each(SEQS_REFUSED)('S-2 R1.1 seq %s is refused before anything is sent', async (seq) => {
      const { writes } = opened();
      const where = somewhere(seq);
      await expect(writes.putReaction(where, reaction('a'))).rejects.toMatchObject(SEQ_REFUSED);
      await expect(writes.readReaction(where, user())).rejects.toMatchObject(SEQ_REFUSED);
      await expect(all(writes, where)).rejects.toMatchObject(SEQ_REFUSED);
      await expect(writes.readReactionsPage(where, { after: undefined, limit: 1 })).rejects.toMatchObject(
        SEQ_REFUSED,
      );
    });

    it.each(SEQS_ACCEPTED)('S-2 B01 reactions at seq %s are not those of its neighbour', async (seq) => {
      const { writes } = opened();
      const where = somewhere(seq);
      const given = reaction('a');
      await writes.putReaction(where, given);
      expect(plainValue(await all(writes, where))).toEqual(plainValue([given]));
      expect(await all(writes, at(where, seq - 1n))).toEqual([]);
    });

    it('a message without reactions, and a user without one, have none', async () => {
      const { writes } = opened();
      const where = somewhere();
      await writes.putReaction(where, reaction('a'));
      expect(await all(writes, somewhere())).toEqual([]);
      expect(await writes.readReaction(where, user())).toBeUndefined();
    });

    it('D19 a user has one reaction: the later one wins, in whatever order they come', async () => {
      const { writes, second } = opened();
      const early = reaction('z');
      const late = { ...early, reactionKey: 'a', createdAtMs: CREATED_AT_MS + 1n };
      for (const order of [
        [early, late],
        [late, early],
      ] as const) {
        const where = somewhere();
        await writes.putReaction(where, order[0]);
        await second.putReaction(where, order[1]);
        expect(plainValue(await all(writes, where))).toEqual(plainValue([late]));
        expect(plainValue(await second.readReaction(where, early.userId))).toEqual(plainValue(late));
      }
    });

    it('D19 taking back writes an empty key, which is told, and a late older reaction does not bring it back', async () => {
      const { writes } = opened();
      const where = somewhere();
      const given = reaction('\u{1f44d}\ufe0f');
      const takenBack = { ...given, reactionKey: '', createdAtMs: CREATED_AT_MS + 1n };
      await writes.putReaction(where, given);
      await writes.putReaction(where, takenBack);
      await writes.putReaction(where, given);
      expect(plainValue(await all(writes, where))).toEqual(plainValue([takenBack]));
    });

    it('D19 of two in the same millisecond the greater key by its bytes stays, in whatever order they come', async () => {
      const { writes } = opened();
      const a = reaction('a');
      const b = { ...a, reactionKey: 'b' };
      for (const order of [
        [a, b],
        [b, a],
      ] as const) {
        const where = somewhere();
        for (const each of order) await writes.putReaction(where, each);
        expect(plainValue(await writes.readReaction(where, a.userId))).toEqual(plainValue(b));
      }
    });

    it('R4.5 part by part: each row once, taken-back ones too, and next exactly while rows are left', async () => {
      const { writes, second } = opened();
      const where = somewhere();
      const fixed = ['00'.repeat(16), 'ff'.repeat(16), `${'00'.repeat(15)}01`, `80${'00'.repeat(15)}`];
      // Of several uuid versions too: Cassandra orders them by version first, the embedded store by their bytes.
      const ids = [
        ...fixed.map((hex) => user(Buffer.from(hex, 'hex'))),
        ...Array.from({ length: 8 }, () => user()),
      ];
      const given = ids.map((userId, n) => reaction(n % 3 === 0 ? '' : `k${n}`, { userId }));
      for (const each of given) await writes.putReaction(where, each);
      await writes.putReaction(at(where, where.seq + 1n), reaction('neighbour'));
      await writes.putReaction(at(where, where.seq - 1n), reaction('neighbour'));
      for (const limit of [1, 5, 6, 11, 12, 13, 500]) {
        const found = await parts(limit % 2 === 0 ? writes : second, where, limit);
        expect(sorted(found.flatMap(({ reactions }) => reactions))).toEqual(sorted(given));
        expect(found.map(({ reactions }) => reactions.length)).toEqual(
          Array.from({ length: Math.ceil(12 / limit) }, (_, n) => Math.min(limit, 12 - n * limit)),
        );
      }
    });

    it('R4.5 a part goes on behind any user, one without a row too, and ends behind the last', async () => {
      const { writes } = opened();
      const where = somewhere();
      const given = Array.from({ length: 6 }, () => reaction('a'));
      for (const each of given) await writes.putReaction(where, each);
      const [whole] = await parts(writes, where, 6);
      const ids = (whole?.reactions ?? []).map(({ userId }) => userId);
      const stranger = user();
      const from = async (after: UserId) =>
        (await writes.readReactionsPage(where, { after, limit: 6 })).reactions.map(({ userId }) => userId);
      for (const [index, id] of ids.entries()) expect(await from(id)).toEqual(ids.slice(index + 1));
      // Whoever has none stands between two who have one: where, the store's order says.
      await writes.putReaction(where, reaction('a', { userId: stranger }));
      const behind = await from(stranger);
      expect(behind).toEqual(ids.slice(ids.length - behind.length));
      const elsewhere = somewhere();
      expect(await writes.readReactionsPage(elsewhere, { after: stranger, limit: 6 })).toEqual({
        reactions: [],
        next: undefined,
      });
    });

    it('B07 tells every user of a message, beyond any page, each once', { timeout: 60_000 }, async () => {
      const { writes } = opened();
      const where = somewhere();
      const given = Array.from({ length: 1_100 }, (_, n) => reaction(`k${n % 5}`));
      await inParallel(given, 32, (each) => writes.putReaction(where, each));
      await writes.putReaction(at(where, where.seq + 1n), reaction('neighbour'));
      expect(sorted(await all(writes, where))).toEqual(sorted(given));
    });
  });
}
