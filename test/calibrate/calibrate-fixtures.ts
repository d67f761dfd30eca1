/** Buckets, figures and stores that answer in a made-up time, for the tests of calibrate. */
import { randomBytes } from 'node:crypto';
import type { PointFigure } from '../../src/calibrate/measure.js';
import { type ReadPoint, rowsOf } from '../../src/calibrate/read-points.js';
import type { SiteGroup } from '../../src/calibrate/site.js';
import type { GroupRead, GroupRows, MessageReader } from '../../src/domain/ports.js';
import type { ReadStatement } from '../../src/domain/statement.js';
import { bareRecord, conversation, tenant } from '../stores/fixtures.js';

/** A bucket with rows at its first seqs. */
export function groupOf(rows: number, rowBytes = 600): SiteGroup {
  const seqs = Array.from({ length: rows }, (_, at) => BigInt(at));
  return {
    rowBytes,
    sites: [
      { tenantId: tenant(randomBytes(16)), conversationId: conversation(randomBytes(16)), bucket: 0n, seqs },
    ],
  };
}

/** What a statement costs in a made-up store. */
export interface Costs {
  readonly statement: number;
  readonly row: number;
  readonly element: number;
}

export function costOf({ statement, row, element }: Costs, isIn: boolean, count: number): number {
  return statement + count * (isIn ? element : row);
}

/** Figures as a store of exactly these costs would give them. */
export function figuresOf(points: readonly ReadPoint[], costs: Costs): PointFigure[] {
  return points.map((point) => {
    const micros = costOf(costs, point.shape === 'in', rowsOf(point));
    return {
      point,
      samples: 9,
      medianMicros: micros,
      lowerQuartileMicros: 0.9 * micros,
      upperQuartileMicros: 1.1 * micros,
    };
  });
}

/**
 * Whether a written file knows that a range of 1,000 rows costs more than one of a single row: its slow reads more than
 * the quick ones of that, which holds on a busy machine as well.
 */
export function orderedByLength({ sizes: [first] }: WrittenFile): boolean {
  const ofRange = (wanted: number) =>
    first?.points.find((point) => point.shape === 'range' && point.wanted === wanted)?.quartilesMicros;
  const [short, long] = [ofRange(1), ofRange(1_000)];
  return short !== undefined && long !== undefined && short[0] < long[1];
}

interface WrittenFile {
  readonly sizes: readonly {
    readonly points: readonly {
      readonly shape: string;
      readonly wanted: number;
      readonly quartilesMicros: readonly [number, number];
    }[];
  }[];
}

/** Its rows are all this one: only their number counts here. */
const ROW = bareRecord(1n);

/** A store whose clock moves by what its reads cost, one statement after the other. */
export class TimedStore implements MessageReader {
  nowMs = 0;
  readonly reads: GroupRead[] = [];
  readonly #costs: Costs;
  /** Throws, or answers with fewer rows, where a test wants it. */
  readonly #fault: (read: GroupRead, count: number) => 'missing row' | undefined;

  constructor(
    costs: Costs,
    fault: (read: GroupRead, count: number) => 'missing row' | undefined = () => undefined,
  ) {
    this.#costs = costs;
    this.#fault = fault;
  }

  async readGroup(read: GroupRead): Promise<GroupRows> {
    this.reads.push(read);
    const fault = this.#fault(read, this.reads.length);
    const seqs = read.statements.flatMap((statement) => {
      const found = seqsOf(statement);
      this.nowMs += costOf(this.#costs, statement.shape === 'in', found.length) / 1_000;
      return found;
    });
    if (fault === 'missing row') seqs.pop();
    const count = read.statements.length;
    return {
      records: seqs.map(() => ROW),
      summaries: [],
      sentAtMs: 0,
      cost: {
        recordStatements: count,
        summaryStatements: count,
        furtherPages: 0,
        rows: seqs.length,
        bytes: 0,
      },
    };
  }
}

function seqsOf(statement: ReadStatement): bigint[] {
  if (statement.shape === 'in') return [...statement.seqs];
  return Array.from(
    { length: Number(statement.to - statement.from) + 1 },
    (_, at) => statement.from + BigInt(at),
  );
}
