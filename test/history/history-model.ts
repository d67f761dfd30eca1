/**
 * The model of history pages: a conversation's visible seqs in a list. Random holes, states, heads that lag, E, anchors,
 * limits and directions; pages are followed to the end, deliberately through holes.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { HistoryStop } from '../../src/domain/history.js';
import { HISTORY_MAX_EMPTY_BUCKET_SCAN } from '../../src/domain/limits.js';
import { MessageState } from '../../src/domain/message.js';
import { bucketOf, bucketStart, SEQ_MAX } from '../../src/domain/seq.js';
import { allPages } from './history-contract.js';
import {
  type HistoryStores,
  type HistoryWorld,
  newPlace,
  type Page,
  putHead,
  putMessages,
} from './history-fixtures.js';

/** One bucket that has rows: how many buckets behind the one before, and what lies in it. */
interface Stretch {
  readonly gap: number;
  readonly offsets: readonly number[];
  /** The states of its rows, in turn. */
  readonly states: readonly number[];
}

export interface Conversation {
  readonly stretches: readonly Stretch[];
  /** How many of the last rows the head has not heard of. */
  readonly lag: number;
  /** E, as a share of the rows; undefined = none. */
  readonly earliest: number | undefined;
  readonly newer: boolean;
  readonly anchor: { readonly row: number; readonly step: number } | 'none' | 'far' | 'last';
  readonly limit: number;
}

const { NORMAL, EDITED, RECALLED, DELETED } = MessageState;

