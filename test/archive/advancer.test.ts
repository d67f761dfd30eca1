/** The advancer on the embedded store, and its walk over the heads that the store lists. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Advancer } from '../../src/archive/advancer.js';
import { type OpenedEmbedded, openEmbedded } from '../../src/embedded/open-embedded.js';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { activity, message } from '../stores/fixtures.js';
import { advancerContract } from './advancer-contract.js';
import { chat, unstopped } from './archive-fixtures.js';

describe('on the embedded store', () => {
  const clock = new SetClock();
  let opened: OpenedEmbedded;
  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mailjoin-advance-'));
    opened = await openEmbedded(directory, clock);
    return async () => {
      await opened.close();
      rmSync(directory, { recursive: true, force: true });
    };
  });
  advancerContract(() => ({
    messages: opened.store,
    writes: opened.writes,
    nowMs: () => BigInt(clock.ms),
  }));
});

describe('the walk over all heads', () => {
  it('goes on at its checkpoint after a stop, and visits every conversation once', async () => {
    const clock = new SetClock();
    const { writes } = await openFor(temporaryDirectory(), clock);
    const places = Array.from({ length: 250 }, chat);
    for (const { tenantId, conversationId } of places) {
      await writes.writeHead(tenantId, conversationId, {
        latestSeq: 2n,
        lastMessageId: message(),
        lastActivityId: activity(),
        lastSenderId: undefined,
        preview: undefined,
        updatedAtMs: BigInt(clock.ms) - 10_000_000n,
        fencingEpoch: 1n,
        headVersion: 1n,
      });
    }
    const stop = new AbortController();
    const options = { writes, clock, settleMs: 1_000, conversationsMax: 1_000, bucketsMax: 4 };
    const first = await new Advancer({ ...options, onProgress: () => stop.abort() }).run(stop.signal);
    expect(first).toMatchObject({ conversations: 100, advanced: 100, atEnd: false });
    const second = await new Advancer(options).run(unstopped());
    expect(second).toMatchObject({ conversations: 150, advanced: 150, atEnd: true });
    const third = await new Advancer(options).run(unstopped());
    expect(third).toMatchObject({ conversations: 250, advanced: 0, unchanged: 250, atEnd: true });
  });
});
