/** Who reacted, page by page (R4.5): what every store must give; run for the embedded one and for a real Cassandra. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReactorsPage } from '../../src/codec/detail-response.js';
import { formatHex, type UserId } from '../../src/domain/ids.js';
import { REACTOR_READS_MAX, REACTOR_ROWS_MAX } from '../../src/domain/limits.js';
import type { Coordinates } from '../../src/domain/message.js';
import { reactionKeyOf } from '../../src/domain/reaction.js';
import type { Reaction, ReactionStore } from '../../src/domain/write-ports.js';
import { ReactorPages } from '../../src/history/reactor-pages.js';
import { ReadDeadline } from '../../src/history/read-deadline.js';
import { ReadGate } from '../../src/join/read-gate.js';
import { CREATED_AT_MS, inParallel, somewhere, user } from '../stores/fixtures.js';

export interface OpenedReactions {
  readonly reactions: ReactionStore;
  close(): Promise<void>;
}

export interface ReactorsRuns {
  /** Of the property. */
  readonly runs: number;
  /** Rows of the message that almost everybody has taken back. */
  readonly takenBack: number;
}

const HEART = '\u2764';
const KEYS = ['+1', HEART, `${HEART}\uFE0F`, '', ''] as const;

/** Puts of a few users each, in turn; the last one of a user stands. */
const puts = fc.array(fc.record({ by: fc.nat(30), key: fc.constantFrom(...KEYS) }), { maxLength: 60 });
const questions = fc.record({
  limits: fc.array(fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constant(200)), {
    minLength: 1,
    maxLength: 4,
  }),
  reactionKey: fc.constantFrom(undefined, undefined, '+1', HEART, `${HEART}\uFE0F`, 'none'),
});

export function reactorsContract(
  name: string,
  open: () => Promise<OpenedReactions>,
  { runs, takenBack }: ReactorsRuns,
): void {
  describe(`reactors contract: ${name}`, () => {
    let opened: OpenedReactions;
    let rowsRead = 0;
    let pages: ReactorPages;
    beforeAll(async () => {
      opened = await open();
      const { reactions } = opened;
      const watched: Pick<ReactionStore, 'readReactionsPage'> = {
        readReactionsPage: (where, part) => {
          rowsRead += part.limit;
          return reactions.readReactionsPage(where, part);
        },
      };
      pages = new ReactorPages({
        reactions: watched,
        gate: new ReadGate(REACTOR_READS_MAX, 0),
        onFailure: () => undefined,
      });
    }, 180_000);
    afterAll(() => opened?.close(), 60_000);

    /** Walks all pages, with these limits in turn; holds each against its bounds. */
    async function walk(
      where: Coordinates,
      limits: readonly number[],
      reactionKey: string | undefined,
    ): Promise<ReactorsPage[]> {
      const walked: ReactorsPage[] = [];
      const deadline = new ReadDeadline(180_000);
      let after: UserId | undefined;
      do {
        const limit = limits[walked.length % limits.length] as number;
        rowsRead = 0;
        const page = await pages.page(where, { limit, after, reactionKey }, deadline);
        expect(rowsRead).toBeLessThanOrEqual(REACTOR_ROWS_MAX);
        expect(page.shown.length).toBeLessThanOrEqual(limit);
        walked.push(page);
        after = page.next;
      } while (after !== undefined && walked.length < 1_000);
      deadline.close();
      return walked;
    }

    const idsOf = (reactions: readonly Reaction[]) => reactions.map(({ userId }) => formatHex(userId)).sort();

    it('R4.5 D19 B46 every shown reactor exactly once, whatever was taken back and whatever the limits', async () => {
      const users = Array.from({ length: 31 }, () => user());
      const property = fc.asyncProperty(puts, questions, async (given, { limits, reactionKey }) => {
        const where = somewhere();
        const rows = new Map<UserId, Reaction>();
        for (const [index, { by, key }] of given.entries()) {
          const userId = users[by] as UserId;
          rows.set(userId, { userId, reactionKey: key, createdAtMs: CREATED_AT_MS + BigInt(index) });
          await opened.reactions.putReaction(where, rows.get(userId) as Reaction);
        }
        const wanted = reactionKey === undefined ? undefined : reactionKeyOf(reactionKey);
        const expected = [...rows.values()].filter((row) => {
          const key = reactionKeyOf(row.reactionKey);
          return key !== '' && (wanted === undefined || key === wanted);
        });
        const walked = await walk(where, limits, reactionKey);
        const shown = walked.flatMap((page) => page.shown);
        expect(idsOf(shown)).toEqual(idsOf(expected));
        for (const { userId, reactionKey: key, createdAtMs } of shown) {
          const row = expected.find((each) => formatHex(each.userId) === formatHex(userId));
          expect([key, createdAtMs]).toEqual([reactionKeyOf(row?.reactionKey ?? ''), row?.createdAtMs]);
        }
        // So few rows never end a page short: whoever is told to go on finds somebody.
        for (const page of walked.slice(1)) expect(page.shown.length).toBeGreaterThan(0);
      });
      await fc.assert(property, { numRuns: runs });
    }, 180_000);

    it('R4.5 a message that almost everybody took back: bounded reads a page, which ends short and says where to go on', async () => {
      const where = somewhere();
      const given = Array.from({ length: takenBack }, (_, index) => ({
        userId: user(),
        reactionKey: index % 1_000 === 7 ? 'rare' : '',
        createdAtMs: CREATED_AT_MS,
      }));
      await inParallel(given, 128, (each) => opened.reactions.putReaction(where, each));
      const expected = idsOf(given.filter(({ reactionKey }) => reactionKey !== ''));
      for (const reactionKey of [undefined, 'rare', 'never']) {
        const walked = await walk(where, [50], reactionKey);
        const shown = walked.flatMap((page) => page.shown);
        expect(idsOf(shown)).toEqual(reactionKey === 'never' ? [] : expected);
        // Each page looks at REACTOR_ROWS_MAX rows, and the last ends with what is left.
        expect(walked).toHaveLength(Math.ceil(takenBack / REACTOR_ROWS_MAX));
      }
    }, 180_000);
  });
}
