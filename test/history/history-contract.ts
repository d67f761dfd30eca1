/** What history pages must do on every store (R4.1, D3, D4, S-3): run for the embedded one and for a real Cassandra. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMessageBody } from '../../src/codec/message-body.js';
import { HistoryStop } from '../../src/domain/history.js';
import { HISTORY_MAX_EMPTY_BUCKET_SCAN } from '../../src/domain/limits.js';
import { MessageState } from '../../src/domain/message.js';
import { bucketOf, SEQ_MAX } from '../../src/domain/seq.js';
import { summary } from '../stores/fixtures.js';
import {
  type Ask,
  type HistoryStores,
  type HistoryWorld,
  historyWorld,
  newPlace,
  type Page,
  type Place,
  putHead,
  putMessages,
  span,
} from './history-fixtures.js';

const { LIMIT, END, HOLE } = HistoryStop;
const W = 4096n;

export interface OpenedHistory {
  readonly stores: HistoryStores;
  close(): Promise<void>;
}

/** Pages until there is no more; `throughHoles`: whether to go on behind holes. */
export async function allPages(
  world: HistoryWorld,
  place: Place,
  ask: Ask,
  throughHoles: boolean,
): Promise<Page[]> {
  const pages: Page[] = [];
  let anchor = ask.anchor;
  for (;;) {
    const page = await world.page(place, { ...ask, anchor });
    pages.push(page);
    if (page.hasMore) anchor = page.nextAnchor;
    else if (throughHoles && page.hole !== undefined) anchor = page.hole.continueAnchor;
    else return pages;
  }
}

