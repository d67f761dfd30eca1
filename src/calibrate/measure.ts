/**
 * Times every point, one read at a time, by MessageReader.readGroup: the way of a join's read, both tables, driver and
 * decoding included (R4.4).
 *
 * - Warm-up first: connections, prepared statements and code that is compiled late would be in the first figures.
 * - Then rounds; each takes every point, in an order and at places of its own, so that whatever drifts hits all points
 *   alike. A bound of time ends them early, but not before CALIBRATE_ROUNDS_MIN.
 * - What the store does not answer in the warm-up although it answers a single row (ScyllaDB refuses longer IN lists
 *   than it is told to take) is left out and told, with every longer list. Later a read that fails is counted and left
 *   out; several in a row end the measuring with the store's error.
 * - Rows of an existing bucket may come and go meanwhile (TTLs). Such a read is no figure: it is made at another place,
 *   and left out after CALIBRATE_PLACES_MAX of them. ROWS_CHANGED when that befalls most reads.
 * - CLOCK_TOO_COARSE when reads mostly take no time at all: nothing follows from such figures.
 */
import { quantileSorted, shuffler } from 'd3-array';
import { MailjoinError } from '../domain/errors.js';
import { CALIBRATE_FAILURES_MAX, CALIBRATE_PLACES_MAX, CALIBRATE_ROUNDS_MIN } from '../domain/limits.js';
import type { Clock, MessageReader } from '../domain/ports.js';
import { isOfInCap, type ReadPoint, rowsOf, sitesFor, spanOf, statementsAt } from './read-points.js';
import type { Site, SiteGroup } from './site.js';

/** Reads of each point before the first that counts. */
const WARM_UP_READS = 2;
/** Times that a round takes each point of the IN cap: a choice between nearly equal figures needs steadier ones. */
const IN_CAP_READS = 3;

export interface MeasureOptions {
  readonly reader: MessageReader;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly groups: readonly SiteGroup[];
  readonly points: readonly ReadPoint[];
  readonly rounds: number;
  /** When the rounds end although some are left. */
  readonly withinMs: number;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Told before the warm-up and after every round. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly roundsDone: number;
  readonly rounds: number;
  /** What is left at the pace so far, 0 at the end; undefined while there is none. */
  readonly msLeft: number | undefined;
}

/** What one point cost, in microseconds of wall time. */
export interface PointFigure {
  readonly point: ReadPoint;
  readonly samples: number;
  readonly medianMicros: number;
  readonly lowerQuartileMicros: number;
  readonly upperQuartileMicros: number;
}

export interface Measurement {
  readonly figures: readonly PointFigure[];
  readonly roundsDone: number;
  readonly reads: number;
  /** Reads that the store did not answer. */
  readonly failures: number;
  /** Reads that brought other rows than were there before. */
  readonly changedReads: number;
  /** Points that the store did not answer at all. */
  readonly refused: readonly ReadPoint[];
}

/** Undefined when the signal aborted it. Fails with the store's error, ROWS_CHANGED or CLOCK_TOO_COARSE. */
export async function measure(options: MeasureOptions): Promise<Measurement | undefined> {
  const { rounds, withinMs, clock, signal, onProgress } = options;
  const shuffle = shuffler(options.random);
  onProgress?.({ roundsDone: 0, rounds, msLeft: undefined });
  const warm = await warmUp(options);
  if (warm === undefined) return undefined;
  const { points, refused } = warm;
  const samples = points.map((): number[] => []);
  const order = points.flatMap((point, index) =>
    Array<number>(isOfInCap(point) ? IN_CAP_READS : 1).fill(index),
  );
  let [reads, failures, failuresInARow, changedReads, leftOut, roundsDone] = [0, 0, 0, 0, 0, 0];
  const startedMs = clock.nowMs();
  while (roundsDone < rounds) {
    for (const index of shuffle(order)) {
      if (signal.aborted) return undefined;
      try {
        let micros: number | undefined;
        for (let place = 0; place < CALIBRATE_PLACES_MAX && micros === undefined; place++) {
          reads++;
          micros = await timeRead(options, points[index] as ReadPoint);
          failuresInARow = 0;
          if (micros === undefined) changedReads++;
        }
        if (micros === undefined) leftOut++;
        else samples[index]?.push(micros);
      } catch (error) {
        failures++;
        if (!(error instanceof MailjoinError) || ++failuresInARow === CALIBRATE_FAILURES_MAX) throw error;
      }
    }
    roundsDone++;
    if (leftOut * 2 > order.length * roundsDone) {
      throw new MailjoinError(
        'ROWS_CHANGED',
        `${changedReads} of ${reads} reads brought other rows than before`,
      );
    }
    const spentMs = clock.nowMs() - startedMs;
    const roundMs = spentMs / roundsDone;
    const msLeft = Math.min(
      roundMs * (rounds - roundsDone),
      Math.max(withinMs - spentMs, roundMs * (CALIBRATE_ROUNDS_MIN - roundsDone), 0),
    );
    onProgress?.({ roundsDone, rounds, msLeft });
    if (msLeft === 0) break;
  }
  const figures = points.flatMap((point, index) => figureOf(point, samples[index] ?? []));
  return { figures, roundsDone, reads, failures, changedReads, refused };
}

