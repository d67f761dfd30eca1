/** Who reacted, page by page: on both stores, and what a page does when a read fails or is late. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReactorsQuestion } from '../../src/codec/detail-request.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { REACTOR_READS_MAX } from '../../src/domain/limits.js';
import type { Reaction, ReactionsPage, ReactionsPart } from '../../src/domain/write-ports.js';
import { ReactorPages } from '../../src/history/reactor-pages.js';
import { PastDeadline, ReadDeadline } from '../../src/history/read-deadline.js';
import { ReadGate } from '../../src/join/read-gate.js';
import { makeKeyspace } from '../cql/cassandra-under-test.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { CREATED_AT_MS, inParallel, somewhere, user } from '../stores/fixtures.js';
import { openEmbeddedHistory } from './open-embedded-history.js';
import { reactorsContract } from './reactors-contract.js';

reactorsContract(
  'embedded',
  async () => {
    const { stores, close } = await openEmbeddedHistory();
    return { reactions: stores.writes, close };
  },
  { runs: 60, takenBack: 9_000 },
);

describeWithCassandra('reactors on Cassandra', (server) => {
  reactorsContract(
    'cql',
    async () => {
      const keyspace = await makeKeyspace(server);
      const { writes } = await keyspace.open();
      return { reactions: writes, close: () => keyspace.drop() };
    },
    { runs: 10, takenBack: 5_000 },
  );

  it('R4.5 a whole read is one statement of one page, and a first page of 50 one read of the partition', async () => {
    const keyspace = await makeKeyspace(server);
    const sent: string[] = [];
    const { writes } = await keyspace.open({
      onStatement: ({ table, furtherPage }) => sent.push(`${table}${furtherPage ? ' further' : ''}`),
    });
    const where = somewhere();
    const given = Array.from({ length: 600 }, () => user());
    await inParallel(given, 32, (userId) =>
      writes.putReaction(where, { userId, reactionKey: '+1', createdAtMs: CREATED_AT_MS }),
    );
    sent.length = 0;
    const part = await writes.readReactionsPage(where, { after: undefined, limit: 500 });
    expect(part.reactions).toHaveLength(500);
    expect(sent).toEqual(['message_reaction']);
    const pages = new ReactorPages({
      reactions: writes,
      gate: new ReadGate(REACTOR_READS_MAX, 0),
      onFailure: () => undefined,
    });
    const question = { limit: 50, after: undefined, reactionKey: undefined };
    const deadline = new ReadDeadline(60_000);
    expect((await pages.page(where, question, deadline)).shown).toHaveLength(50);
    deadline.close();
    expect(sent).toEqual(['message_reaction', 'message_reaction']);
    await keyspace.drop();
  }, 60_000);
});

describe('a page of reactors whose store fails or is late', () => {
  const row = (reactionKey: string): Reaction => ({
    userId: user(),
    reactionKey,
    createdAtMs: CREATED_AT_MS,
  });
  const UNAVAILABLE = new MailjoinError('STORE_UNAVAILABLE');
  const question = { limit: 2, after: undefined, reactionKey: undefined };
  let answers: (ReactionsPage | Error | 'never')[];
  let asked: ReactionsPart[];
  let failures: string[];
  let deadline: ReadDeadline;
  let pages: ReactorPages;

  beforeEach(() => {
    answers = [];
    asked = [];
    failures = [];
    deadline = new ReadDeadline(60_000);
    pages = new ReactorPages({
      reactions: {
        readReactionsPage: async (_where, part) => {
          asked.push(part);
          const answer = answers.shift();
          if (answer === 'never') return new Promise(() => undefined);
          if (answer instanceof Error || answer === undefined) throw answer ?? new Error('nothing scripted');
          return answer;
        },
      },
      gate: new ReadGate(REACTOR_READS_MAX, 0),
      onFailure: (code) => failures.push(code),
    });
  });
  afterEach(() => deadline.close());

  /** A page whose deadline comes soon. */
  async function late(asking: ReactorsQuestion) {
    const soon = new ReadDeadline(30);
    try {
      return await pages.page(somewhere(), asking, soon);
    } finally {
      soon.close();
    }
  }

  it('B52 repeats a read that failed once, and no more', async () => {
    const found = { reactions: [row('a')], next: undefined };
    answers = [UNAVAILABLE, found];
    expect((await pages.page(somewhere(), question, deadline)).shown).toEqual(found.reactions);
    expect(failures).toEqual(['STORE_UNAVAILABLE']);
    answers = [UNAVAILABLE, UNAVAILABLE];
    await expect(pages.page(somewhere(), question, deadline)).rejects.toBe(UNAVAILABLE);
  });

  it('does not repeat what a repeat cannot mend', async () => {
    const refused = new MailjoinError('STORE_REFUSED');
    answers = [refused];
    await expect(pages.page(somewhere(), question, deadline)).rejects.toBe(refused);
  });

  it('ends short at the deadline, with what it has and where to go on', async () => {
    const [first, gone] = [row('a'), row('')];
    answers = [{ reactions: [first, gone], next: gone.userId }, 'never'];
    expect(await late(question)).toEqual({ shown: [first], next: gone.userId });
    // Nor does it send what it would not wait for.
    answers = [{ reactions: [first, gone], next: gone.userId }];
    asked = [];
    const over = new ReadDeadline(60_000);
    const ending = pages.page(somewhere(), question, over);
    over.close();
    expect(await ending).toEqual({ shown: [first], next: gone.userId });
    expect(asked).toHaveLength(1);
  });

  it('a page that went nowhere by its deadline is none, also behind others: or it would be asked for again and again', async () => {
    answers = ['never', 'never'];
    await expect(late(question)).rejects.toThrow(PastDeadline);
    await expect(late({ ...question, after: user() })).rejects.toThrow(PastDeadline);
    expect(failures).toEqual([]);
    deadline.close();
    await expect(pages.page(somewhere(), question, deadline)).rejects.toThrow(PastDeadline);
    expect(asked).toHaveLength(2);
  });

  it('looks on when as many as were asked for are shown and only taken-back ones were behind: next is exact', async () => {
    const [a, b, gone] = [row('a'), row('b'), row('')];
    answers = [
      { reactions: [a, b, gone], next: gone.userId },
      { reactions: [row(''), row('')], next: undefined },
    ];
    expect(await pages.page(somewhere(), question, deadline)).toEqual({ shown: [a, b], next: undefined });
    answers = [
      { reactions: [a, b, gone], next: gone.userId },
      { reactions: [row(''), row('c')], next: undefined },
    ];
    expect(await pages.page(somewhere(), question, deadline)).toEqual({ shown: [a, b], next: b.userId });
  });
});
