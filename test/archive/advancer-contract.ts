/** R3.5 on any store: what keeps E, what advances it, and that runs converge within their bounds. */
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AdvanceReport, Advancer, type AdvancerOptions } from '../../src/archive/advancer.js';
import { type MessageRecord, MessageState, RetentionClass } from '../../src/domain/message.js';
import type { MessageStore } from '../../src/domain/ports.js';
import type { HeadListing, WriteStore } from '../../src/domain/write-ports.js';
import { activity, fullRecord, life, message, user } from '../stores/fixtures.js';
import { type Chat, chat, unstopped } from './archive-fixtures.js';

export interface AdvancerStore {
  readonly messages: MessageStore;
  readonly writes: WriteStore;
  readonly nowMs: () => bigint;
}

const HOUR_MS = 3_600_000n;

export function advancerContract(open: () => AdvancerStore): void {
  describe('the advancer', () => {
    let store: AdvancerStore;
    let where: Chat;
    beforeEach(() => {
      store = open();
      where = chat();
    });

    async function row(seq: bigint, ageMs: bigint, over: Partial<MessageRecord> = {}): Promise<void> {
      const createdAtMs = store.nowMs() - ageMs;
      const record = fullRecord(seq, { createdAtMs, ...over });
      await store.messages.insertRecord({ ...where, seq }, record, life(createdAtMs * 1000n));
    }

    async function head(latestSeq: bigint, ageMs: bigint, place = where): Promise<void> {
      await store.writes.writeHead(place.tenantId, place.conversationId, {
        latestSeq,
        lastMessageId: message(),
        lastActivityId: activity(),
        lastSenderId: user(),
        preview: randomBytes(8),
        updatedAtMs: store.nowMs() - ageMs,
        fencingEpoch: 1n,
        headVersion: 1n,
      });
    }

    const earliest = async (place = where): Promise<bigint | undefined> =>
      (await store.writes.readHead(place.tenantId, place.conversationId))?.earliestAvailableSeq;
    const setEarliest = (seq: bigint): Promise<void> =>
      store.writes.advanceEarliest(where.tenantId, where.conversationId, seq);

    /** Runs on this test's conversations alone, so that tests on one store do not meet. */
    function advance(
      over: Partial<AdvancerOptions> = {},
      places: readonly Chat[] = [where],
    ): Promise<AdvanceReport> {
      const checkpoints = new Map<string, string>();
      const listHeads = async (from: string | undefined, limit: number): Promise<HeadListing> => {
        const start = Number(from ?? 0);
        const heads = await Promise.all(
          places.slice(start, start + limit).map(async (place) => {
            const found = await store.writes.readHead(place.tenantId, place.conversationId);
            if (found === undefined) throw new Error('a conversation under test has a head');
            return { ...place, head: found };
          }),
        );
        return { heads, next: start + limit < places.length ? String(start + limit) : undefined };
      };
      const writes: AdvancerOptions['writes'] = {
        listHeads,
        readRecord: (at) => store.writes.readRecord(at),
        readBucket: (...at) => store.writes.readBucket(...at),
        advanceEarliest: (...args) => store.writes.advanceEarliest(...args),
        loadCheckpoint: async (name) => checkpoints.get(name),
        saveCheckpoint: async (name, value) => void checkpoints.set(name, value),
      };
      const clock = { epochMs: () => Number(store.nowMs()) };
      return new Advancer({
        writes,
        clock,
        settleMs: Number(HOUR_MS),
        conversationsMax: 1_000,
        bucketsMax: 8,
        ...over,
      }).run(unstopped());
    }

    it('E stays where rows are missing that may still arrive: the commit or the archiver is under way', async () => {
      await row(3n, 10n);
      await head(3n, 10n);
      expect(await advance()).toMatchObject({ advanced: 0, unsettled: 1 });
      expect(await earliest()).toBeUndefined();
    });

    it('E stays at a row that is there', async () => {
      await row(4n, 10n * HOUR_MS);
      await row(9n, 2n * HOUR_MS);
      await head(9n, 2n * HOUR_MS);
      await setEarliest(4n);
      expect(await advance()).toMatchObject({ unchanged: 1, bucketsRead: 0 });
      expect(await earliest()).toBe(4n);
    });

    it('E is never moved back, and never beyond H', async () => {
      await row(5n, 10n * HOUR_MS);
      await row(20n, 9n * HOUR_MS);
      await head(10n, 2n * HOUR_MS);
      await setEarliest(7n);
      await advance();
      expect(await earliest()).toBe(10n);
    });

    it('E advances over holes and empty buckets to the earliest row', async () => {
      await row(3n * 4096n + 17n, 5n * HOUR_MS);
      await row(3n * 4096n + 18n, 4n * HOUR_MS);
      await head(3n * 4096n + 18n, 10n);
      expect(await advance()).toMatchObject({ advanced: 1, bucketsRead: 4 });
      expect(await earliest()).toBe(3n * 4096n + 17n);
    });

    it('S-5: a hold in the middle keeps E at or below it, also where it is DELETED', async () => {
      const held = { retentionClass: RetentionClass.COMPLIANCE_HOLD, state: MessageState.DELETED };
      await row(40n, 90n * HOUR_MS, held);
      await row(50n, 3n * HOUR_MS);
      await head(50n, 2n * HOUR_MS);
      await advance();
      expect(await earliest()).toBe(40n);
      expect(await advance()).toMatchObject({ unchanged: 1 });
    });

    it('a row that governance set to DELETED does not keep E', async () => {
      await row(1n, 9n * HOUR_MS, { state: MessageState.DELETED });
      await row(2n, 8n * HOUR_MS, { state: MessageState.RECALLED });
      await head(2n, 7n * HOUR_MS);
      await advance();
      expect(await earliest()).toBe(2n);
    });

    it('B15: what an event left of an expired row does not keep E', async () => {
      const recall = { recallEventSeq: 9n, lastActivityId: activity() };
      await store.messages.recallRecord({ ...where, seq: 1n }, recall, life());
      await row(6n, 8n * HOUR_MS);
      await head(6n, 7n * HOUR_MS);
      await advance();
      expect(await earliest()).toBe(6n);
    });

    it('all rows gone: E becomes H once H has settled', async () => {
      await head(12n, 10n);
      expect(await advance()).toMatchObject({ unsettled: 1 });
      const later = chat();
      await head(12n, 2n * HOUR_MS, later);
      expect(await advance({}, [later])).toMatchObject({ advanced: 1 });
      expect(await earliest(later)).toBe(12n);
    });

    it('B09: a thousand empty buckets take bounded reads per run, and repeated runs converge', async () => {
      await row(4_095_999n, 2n * HOUR_MS);
      await head(4_095_999n, 10n);
      const reports: AdvanceReport[] = [];
      while ((await earliest()) !== 4_095_999n) {
        const report = await advance({ bucketsMax: 200 });
        expect(report.bucketsRead).toBeLessThanOrEqual(204);
        reports.push(report);
        if (reports.length > 9) throw new Error('it does not converge');
      }
      expect(reports.map(({ unfinished }) => unfinished)).toEqual([1, 1, 1, 1, 0]);
      expect(await advance()).toMatchObject({ unchanged: 1 });
    });

    it('a run looks at a bounded number of conversations and the next one goes on', async () => {
      const places = Array.from({ length: 5 }, chat);
      for (const place of places) await head(1n, 2n * HOUR_MS, place);
      expect(await advance({ conversationsMax: 2 }, places)).toMatchObject({
        conversations: 2,
        atEnd: false,
      });
      expect(await advance({}, places)).toMatchObject({ conversations: 5, atEnd: true });
    });
  });
}
