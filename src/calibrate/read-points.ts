/**
 * What is measured: one point is one kind of read, by shape, length and density (R7.3). Pure.
 *
 * `stride` stands for density: of each `stride` rows that are there one is wanted. Rows are counted, not seqs, so that
 * holes of an existing conversation do not make a point cheaper than it says.
 */
import { strict as assert } from 'node:assert';
import type { ReadStatement } from '../domain/statement.js';
import type { Site, SiteGroup } from './site.js';

export interface ReadPoint {
  /** Index of its group of sites. */
  readonly group: number;
  readonly shape: ReadStatement['shape'];
  /** Messages that are wanted. */
  readonly wanted: number;
  readonly stride: number;
  /** Elements of one IN list; more wanted messages are several statements, sent together. */
  readonly inCap: number;
}

export const STRIDES: readonly number[] = [1, 2, 4, 8, 16];
const LENGTHS = [1, 2, 5, 10, 20, 50, 100, 200];
const RANGE_LENGTHS = [...LENGTHS, 500, 1_000];
/** The longest covering range that is measured, in rows: the surplus bound of a plan ends most of them far below. */
const COVERING_ROWS_MAX = 1_024;
/** The scattered messages that are read in lists of several lengths, to find the IN cap. */
const CHUNKED = { wanted: 400, stride: 10, inCaps: [10, 25, 50, 100, 150, 200] };
/** Below these a bucket says nothing of the IN cap. */
const CHUNKED_MIN = { wanted: 200, stride: 2 };

/** Rows that a bucket must have for every length of IN and for the IN cap. */
export const SITE_ROWS_MIN = CHUNKED_MIN.wanted * CHUNKED_MIN.stride;

/** Rows from the first wanted one to the last. */
export function spanOf({ wanted, stride }: Pick<ReadPoint, 'wanted' | 'stride'>): number {
  return (wanted - 1) * stride + 1;
}

/** Rows that the statements of a point bring. */
export function rowsOf(point: ReadPoint): number {
  return point.shape === 'in' ? point.wanted : spanOf(point);
}

export function statementCountOf({ shape, wanted, inCap }: ReadPoint): number {
  return shape === 'in' ? Math.ceil(wanted / inCap) : 1;
}

/** Whether a point tells of the IN cap; the others tell what a statement costs. */
export function isOfInCap(point: ReadPoint): boolean {
  return statementCountOf(point) > 1;
}

/** Every point that the groups have rows for; the IN cap is looked for in the first group. */
export function readPoints(groups: readonly SiteGroup[]): ReadPoint[] {
  return groups.flatMap((group, index) => {
    const rows = rowsMaxOf(group);
    const points: ReadPoint[] = [];
    const add = (shape: ReadPoint['shape'], wanted: number, stride: number): void => {
      const point = { group: index, shape, wanted, stride, inCap: wanted };
      if (spanOf(point) <= rows) points.push(point);
    };
    for (const wanted of RANGE_LENGTHS) add('range', wanted, 1);
    for (const stride of STRIDES) {
      for (const wanted of LENGTHS) {
        // One message has no density.
        if (wanted === 1 && stride > 1) continue;
        add('in', wanted, stride);
        if (stride > 1 && spanOf({ wanted, stride }) <= COVERING_ROWS_MAX) add('covering', wanted, stride);
      }
    }
    return index === 0 ? [...points, ...chunkedPoints(rows)] : points;
  });
}

function chunkedPoints(rows: number): ReadPoint[] {
  const wanted = Math.min(CHUNKED.wanted, Math.floor(rows / CHUNKED_MIN.stride));
  if (wanted < CHUNKED_MIN.wanted || rows < SITE_ROWS_MIN) return [];
  const stride = Math.min(CHUNKED.stride, Math.floor((rows - 1) / (wanted - 1)));
  return CHUNKED.inCaps
    .filter((inCap) => inCap < wanted)
    .map((inCap) => ({ group: 0, shape: 'in', wanted, stride, inCap }));
}

/** The sites of its group that have rows enough for a point. */
export function sitesFor(point: ReadPoint, { sites }: SiteGroup): readonly Site[] {
  const span = spanOf(point);
  return sites.filter(({ seqs }) => seqs.length >= span);
}

/** The statements of a point whose first wanted message is the `start`-th row of a bucket. */
export function statementsAt(point: ReadPoint, seqs: readonly bigint[], start: number): ReadStatement[] {
  const last = start + spanOf(point) - 1;
  assert(start >= 0 && last < seqs.length, 'a point lies inside its bucket');
  if (point.shape !== 'in') {
    return [{ shape: point.shape, from: seqs[start] as bigint, to: seqs[last] as bigint }];
  }
  const wanted = Array.from({ length: point.wanted }, (_, at) => seqs[start + at * point.stride] as bigint);
  const statements: ReadStatement[] = [];
  for (let at = 0; at < wanted.length; at += point.inCap) {
    statements.push({ shape: 'in', seqs: wanted.slice(at, at + point.inCap) });
  }
  return statements;
}

function rowsMaxOf({ sites }: SiteGroup): number {
  return Math.max(0, ...sites.map(({ seqs }) => seqs.length));
}
