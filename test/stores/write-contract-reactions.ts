/** message_reaction: one row per user and message, the later one wins (R5.5, R4.5, D19). */
import { describe, expect, it } from 'vitest';
import type { Coordinates } from '../../src/domain/message.js';
import type { Reaction, ReactionStore } from '../../src/domain/write-ports.js';
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
