/** Joins the demo's batches one after the other through the client, and holds each result against what was stored. */
import type { MailjoinClient, Receipt } from '../client/index.js';
import type { DemoBatch } from './demo-batches.js';
import { differenceOf } from './demo-check.js';

/** A demo batch on a machine that may be starting a database beside it: never DEADLINE for slowness alone. */
const DEADLINE_MS = 30_000;

export interface DemoJoin {
  readonly batch: DemoBatch;
  /** How many entries got which result. */
  readonly results: ReadonlyMap<string, number>;
  /** Statements on message_record. */
  readonly reads: number;
  readonly receipt: Receipt;
  /** From the client's call to its result, in ms. */
  readonly tookMs: number;
  /** What is not as stored, in words. */
  readonly differences: readonly string[];
}

export async function joinBatches(
  client: MailjoinClient,
  batches: readonly DemoBatch[],
): Promise<DemoJoin[]> {
  const joins: DemoJoin[] = [];
  for (const batch of batches) joins.push(await joinBatch(client, batch));
  return joins;
}

async function joinBatch(client: MailjoinClient, batch: DemoBatch): Promise<DemoJoin> {
  const startedMs = performance.now();
  const { entries, receipt } = await client.join({
    kind: batch.kind,
    tenantId: batch.tenantId,
    entries: batch.entries.map(({ entry }) => entry),
    deadlineMs: DEADLINE_MS,
    wantReceipt: true,
  });
  const tookMs = performance.now() - startedMs;
  if (receipt === undefined) throw new Error('a receipt was asked for');
  const results = new Map<string, number>();
  const differences: string[] = [];
  for (const [index, outcome] of entries.entries()) {
    results.set(outcome.result, (results.get(outcome.result) ?? 0) + 1);
    const expected = batch.entries[index]?.expected;
    const difference = expected && differenceOf(expected, outcome);
    if (difference !== undefined) differences.push(`entry ${index}: ${difference}`);
  }
  const reads = receipt.rangeStatements + receipt.coveringStatements + receipt.inStatements;
  return { batch, results, reads, receipt, tookMs, differences };
}