/** The points that the store answers; undefined when the signal aborted it. */
async function warmUp(
  options: MeasureOptions,
): Promise<{ points: readonly ReadPoint[]; refused: readonly ReadPoint[] } | undefined> {
  const refused: ReadPoint[] = [];
  let elementsRefused = Number.POSITIVE_INFINITY;
  const byElements = [...options.points].sort((a, b) => elementsOf(a) - elementsOf(b));
  for (const point of byElements) {
    if (elementsOf(point) >= elementsRefused) {
      refused.push(point);
      continue;
    }
    for (let read = 0; read < WARM_UP_READS; read++) {
      if (options.signal.aborted) return undefined;
      const error = await failureOf(options, point);
      if (error === undefined) continue;
      if (!(await isPointRefused(options, point, error))) throw error;
      refused.push(point);
      if (point.shape === 'in') elementsRefused = elementsOf(point);
      break;
    }
  }
  const left = new Set(refused);
  return { points: options.points.filter((point) => !left.has(point)), refused };
}

/** Whether it is this read that the store does not answer, and not everything. */
async function isPointRefused(options: MeasureOptions, point: ReadPoint, first: MailjoinError) {
  if (rowsOf(point) === 1 || first.code === 'STORE_CORRUPT') return false;
  if (first.retryable && (await failureOf(options, point)) === undefined) return false;
  return (await failureOf(options, { ...point, wanted: 1, stride: 1, inCap: 1 })) === undefined;
}

async function failureOf(options: MeasureOptions, point: ReadPoint): Promise<MailjoinError | undefined> {
  try {
    await timeRead(options, point);
    return undefined;
  } catch (error) {
    if (error instanceof MailjoinError) return error;
    throw error;
  }
}

/** Elements of the longest list of a point; 0 where it has none. */
function elementsOf({ shape, inCap }: ReadPoint): number {
  return shape === 'in' ? inCap : 0;
}

/** What one read took, in microseconds; undefined when its rows are no longer those that were there. */
async function timeRead(
  { reader, clock, groups, random }: MeasureOptions,
  point: ReadPoint,
): Promise<number | undefined> {
  const sites = sitesFor(point, groups[point.group] as SiteGroup);
  const { tenantId, conversationId, bucket, seqs } = sites[Math.floor(random() * sites.length)] as Site;
  const start = Math.floor(random() * (seqs.length - spanOf(point) + 1));
  const read = { tenantId, conversationId, bucket, statements: statementsAt(point, seqs, start) };
  const sentAtMs = clock.nowMs();
  const { records } = await reader.readGroup(read);
  const micros = (clock.nowMs() - sentAtMs) * 1_000;
  return records.length === rowsOf(point) ? micros : undefined;
}

function figureOf(point: ReadPoint, samples: readonly number[]): PointFigure[] {
  if (samples.length === 0) return [];
  const sorted = [...samples].sort((a, b) => a - b);
  // A list that is not empty has every quantile.
  const quantile = (share: number): number => quantileSorted(sorted, share) as number;
  const medianMicros = quantile(0.5);
  if (medianMicros <= 0) throw new MailjoinError('CLOCK_TOO_COARSE');
  return [
    {
      point,
      samples: samples.length,
      medianMicros,
      lowerQuartileMicros: quantile(0.25),
      upperQuartileMicros: quantile(0.75),
    },
  ];
}