export function historyContract(name: string, open: () => Promise<OpenedHistory>): void {
  describe(`history contract: ${name}`, () => {
    let opened: OpenedHistory;
    let world: HistoryWorld;
    beforeAll(async () => {
      opened = await open();
      world = historyWorld(opened.stores);
    }, 180_000);
    afterAll(() => opened?.close(), 60_000);

    const put = async (seqs: readonly bigint[], latest: bigint, earliest?: bigint): Promise<Place> => {
      const place = newPlace();
      await putMessages(opened.stores, place, seqs);
      await putHead(opened.stores, place, latest, earliest);
      return place;
    };

    it('S-3 a conversation that jumps from seq 1 to 100,000: eight empty buckets, no more, and an alert', async () => {
      const place = await put([1n, 100_000n], 100_000n);
      const readsBefore = world.buckets.reads.length;
      const alertsBefore = world.alerts.length;
      const page = await world.page(place);
      expect(page.seqs).toEqual([100_000n]);
      expect(page).toMatchObject({ hasMore: false, nextAnchor: undefined, stop: HOLE });
      // Buckets 23 to 16 were scanned.
      expect(page.hole).toEqual({ beganAt: 99_999n, continueAnchor: 16n * W });
      expect(world.alerts.slice(alertsBefore)).toEqual(['hole']);
      const walked = world.buckets.reads.slice(readsBefore).filter(({ withSummaries }) => withSummaries);
      expect(walked.map(({ bucket }) => bucket)).toEqual([24n, 23n, 22n, 21n, 20n, 19n, 18n, 17n, 16n]);
    });

    it('S-3 the other way: newer from seq 1 ends in the hole too, and a deliberate continuation crosses it', async () => {
      const place = await put([1n, 100_000n], 100_000n);
      const page = await world.page(place, { newer: true });
      expect(page.seqs).toEqual([1n]);
      expect(page).toMatchObject({ hasMore: false, stop: HOLE });
      expect(page.hole).toEqual({ beganAt: 2n, continueAnchor: 9n * W - 1n });
      const pages = await allPages(world, place, { newer: true }, true);
      expect(pages.flatMap(({ seqs }) => seqs)).toEqual([1n, 100_000n]);
      expect(pages.at(-1)).toMatchObject({ stop: END, hole: undefined });
    });

    it('D4 a message found above the head says how far the head is behind: empty buckets below it are a hole', async () => {
      const place = await put([9000n, 8n * W + 3n, 20n * W], 9000n);
      const page = await world.page(place, { anchor: 25n * W });
      expect(page).toMatchObject({ seqs: [20n * W], stop: HOLE, hole: { continueAnchor: 12n * W } });
      const pages = await allPages(world, place, { anchor: 25n * W }, true);
      expect(pages.flatMap(({ seqs }) => seqs)).toEqual([20n * W, 8n * W + 3n, 9000n]);
    });

    it('a page ends where the response has no more room, one message at least, and the next goes on there', async () => {
      const seqs = span(1n, 40n);
      const place = newPlace();
      await putMessages(opened.stores, place, seqs, () => MessageState.NORMAL, 20_000);
      await putHead(opened.stores, place, 40n);
      const readsBefore = world.buckets.reads.length;
      const page = await world.page(place, { responseBytesMax: 100_000, limit: 30 });
      expect(page).toMatchObject({ seqs: [40n, 39n, 38n, 37n], hasMore: true, nextAnchor: 37n, stop: LIMIT });
      expect(world.buckets.reads[readsBefore]).toMatchObject({ limit: 31, bytesMax: 100_000 });
      const one = await world.page(place, { responseBytesMax: 1 });
      expect(one).toMatchObject({ seqs: [40n], results: ['OK'], hasMore: true, nextAnchor: 40n });
      for (const newer of [false, true]) {
        const pages = await allPages(world, place, { newer, responseBytesMax: 100_000 }, false);
        expect(pages.flatMap((each) => each.seqs)).toEqual(newer ? seqs : [...seqs].reverse());
        expect(pages.flatMap(({ results }) => results).every((result) => result === 'OK')).toBe(true);
      }
    });

    it('reactions take room in the response too: what a page shows has its body', async () => {
      const seqs = span(1n, 30n);
      const place = newPlace();
      await putMessages(opened.stores, place, seqs);
      await putHead(opened.stores, place, 30n);
      const keys = Array.from({ length: 64 }, (_, key) => [`reaction ${key}`, key + 1] as const);
      for (const seq of seqs) {
        await opened.stores.messages.putSummary({ ...place, seq }, summary(seq, 9n, keys));
      }
      const pages = await allPages(world, place, { responseBytesMax: 20_000 }, false);
      expect(pages.length).toBeGreaterThan(2);
      expect(pages.flatMap((page) => page.seqs)).toEqual([...seqs].reverse());
      expect(new Set(pages.flatMap(({ results }) => results))).toEqual(new Set(['OK']));
    });

    it('D4 without a head an anchor far above the messages ends in a hole, behind which they are reached', async () => {
      const place = newPlace();
      await putMessages(opened.stores, place, [5n * W, 30n * W]);
      const page = await world.page(place, { anchor: 20n * W });
      expect(page).toMatchObject({ seqs: [], stop: HOLE, hole: { continueAnchor: 12n * W } });
      const pages = await allPages(world, place, { anchor: 45n * W }, true);
      expect(pages.flatMap(({ seqs }) => seqs)).toEqual([30n * W, 5n * W]);
    });

    it.each([13n * W, 10n * W, 40n * W, SEQ_MAX])(
      'D4 messages above a head that lags across a hole are reached from an anchor above them: %d',
      async (anchor) => {
        const place = await put([1n, 8n * W + 5n], 1n);
        expect(await world.page(place, { anchor })).toMatchObject({ seqs: [8n * W + 5n, 1n], stop: END });
      },
    );

    it('D4 seven empty buckets are crossed and the eighth ends the scan', async () => {
      const seven = await put([2n * W, 10n * W], 10n * W);
      expect(await world.page(seven)).toMatchObject({ seqs: [10n * W, 2n * W], stop: END });
      const eight = await put([1n * W + 5n, 10n * W], 10n * W);
      const page = await world.page(eight);
      expect(page).toMatchObject({ seqs: [10n * W], stop: HOLE, hasMore: false });
      const anchor = page.hole?.continueAnchor;
      expect(await world.page(eight, { anchor })).toMatchObject({ seqs: [1n * W + 5n], stop: END });
    });

    it('D4 nine empty buckets: the ninth is read only by a caller who goes on', async () => {
      const place = await put([5n, 10n * W], 10n * W);
      const before = world.buckets.reads.length;
      expect(await world.page(place)).toMatchObject({ seqs: [10n * W], stop: HOLE });
      const walked = world.buckets.reads.slice(before).filter(({ withSummaries }) => withSummaries);
      expect(walked.length - 1).toBe(HISTORY_MAX_EMPTY_BUCKET_SCAN);
      const pages = await allPages(world, place, {}, true);
      expect(pages.map(({ seqs }) => seqs)).toEqual([[10n * W], [5n]]);
    });

    it('D4 a full page says has_more across seven empty buckets, and not across eight', async () => {
      const seven = await put([2n * W, 10n * W], 10n * W);
      expect(await world.page(seven, { limit: 1 })).toMatchObject({
        hasMore: true,
        nextAnchor: 10n * W,
        stop: LIMIT,
      });
      const eight = await put([1n * W, 10n * W], 10n * W);
      expect(await world.page(eight, { limit: 1 })).toMatchObject({ hasMore: false, stop: HOLE });
    });

    it('B09 only the first and the last seq of a thousand buckets: bounded reads, and both are reached', async () => {
      const last = 4_095_999n;
      const place = await put([1n, last], last);
      const before = world.buckets.reads.length;
      const pages = await allPages(world, place, {}, true);
      expect(pages.flatMap(({ seqs }) => seqs)).toEqual([last, 1n]);
      const reads = world.buckets.reads.length - before;
      // Two looks above the head, and every bucket once.
      expect(reads).toBeLessThanOrEqual(1_000 + 2);
      expect(pages.length).toBe(Math.ceil(998 / HISTORY_MAX_EMPTY_BUCKET_SCAN));
    }, 60_000);

    it('B10 a jump of the seqs repeats nothing and ends: 18 messages in pages of 5, anchors inside the hole too', async () => {
      const seqs = [...span(1n, 10n), ...span(8193n, 8200n)];
      const place = await put(seqs, 8200n);
      const pages = await allPages(world, place, { limit: 5 }, false);
      expect(pages.flatMap((page) => page.seqs)).toEqual(seqs.toReversed());
      expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, true, true, false]);
      const newer = await allPages(world, place, { limit: 5, newer: true }, false);
      expect(newer.flatMap((page) => page.seqs)).toEqual(seqs);
      expect((await world.page(place, { anchor: 5000n })).seqs).toEqual(span(1n, 10n).reverse());
      expect((await world.page(place, { anchor: 5000n, newer: true })).seqs).toEqual(span(8193n, 8200n));
    });

    it('B11 older than 51 with limit 24, and on: nothing is skipped at the seam', async () => {
      const place = await put(span(10n, 60n), 60n, 10n);
      const pages = await allPages(world, place, { anchor: 51n, limit: 24 }, false);
      expect(pages.map(({ seqs }) => seqs)).toEqual([span(27n, 50n).reverse(), span(10n, 26n).reverse()]);
      expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, false]);
      const even = await allPages(world, place, { anchor: 58n, limit: 24 }, false);
      expect(even.map(({ seqs, hasMore }) => [seqs.length, hasMore])).toEqual([
        [24, true],
        [24, false],
      ]);
    });

    it('D3 anchors at 0, 1, 4095, 4096, 4097, H, H + 1 and beyond H, and below E, in both directions', async () => {
      const H = 5000n;
      const all = [0n, 1n, 2n, 4094n, 4095n, 4096n, 4097n, 4999n, 5000n];
      const E = 2n;
      for (const earliest of [undefined, E]) {
        const place = await put(all, H, earliest);
        const shown = all.filter((seq) => seq >= (earliest ?? 0n));
        const anchors = [0n, 1n, 2n, 3n, 4095n, 4096n, 4097n, H, H + 1n, H + 2n, 3n * W, 40n * W, SEQ_MAX];
        for (const anchor of anchors) {
          const older = await world.page(place, { anchor });
          expect(older.seqs).toEqual(shown.filter((seq) => seq < anchor).reverse());
          expect(older).toMatchObject({ hasMore: false, stop: END });
          const newer = await world.page(place, { anchor, newer: true });
          expect(newer.seqs).toEqual(shown.filter((seq) => seq > anchor));
          expect(newer).toMatchObject({ hasMore: false, stop: END });
        }
      }
    }, 60_000);

    it('D3 the newest page starts above a head that lags: in its bucket, in the next, behind a lost window', async () => {
      const seqs = [4000n, 4001n, 4095n, 4096n, 3n * W + 7n, 4n * W];
      const place = await put(seqs, 4000n);
      expect(await world.page(place)).toMatchObject({ seqs: seqs.toReversed(), stop: END });
      expect((await world.page(place, { anchor: 4000n, newer: true })).seqs).toEqual(seqs.slice(1));
    });

    it('D3 a conversation without a head is read from its beginning', async () => {
      const place = newPlace();
      expect(await world.page(place)).toMatchObject({ seqs: [], hasMore: false, stop: END });
      await putMessages(opened.stores, place, [1n, 2n]);
      expect((await world.page(place)).seqs).toEqual([2n, 1n]);
    });

    it('D3 rows below E are not shown and end the page, also where E lies inside a bucket or above all rows', async () => {
      const place = await put(span(90n, 110n), 110n, 100n);
      expect(await world.page(place, { limit: 11 })).toMatchObject({
        seqs: span(100n, 110n).reverse(),
        hasMore: false,
        stop: END,
      });
      expect((await world.page(place, { newer: true, limit: 1 })).seqs).toEqual([100n]);
      const gone = await put([5n], 5n, 6n);
      expect(await world.page(gone)).toMatchObject({ seqs: [], hasMore: false, stop: END });
    });

    it('R4.1 DELETED messages are holes, RECALLED ones are shown without content', async () => {
      const place = newPlace();
      const stateOf = (seq: bigint) =>
        seq === 700n ? MessageState.RECALLED : seq > 1n && seq < 1000n ? MessageState.DELETED : 0;
      await putMessages(opened.stores, place, span(1n, 1001n), stateOf);
      await putHead(opened.stores, place, 1001n);
      const before = world.buckets.reads.length;
      const page = await world.page(place, { limit: 3 });
      expect(page.seqs).toEqual([1001n, 1000n, 700n]);
      expect(page.results).toEqual(['OK', 'OK', 'RECALLED']);
      expect(page.hasMore).toBe(true);
      expect(world.buckets.reads.length - before).toBeLessThanOrEqual(2 + 1 + 2);
      expect(await world.page(place, { anchor: 700n, limit: 3 })).toMatchObject({ seqs: [1n], stop: END });
    }, 60_000);

    it('S-4 a full bucket gives exactly its 4,096 rows, page by page', async () => {
      const place = await put(span(W, 2n * W - 1n), 2n * W - 1n, W);
      const pages = await allPages(world, place, { limit: 200 }, false);
      const seqs = pages.flatMap((page) => page.seqs);
      expect(seqs).toEqual(span(W, 2n * W - 1n).reverse());
      expect(new Set(seqs.map(bucketOf))).toEqual(new Set([1n]));
    }, 120_000);

    it('R4.4 shows reactions, also where summaries of messages that are gone lie between', async () => {
      const place = newPlace();
      // The summaries of a bucket outlive their messages (D21): more of them than the read's limit lie in front.
      for (const seq of span(10n, 40n)) {
        await opened.stores.messages.putSummary({ ...place, seq }, summary(seq, 5n, [['x', 1]]));
      }
      await putMessages(opened.stores, place, [3n, 6n, 41n]);
      await putHead(opened.stores, place, 41n);
      const { outcome } = await world.page(place, { limit: 3 });
      const reactions = outcome.bodies.views().map((view) => {
        const body = decodeMessageBody(view);
        return [body.conversationSeq, body.reactions?.summaryVersion];
      });
      expect(new Map(reactions as [bigint, bigint | undefined][])).toEqual(
        new Map([
          [41n, undefined],
          [6n, 5n],
          [3n, 5n],
        ]),
      );
    });

    it('uses what is cached, and publishes what it has read: a join behind it reads nothing', async () => {
      const place = newPlace();
      const ids = await putMessages(opened.stores, place, span(1n, 20n));
      await putHead(opened.stores, place, 20n);
      const first = await world.page(place);
      expect(first.outcome.receipt.cacheHits).toBe(0);
      const second = await world.page(place);
      expect(second.outcome.receipt.cacheHits).toBe(20);
      expect(second.seqs).toEqual(first.seqs);
      expect(ids.size).toBe(20);
      expect(world.joinReads()).toBe(0);
    });
  });
}