const stretches = fc.array(
  fc.record({
    gap: fc.oneof(fc.constantFrom(1, 1, 2, 3, 8, 9, 10), fc.integer({ min: 1, max: 20 })),
    offsets: fc.uniqueArray(
      fc.oneof(fc.constantFrom(0, 1, 2, 4094, 4095), fc.integer({ min: 0, max: 4095 })),
      { minLength: 1, maxLength: 6 },
    ),
    states: fc.array(fc.constantFrom(NORMAL, NORMAL, EDITED, RECALLED, DELETED), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  { minLength: 1, maxLength: 7 },
);

export const conversations: fc.Arbitrary<Conversation> = fc.record({
  stretches,
  lag: fc.constantFrom(0, 0, 1, 2, 5),
  earliest: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
  newer: fc.boolean(),
  anchor: fc.oneof(
    fc.record({ row: fc.integer({ min: 0, max: 50 }), step: fc.constantFrom(-4096, -1, 0, 1, 4096) }),
    fc.constantFrom('none', 'none', 'far', 'last'),
  ),
  limit: fc.oneof(fc.constantFrom(1, 2, 3), fc.integer({ min: 1, max: 200 })),
});

/** Holds one conversation against its pages. */
export async function checkConversation(
  world: HistoryWorld,
  stores: HistoryStores,
  shape: Conversation,
): Promise<void> {
  const rows = rowsOf(shape);
  const seqs = [...rows.keys()];
  const place = newPlace();
  await putMessages(stores, place, seqs, (seq) => rows.get(seq) as number);
  const latest = headOf(seqs, shape);
  const earliest =
    shape.earliest === undefined ? undefined : seqs[Math.floor(shape.earliest * (seqs.length - 1))];
  await putHead(stores, place, latest, earliest);

  const visible = seqs.filter((seq) => rows.get(seq) !== DELETED && seq >= (earliest ?? 0n));
  const anchor = anchorOf(shape, seqs);
  const ordered = shape.newer
    ? visible.filter((seq) => anchor === undefined || seq > anchor)
    : visible.filter((seq) => anchor === undefined || seq < anchor).reverse();

  const readsBefore = world.buckets.reads.length;
  const pages = await allPages(world, place, { newer: shape.newer, anchor, limit: shape.limit }, true);
  expect(pages.flatMap((page) => page.seqs)).toEqual(ordered);
  let shown = 0;
  for (const page of pages) {
    expect(page.seqs.length).toBeLessThanOrEqual(shape.limit);
    shown += page.seqs.length;
    checkEnd(page, ordered[shown], shape);
  }
  pages.forEach((page, index) => {
    if (page.hasMore) expect(pages[index + 1]?.seqs.length, 'has_more is kept').toBeGreaterThan(0);
  });
  // Every bucket between two messages once, one read more where a page begins again in it, and the looks above the head.
  const reads = world.buckets.reads.length - readsBefore;
  const perPage = HISTORY_MAX_EMPTY_BUCKET_SCAN + 8;
  expect(reads).toBeLessThanOrEqual(
    pages.length * perPage + ordered.length * HISTORY_MAX_EMPTY_BUCKET_SCAN + 64,
  );
  expect(world.failures).toEqual([]);
}

function checkEnd(page: Page, next: bigint | undefined, { limit, newer }: Conversation): void {
  const last = page.seqs.at(-1);
  switch (page.stop) {
    case HistoryStop.LIMIT:
      expect(page).toMatchObject({ hasMore: true, nextAnchor: last, hole: undefined });
      expect(page.seqs.length).toBe(limit);
      expect(next).toBeDefined();
      return;
    case HistoryStop.END:
      expect(page).toMatchObject({ hasMore: false, nextAnchor: undefined, hole: undefined });
      expect(next).toBeUndefined();
      return;
    default: {
      expect(page).toMatchObject({ hasMore: false, nextAnchor: undefined, stop: HistoryStop.HOLE });
      const hole = page.hole as NonNullable<Page['hole']>;
      // Eight whole empty buckets were seen, and nothing of what comes next lies in them.
      const scanned = newer
        ? bucketOf(hole.continueAnchor) - bucketOf(hole.beganAt) + 1n
        : bucketOf(hole.beganAt) - bucketOf(hole.continueAnchor) + 1n;
      expect(scanned).toBeGreaterThanOrEqual(8n);
      expect(scanned).toBeLessThanOrEqual(9n);
      if (last !== undefined) expect(hole.beganAt).toBe(newer ? last + 1n : last - 1n);
      if (next !== undefined && newer) expect(next).toBeGreaterThan(hole.continueAnchor);
      if (next !== undefined && !newer) expect(next).toBeLessThan(hole.continueAnchor);
    }
  }
}

/** Rows by ascending seq, with their states. */
function rowsOf({ stretches: parts }: Conversation): Map<bigint, number> {
  const rows = new Map<bigint, number>();
  let bucket = -1n;
  for (const { gap, offsets, states } of parts) {
    bucket += BigInt(gap);
    [...offsets]
      .sort((a, b) => a - b)
      .forEach((offset, index) => {
        rows.set(bucketStart(bucket) + BigInt(offset), states[index % states.length] as number);
      });
  }
  return rows;
}

/**
 * A head that lags by some rows: across as many empty buckets as make no hole where an older page from an anchor comes
 * down to it; other pages look for what lies above it, one empty bucket at a time (D3).
 */
function headOf(seqs: readonly bigint[], { lag, newer, anchor }: Conversation): bigint {
  const bucketsMax = newer || anchor === 'none' ? 2n : BigInt(HISTORY_MAX_EMPTY_BUCKET_SCAN);
  let index = seqs.length - 1;
  for (let step = 0; step < lag && index > 0; step++) {
    if (bucketOf(seqs[index] as bigint) - bucketOf(seqs[index - 1] as bigint) > bucketsMax) break;
    index--;
  }
  return seqs[index] as bigint;
}

function anchorOf({ anchor }: Conversation, seqs: readonly bigint[]): bigint | undefined {
  if (anchor === 'none') return undefined;
  if (anchor === 'last') return SEQ_MAX;
  const top = seqs.at(-1) as bigint;
  if (anchor === 'far') return top + 4096n * 100n;
  const near = (seqs[anchor.row % seqs.length] as bigint) + BigInt(anchor.step);
  return near < 0n ? 0n : near;
}
