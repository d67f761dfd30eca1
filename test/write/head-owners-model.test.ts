/**
 * Processes that write one conversation's head without knowing of each other (D2, R5.2, D12): whatever the order in which
 * their statements reach the store, and whenever each learns of it, the head ends at the highest message, with its last
 * revision. The store is real; each of its calls waits a drawn number of the loop's turns before it and after it. In half
 * of the rounds one process's calls do not wait, so that it does much between two calls of the others.
 */
import { describe, expect, it } from 'vitest';
import type { ActivityId } from '../../src/domain/ids.js';
import type { WriteStore } from '../../src/domain/write-ports.js';
import { CountedEpochs } from '../../src/write/head-epochs.js';
import { HeadWriter } from '../../src/write/heads.js';
import { type Seeded, seeded } from '../crash/seeded.js';
import { message, user } from '../stores/fixtures.js';
import { bytes, type Chat, chat, writingProcess } from './write-fixtures.js';

const OWNERS = 3;
const ROUNDS = 60;
/** Of a busy machine: a round is dozens of small writes, one after another. */
const TIMEOUT_MS = 120_000;
const TURNS_MAX = 6;
const LAST_ACTIVITY = message(Buffer.alloc(16, 0xff)) as Uint8Array as ActivityId;

type Heads = Pick<WriteStore, 'readHead' | 'claimHead' | 'writeHead' | 'reserveWindow'>;

/** Calls that arrive late and are answered late; none after `callsMax`, as from a process that is gone. */
function delayed(store: Heads, turns: () => number, callsMax: number): Heads {
  let calls = 0;
  const wait = async (): Promise<void> => {
    for (let left = turns(); left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
  };
  const late =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      if (++calls > callsMax) return new Promise(() => undefined);
      await wait();
      const answer = await call(...given);
      await wait();
      return answer;
    };
  return {
    readHead: late((...given) => store.readHead(...given)),
    claimHead: late((...given) => store.claimHead(...given)),
    writeHead: late((...given) => store.writeHead(...given)),
    reserveWindow: late((...given) => store.reserveWindow(...given)),
  };
}

/** What one round tries: messages by several owners, a recall of the last one, and an owner that dies on its way. */
function drawRound(random: Seeded, where: Chat, nowMs: bigint) {
  const messages = Array.from({ length: 1 + random.below(5) }, (_, index) => ({
    ...where,
    seq: BigInt(index + 1),
    messageId: message(),
    senderId: user(),
    preview: bytes(`text ${index}`),
    createdAtMs: nowMs,
    isRepeated: false,
  }));
  const last = messages.at(-1) as (typeof messages)[number];
  const recall = { ...last, preview: undefined, lastActivityId: LAST_ACTIVITY, keyAtMs: nowMs };
  return { messages, last, recall };
}

describe('owners of one head', () => {
  it('B49, D12: end at the highest message with its last revision, in any interleaving', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const random = seeded('owners of one head');
    const process = await writingProcess();
    const owner = (callsMax: number, turnsMax = TURNS_MAX): HeadWriter => {
      const store = delayed(process.opened.writes, () => random.below(turnsMax), callsMax);
      return new HeadWriter({
        store,
        epochs: new CountedEpochs(store, process.clock),
        sealer: process.sealer,
        clock: process.clock,
        onAlert: () => undefined,
        pause: () => new Promise((resolve) => setImmediate(resolve)),
      });
    };
    for (let round = 0; round < ROUNDS; round++) {
      const where = chat();
      const { messages, last, recall } = drawRound(random, where, BigInt(process.clock.ms));
      const favoured = random.below(2 * OWNERS);
      const owners = Array.from({ length: OWNERS }, (_, index) =>
        owner(Number.POSITIVE_INFINITY, index === favoured ? 1 : TURNS_MAX * (favoured < OWNERS ? 5 : 1)),
      );
      // Gone after a drawn number of calls: between a claim and its write, too.
      owner(random.below(6)).update({ ...last, seq: 0n, messageId: message() });
      const drawn = (): HeadWriter => owners[random.below(OWNERS)] as HeadWriter;
      const recalled = messages.map((each) => {
        drawn().update(each);
        return each === last ? drawn().revise(recall) : undefined;
      });
      await Promise.all([...recalled, ...owners.map((each) => each.idle())]);
      const head = await process.opened.writes.readHead(where.tenantId, where.conversationId);
      expect(head, `round ${round}`).toMatchObject({ latestSeq: last.seq, lastActivityId: LAST_ACTIVITY });
      expect(head?.preview, `round ${round}`).toBeUndefined();
    }
  });
});
