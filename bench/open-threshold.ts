/**
 * From what size is a group cheaper to open on a worker than on the main thread? (INLINE_OPEN_* in src/domain/limits.ts)
 *
 *     npm run build && npx tsc -p bench && node .cache/bench/bench/open-threshold.js [rounds]
 *
 * For each group size and payload size, inline and worker take turns within one run, on the same bytes:
 * - inline: the time of openItems; the main thread is busy for all of it.
 * - latency: one job at a time through an idle worker, from open() to its answer.
 * - main: what a job costs the main thread when 16 are in flight (event loop's active time per job).
 * Inline always wins by latency on an idle machine (the same work without the round trip) and soon loses by main-thread
 * time, which is what a busy process runs out of. The rule: a group goes to a worker when that frees more main-thread
 * time than it adds latency, inline − main > latency − inline.
 * Medians; each round starts from restored ciphertext, outside the measured time. Wrong plaintext ends the run.
 */
import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { aadOf, sealPayload } from '../src/crypto/payload.js';
import { nonceBytes, TAG_BYTES } from '../src/domain/envelope.js';
import type { ConversationId, TenantId } from '../src/domain/ids.js';
import { INLINE_OPEN_BYTES_MAX, INLINE_OPEN_ITEMS_MAX } from '../src/domain/limits.js';
import {
  OPEN_ITEM_AAD_AT,
  OPEN_ITEM_BYTES,
  OPEN_ITEM_NONCE_AT,
  OPEN_ITEM_TAG_AT,
  type OpenJob,
  OpenOutcome,
  writeOpenItem,
} from '../src/domain/open-job.js';
import { WorkerOpener } from '../src/workers/worker-opener.js';

const COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const PAYLOAD_BYTES = [64, 600, 4_096, 16_384];
const IN_FLIGHT = 16;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
const ROUNDS_DEFAULT = 60;

interface Group {
  readonly job: OpenJob;
  readonly restore: () => void;
  readonly check: () => void;
}

