/**
 * The property of R3.3 and D14 on any store: whatever the order of the log's records, and however often they come, the
 * rows and their index are those of the log's own order.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { LogMessage, LogRecord } from '../../src/codec/log-record.js';
import { idKeyAt } from '../../src/domain/ids.js';
import { type MessageRecord, RetentionClass } from '../../src/domain/message.js';
import type { WriteStore } from '../../src/domain/write-ports.js';
import type { RetentionPolicies } from '../../src/write/retention-policies.js';
import { plainValue } from '../stores/write-contract.js';
import {
  archiverOn,
  type Chat,
  chat,
  editOf,
  messageAt,
  pagedLog,
  recallOf,
  type StorePorts,
  unstopped,
} from './archive-fixtures.js';

const HOUR_MS = 3_600_000;
/** Ages: fresh, beyond a day, beyond the 30 days; none so near to an end that a slow machine decides. */
const AGES_MS = [0, HOUR_MS, 30 * HOUR_MS, 40 * 24 * HOUR_MS];
const CLASSES = [...Object.values(RetentionClass), undefined];

interface Planned {
  readonly ageMs: number;
  readonly retentionClass: number | undefined;
  /** A retry after a crash has sealed the same message again (D16). */
  readonly resealed: boolean;
  readonly events: readonly { readonly kind: 'recall' | 'edit'; readonly afterMs: number }[];
}

const planned: fc.Arbitrary<Planned> = fc.record({
  ageMs: fc.constantFrom(...AGES_MS),
  retentionClass: fc.constantFrom(...CLASSES),
  resealed: fc.boolean(),
  events: fc.array(
    fc.record({
      kind: fc.constantFrom('recall' as const, 'edit' as const),
      afterMs: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 3 },
  ),
});

const scenario = fc.record({
  plans: fc.array(planned, { minLength: 1, maxLength: 6 }),
  shuffle: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 48, maxLength: 48 }),
  repeats: fc.array(fc.nat({ max: 47 }), { maxLength: 12 }),
  pageRecords: fc.integer({ min: 1, max: 12 }),
});

/** Where a scenario's records come to lie: two places get the same records but for their conversation and tenant. */
function recordsIn(where: Chat, plans: readonly Planned[], nowMs: number): LogRecord[] {
  const messages: LogMessage[] = plans.map(({ ageMs, retentionClass }, index) =>
    messageAt(where, BigInt(index + 1), BigInt(nowMs - ageMs), { retentionClass }),
  );
  return messages.flatMap((message, index) => {
    const plan = plans[index];
    if (plan === undefined) return [];
    const again: LogRecord[] = plan.resealed
      ? [{ ...message, record: { ...message.record, payload: new Uint8Array(64).fill(index) } }]
      : [];
    const { createdAtMs } = message.record;
    const events = plan.events.map(({ kind, afterMs }, nth): LogRecord => {
      const make = kind === 'recall' ? recallOf : editOf;
      // Events of one message are at least a millisecond apart, as eventPrefix has it.
      return make(message, createdAtMs + BigInt(afterMs + 10 * nth), BigInt(1000 + 10 * index + nth));
    });
    return [message, ...again, ...events];
  });
}

/** The same records in another place, so that one store can hold both results. */
function moved(record: LogRecord, where: Chat): LogRecord {
  return record.kind === 'keyDestroyed' ? record : { ...record, ...where };
}

function inPages<T>(items: readonly T[], size: number): T[][] {
  const pages: T[][] = [];
  for (let at = 0; at < items.length; at += size) pages.push(items.slice(at, at + size));
  return pages;
}

async function archive(
  ports: StorePorts,
  records: readonly LogRecord[],
  pageRecords: number,
  policies: RetentionPolicies,
): Promise<void> {
  const archiver = archiverOn(ports, pagedLog(inPages(records, pageRecords)), { policies });
  await archiver.run(unstopped());
  expect(archiver.totals().parked).toBe(0);
}

/** Rows and index as a reader sees them; TTLs in coarse steps where the store's clock goes on. */
async function stateOf(
  writes: WriteStore,
  where: Chat,
  records: readonly LogRecord[],
  ttlStepS: number,
): Promise<unknown> {
  const rows = await writes.readBucket(where.tenantId, where.conversationId, 0n);
  const index = await Promise.all(
    records.map(async (record) =>
      record.kind === 'message' ? (await writes.lookup(where.tenantId, record.record.messageId))?.seq : null,
    ),
  );
  const stepped = (row: MessageRecord): MessageRecord =>
    row.ttlSeconds === undefined ? row : { ...row, ttlSeconds: Math.round(row.ttlSeconds / ttlStepS) };
  // Which of two seals of one message stays is the store's choice: they have one timestamp (D14), and on Cassandra the one
  // that expires later, by the second in which it was written, is before the larger one.
  const payloads = new Map<bigint, Buffer[]>();
  for (const record of records) {
    if (record.kind !== 'message') continue;
    const { seq, payload } = record.record;
    payloads.set(seq, [...(payloads.get(seq) ?? []), Buffer.from(payload ?? [])]);
  }
  const unsealed = (row: MessageRecord): MessageRecord => {
    const seals = payloads.get(row.seq) ?? [];
    const isOne = seals.some((seal) => seal.equals(row.payload ?? Buffer.alloc(0)));
    return isOne ? { ...row, payload: seals[0] } : row;
  };
  return plainValue({ rows: rows.map((row) => stepped(unsealed(row))), index });
}

export async function holdsInAnyOrder(
  ports: StorePorts & { readonly writes: WriteStore },
  { runs, ttlStepS }: { readonly runs: number; readonly ttlStepS: number },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ plans, shuffle, repeats, pageRecords }) => {
      const [inOrder, anyOrder] = [chat(), chat()];
      const tenants = new Map([
        [idKeyAt(inOrder.tenantId, 0), { defaultSeconds: undefined, customSeconds: 7 * 86_400 }],
        [idKeyAt(anyOrder.tenantId, 0), { defaultSeconds: undefined, customSeconds: 7 * 86_400 }],
      ]);
      const policies = { defaultSeconds: undefined, tenants };
      const records = recordsIn(inOrder, plans, Math.floor(ports.clock.epochMs()));
      await archive(ports, records, records.length, policies);

      const repeated = [...records, ...repeats.flatMap((at) => records[at] ?? [])];
      const shuffled = repeated
        .map((record, index) => ({ record, at: shuffle[index % shuffle.length] ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ record }) => moved(record, anyOrder));
      await archive(ports, shuffled, pageRecords, policies);

      expect(await stateOf(ports.writes, anyOrder, records, ttlStepS)).toEqual(
        await stateOf(ports.writes, inOrder, records, ttlStepS),
      );
    }),
    // To shrink a failure on a server takes longer than a test may: the seed repeats it.
    { numRuns: runs, seed: seedOfRun(), endOnFailure: true },
  );
}

/** Printed, so that a failure can be repeated. */
function seedOfRun(): number {
  const seed = Number(process.env.ARCH_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`archive order: seed ${seed}`);
  return seed;
}
