/**
 * What the demo's reader sees of one message: it is joined again and again until a sidecar answers as it must, or the
 * time is over. With a floor (the revision that a writer was acknowledged) nothing older may be served, not even once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { decodeMessageBody, type EntryOutcome, type MailjoinClient } from '../client/index.js';
import type { MessageTarget } from '../write/row-change.js';

/** What a join must answer for a message. */
export interface Sight {
  readonly result: EntryOutcome['result'];
  /** The payload; undefined: there must be none. */
  readonly text?: string | undefined;
  readonly counts?: Readonly<Record<string, number>> | undefined;
}

export interface Floor {
  readonly lastActivityId?: Uint8Array;
  readonly summaryVersion?: bigint;
}

export interface Seen {
  /** What was answered in the end, for people. */
  readonly answer: string;
  readonly tookMs: number;
  /** What is wrong, in words; undefined when all is as it must be. */
  readonly difference: string | undefined;
}

const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 2;

export async function watch(
  client: Pick<MailjoinClient, 'join'>,
  target: MessageTarget,
  expected: Sight,
  floor: Floor | undefined,
): Promise<Seen> {
  const startedMs = performance.now();
  const wanted = describe(expected);
  const { tenantId, conversationId, seq, messageId } = target;
  for (;;) {
    const { entries } = await client.join({
      kind: 'PUSH_EVENTS',
      tenantId,
      entries: [{ conversationId, seq, messageId, floor }],
      deadlineMs: WAIT_MS_MAX,
    });
    const answer = describe(sightOf(entries[0]));
    const tookMs = performance.now() - startedMs;
    if (answer === wanted) return { answer, tookMs, difference: undefined };
    if (floor !== undefined && entries[0]?.body !== undefined) {
      return { answer, tookMs, difference: `${answer} below the floor, instead of ${wanted}` };
    }
    if (tookMs > WAIT_MS_MAX) return { answer, tookMs, difference: `${answer} instead of ${wanted}` };
    await delay(PAUSE_MS);
  }
}

function sightOf(outcome: EntryOutcome | undefined): Sight {
  if (outcome === undefined) throw new Error('one result per entry');
  const body = outcome.body === undefined ? undefined : decodeMessageBody(outcome.body);
  const { payload, reactions } = body ?? {};
  return {
    result: outcome.result,
    text: payload === undefined ? undefined : Buffer.from(payload).toString('utf8'),
    counts: reactions === undefined ? undefined : Object.fromEntries(reactions.counts),
  };
}

function describe({ result, text, counts = {} }: Sight): string {
  const shown = Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, count]) => `${key} ${count}`);
  return [result, ...(text === undefined ? [] : [`"${text}"`]), ...shown].join(' ');
}