/** A group of equal-sized payloads that lies from `at` of the region. */
function groupAt(region: Uint8Array, at: number, count: number, bytes: number): Group {
  const dek = randomBytes(32);
  const place = {
    tenantId: randomBytes(16) as Uint8Array as TenantId,
    conversationId: randomBytes(16) as Uint8Array as ConversationId,
    dek,
    dekId: { scope: 'bench', id: 'bench', version: 1 },
  };
  const texts = randomBytes(count * bytes);
  const sealed = new Uint8Array(count * bytes);
  const items = new Uint8Array(count * OPEN_ITEM_BYTES);
  for (let i = 0; i < count; i++) {
    const where = { ...place, seq: BigInt(i) };
    const envelope = sealPayload({ ...where, plaintext: texts.subarray(i * bytes, (i + 1) * bytes) });
    const suite = envelope[0] as number;
    const sealedAt = 1 + nonceBytes(suite);
    const itemAt = writeOpenItem(items, i, at + i * bytes, bytes, 0, 0, suite);
    items.set(envelope.subarray(1, sealedAt), itemAt + OPEN_ITEM_NONCE_AT);
    items.set(envelope.subarray(envelope.length - TAG_BYTES), itemAt + OPEN_ITEM_TAG_AT);
    items.set(aadOf(where), itemAt + OPEN_ITEM_AAD_AT);
    sealed.set(envelope.subarray(sealedAt, envelope.length - TAG_BYTES), i * bytes);
  }
  const restore = (): void => region.set(sealed, at);
  return {
    job: { items, count, keys: [dek], privateBuffers: [], bytes: count * bytes, restore },
    restore,
    check: () => assert(texts.equals(region.subarray(at, at + count * bytes)), 'a plaintext differs'),
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

const micros = (ms: number): number => ms * 1_000;

function assertOpened(outcomes: Uint8Array): void {
  assert(
    outcomes.every((outcome) => outcome === OpenOutcome.OPENED),
    'an item did not open',
  );
}

interface Cell {
  readonly count: number;
  readonly bytes: number;
  readonly inlineUs: number;
  readonly latencyUs: number;
  readonly mainUs: number;
}

async function measure(
  inline: WorkerOpener,
  worker: WorkerOpener,
  groups: readonly Group[],
  rounds: number,
): Promise<Omit<Cell, 'count' | 'bytes'>> {
  const first = groups[0] as Group;
  const inlineMs: number[] = [];
  const latencyMs: number[] = [];
  const mainMs: number[] = [];
  for (let round = -Math.ceil(rounds / 4); round < rounds; round++) {
    first.restore();
    let fromMs = performance.now();
    const opened = inline.open(first.job);
    const inlineRoundMs = performance.now() - fromMs;
    assert(opened instanceof Uint8Array, 'the inline opener answers at once');
    assertOpened(opened);
    first.restore();
    fromMs = performance.now();
    const outcomes = await worker.open(first.job);
    const latencyRoundMs = performance.now() - fromMs;
    assertOpened(outcomes);
    first.check();
    for (const group of groups) group.restore();
    const before = performance.eventLoopUtilization();
    const all = await Promise.all(groups.map((group) => worker.open(group.job)));
    const { active } = performance.eventLoopUtilization(before);
    for (const each of all) assertOpened(each);
    // The first rounds warm up.
    if (round < 0) continue;
    inlineMs.push(inlineRoundMs);
    latencyMs.push(latencyRoundMs);
    mainMs.push(active / groups.length);
  }
  return {
    inlineUs: micros(median(inlineMs)),
    latencyUs: micros(median(latencyMs)),
    mainUs: micros(median(mainMs)),
  };
}

/** What inline is compared with by the rule. */
function ruleUs(cell: Cell): number {
  return (cell.latencyUs + cell.mainUs) / 2;
}

function printCell(cell: Cell): void {
  const figure = (value: number): string => value.toFixed(0).padStart(9);
  const cheaper = (workerUs: number): string => (cell.inlineUs <= workerUs ? 'inline' : 'worker');
  const choices = [cell.latencyUs, cell.mainUs, ruleUs(cell)].map(cheaper).join('  ');
  console.log(
    `${String(cell.bytes).padStart(7)}${String(cell.count).padStart(7)}${figure(cell.inlineUs)}${figure(cell.latencyUs)}` +
      `${figure(cell.mainUs)}   ${choices}`,
  );
}

/** The largest group for which inline was not slower, counted up from 1 without a gap. */
function crossover(cells: readonly Cell[], workerUs: (cell: Cell) => number): string {
  const lost = cells.findIndex((cell) => cell.inlineUs > workerUs(cell));
  if (lost < 0) return `${cells.at(-1)?.count}+`;
  return lost === 0 ? 'none' : String(cells[lost - 1]?.count);
}

async function main(): Promise<void> {
  const rounds = Number(process.argv[2] ?? ROUNDS_DEFAULT);
  const region = new SharedArrayBuffer(IN_FLIGHT * GROUP_BYTES_MAX);
  const view = new Uint8Array(region);
  const inline = new WorkerOpener({
    region,
    threads: 1,
    inlineItemsMax: Number.MAX_SAFE_INTEGER,
    inlineBytesMax: Number.MAX_SAFE_INTEGER,
  });
  const worker = new WorkerOpener({ region, inlineItemsMax: 0 });
  console.log(
    `node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${rounds} rounds, medians in µs`,
  );
  console.log('  bytes  count   inline  latency     main   cheaper by latency, main-thread time, rule');
  const summary: string[] = [];
  const warmUp = Array.from({ length: IN_FLIGHT }, (_, i) => groupAt(view, i * GROUP_BYTES_MAX, 32, 600));
  await measure(inline, worker, warmUp, rounds);
  for (const bytes of PAYLOAD_BYTES) {
    const cells: Cell[] = [];
    for (const count of COUNTS) {
      if (count * bytes > GROUP_BYTES_MAX) continue;
      const groups = Array.from({ length: IN_FLIGHT }, (_, i) =>
        groupAt(view, i * GROUP_BYTES_MAX, count, bytes),
      );
      const cell = { count, bytes, ...(await measure(inline, worker, groups, rounds)) };
      printCell(cell);
      cells.push(cell);
    }
    summary.push(
      `${String(bytes).padStart(7)} bytes: up to ${crossover(cells, (cell) => cell.latencyUs)} by latency, ` +
        `${crossover(cells, (cell) => cell.mainUs)} by main-thread time, ${crossover(cells, ruleUs)} by the rule`,
    );
  }
  console.log('inline is not slower for groups');
  for (const line of summary) console.log(line);
  console.log(`in force: ${INLINE_OPEN_ITEMS_MAX} items and ${INLINE_OPEN_BYTES_MAX} bytes`);
  await Promise.all([inline.close(), worker.close()]);
}

await main();
