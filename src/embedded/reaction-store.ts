/** message_reaction in the file (R5.5, D19): the later createdAtMs wins. Fails with STORE_UNAVAILABLE or SEQ_RANGE. */
import { strict as assert } from 'node:assert';
import { MailjoinError } from '../domain/errors.js';
import { type UserId, userIdOf } from '../domain/ids.js';
import { REACTOR_READ_ROWS } from '../domain/limits.js';
import type { Coordinates } from '../domain/message.js';
import type { Clock } from '../domain/ports.js';
import { reactionTimestamp } from '../domain/reaction.js';
import { requireSeq } from '../domain/write-checks.js';
import type { Reaction, ReactionStore, ReactionsPage, ReactionsPart } from '../domain/write-ports.js';
import { bigintAt, merge, NEVER, textAt } from './cell.js';
import type { Environment } from './environment.js';
import { LoopShare } from './loop-share.js';
import { decodeRow, encodeRow } from './row-codec.js';
import { reactionKey } from './row-key.js';

/** Part of the file's format. */
const Column = { REACTION_KEY: 0, CREATED_AT: 1 } as const;
/** Reactions read at once, so that no read transaction is held while the caller works. */
const PAGE_ROWS = 256;
/** Reactions have no TTL (D21), so no time is needed to read them. */
const ANY_SECOND = 0;

export class EmbeddedReactionStore implements ReactionStore {
  readonly #environment: Environment;
  readonly #share: LoopShare;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#share = new LoopShare(clock);
  }

  async putReaction(where: Coordinates, reaction: Reaction): Promise<void> {
    requireSeq(where.seq, 'conversation_seq');
    const timestamp = reactionTimestamp(reaction);
    const key = reactionKey(where, reaction.userId);
    const { reactions } = this.#environment;
    await this.#environment.write(() => {
      const stored = reactions.get(key);
      const columns = [
        [Column.REACTION_KEY, reaction.reactionKey],
        [Column.CREATED_AT, reaction.createdAtMs],
      ] as const;
      // Inside a transaction a put is done when it returns.
      void reactions.put(key, encodeRow(merge(stored && decodeRow(stored), columns, timestamp, NEVER)));
    });
  }

  async *readReactions(where: Coordinates): AsyncIterable<Reaction> {
    requireSeq(where.seq, 'conversation_seq');
    const prefix = reactionKey(where);
    let start = prefix;
    for (;;) {
      const page = this.#page(prefix, start, PAGE_ROWS);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) return;
      start = behind(reactionKey(where, last.userId));
    }
  }

  async readReactionsPage(where: Coordinates, { after, limit }: ReactionsPart): Promise<ReactionsPage> {
    requireSeq(where.seq, 'conversation_seq');
    assert(limit >= 1 && limit <= REACTOR_READ_ROWS, 'a bounded read');
    while (this.#share.isSpent()) await this.#share.nextTurn();
    const prefix = reactionKey(where);
    const start = after === undefined ? prefix : behind(reactionKey(where, after));
    // One row more than is answered tells whether any lies behind.
    const rows = this.#page(prefix, start, limit + 1);
    const reactions = rows.slice(0, limit);
    return { reactions, next: rows.length > limit ? reactions.at(-1)?.userId : undefined };
  }

  async readReaction(where: Coordinates, userId: UserId): Promise<Reaction | undefined> {
    requireSeq(where.seq, 'conversation_seq');
    const key = reactionKey(where, userId);
    const stored = this.#environment.read(() => this.#environment.reactions.get(key));
    return stored && reactionOf(userId, stored);
  }

  #page(prefix: Buffer, start: Buffer, limit: number): Reaction[] {
    return this.#environment.read(() => {
      const page: Reaction[] = [];
      for (const { key, value } of this.#environment.reactions.getRange({ start, limit })) {
        if (!key.subarray(0, prefix.length).equals(prefix)) break;
        const userId = userIdOf(key.subarray(prefix.length));
        if (userId === undefined) throw new MailjoinError('STORE_CORRUPT', 'a reaction has no user');
        page.push(reactionOf(userId, value));
      }
      return page;
    });
  }
}

/** The least key above this one. */
function behind(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.alloc(1)]);
}

function reactionOf(userId: UserId, stored: Buffer): Reaction {
  const row = decodeRow(stored);
  const key = textAt(row, Column.REACTION_KEY, ANY_SECOND);
  const createdAtMs = bigintAt(row, Column.CREATED_AT, ANY_SECOND);
  if (key === undefined || createdAtMs === undefined) {
    throw new MailjoinError('STORE_CORRUPT', 'a stored reaction has another shape');
  }
  return { userId, reactionKey: key, createdAtMs };
}
