/** What a page keeps of what it reads: the messages that it shows, and no row of the thousands that it does not. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HistoryDirection } from '../../src/domain/history.js';
import { MessageState } from '../../src/domain/message.js';
import { PageReads } from '../../src/history/page-reads.js';
import { ReadGate } from '../../src/join/read-gate.js';
import type { OpenedHistory } from './history-contract.js';
import { newPlace, putMessages, span } from './history-fixtures.js';
import { openEmbeddedHistory } from './open-embedded-history.js';

let opened: OpenedHistory;
beforeAll(async () => {
  opened = await openEmbeddedHistory();
});
afterAll(() => opened.close());

it('lets go of rows that are not shown, with their summaries', async () => {
  const place = newPlace();
  const isShown = (seq: bigint): boolean => seq === 3n || seq === 1_500n;
  await putMessages(opened.stores, place, span(1n, 1_600n), (seq) =>
    isShown(seq) ? MessageState.NORMAL : MessageState.DELETED,
  );
  const context = {
    buckets: opened.stores.buckets,
    heads: opened.stores.writes,
    gate: new ReadGate(4, 0),
    onFailure: () => undefined,
  };
  const direction = HistoryDirection.OLDER;
  const question = { ...place, direction, anchor: undefined, limit: 10, responseBytesMax: 2 ** 24 };
  const reads = new PageReads(context, { ...question, isWanted: () => true }, 20_000);
  try {
    expect(await reads.takeBucket(0n, 0n, 4_095n)).toBe(true);
  } finally {
    reads.close();
  }
  expect(reads.cost.rows).toBe(1_600);
  const kept = [...reads.rows.values()];
  expect(kept.flatMap(({ records }) => records.map(({ seq }) => seq))).toEqual([1_500n, 3n]);
  expect(kept.flatMap(({ summaries }) => summaries.map(({ seq }) => seq))).toEqual([1_500n, 3n]);
});
