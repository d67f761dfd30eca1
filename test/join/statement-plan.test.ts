// The planner against a slow, obvious model (R4.3, D5).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadStatement } from '../../src/domain/statement.js';
import { READ_COST_MODEL_DEFAULT, type ReadCostModel } from '../../src/join/read-cost-model.js';
import { planStatements } from '../../src/join/statement-plan.js';

function wanted(statements: readonly ReadStatement[], seqs: readonly bigint[]): bigint[] {
  const got = statements.flatMap((statement) =>
    statement.shape === 'in'
      ? statement.seqs
      : seqs.filter((seq) => seq >= statement.from && seq <= statement.to),
  );
  return got.sort((a, b) => Number(a - b));
}

function rowsOf(statement: ReadStatement): number {
  return statement.shape === 'in' ? statement.seqs.length : Number(statement.to - statement.from) + 1;
}

function costOf(statements: readonly ReadStatement[], model: ReadCostModel): number {
  let cost = 0;
  for (const statement of statements) {
    const rowMicros = statement.shape === 'in' ? model.inElementMicros : model.rangeRowMicros;
    cost += model.furtherStatementMicros + rowsOf(statement) * rowMicros;
  }
  return cost;
}

/** Tries every way to cut the seqs into consecutive pieces and every shape of each piece. */
function cheapestByTrial(seqs: readonly bigint[], model: ReadCostModel): number {
  const statementsMax = Math.ceil(seqs.length / model.inCap);
  const surplusMax = Math.floor(model.surplusBytesMax / model.surplusRowBytes / statementsMax);
  let best = Number.POSITIVE_INFINITY;
  const cut = (from: number, statements: number, cost: number): void => {
    if (from === seqs.length) best = Math.min(best, cost);
    if (from === seqs.length || statements === statementsMax) return;
    for (let to = from + 1; to <= seqs.length; to++) {
      const span = Number((seqs[to - 1] as bigint) - (seqs[from] as bigint)) + 1;
      const range = model.furtherStatementMicros + span * model.rangeRowMicros;
      if (span - (to - from) <= surplusMax) cut(to, statements + 1, cost + range);
      const list = model.furtherStatementMicros + (to - from) * model.inElementMicros;
      if (to - from <= model.inCap) cut(to, statements + 1, cost + list);
    }
  };
  cut(0, 0, 0);
  return best;
}

const model: fc.Arbitrary<ReadCostModel> = fc.record({
  inCap: fc.integer({ min: 1, max: 5 }),
  statementMicros: fc.constant(0),
  furtherStatementMicros: fc.integer({ min: 0, max: 100 }),
  rangeRowMicros: fc.integer({ min: 1, max: 30 }),
  inElementMicros: fc.integer({ min: 1, max: 60 }),
  surplusBytesMax: fc.integer({ min: 0, max: 60 }),
  surplusRowBytes: fc.constant(1),
});
const bucketStart = fc.constantFrom(0n, 4096n, 2n ** 53n, 2n ** 63n - 4096n);

function seqsOf(start: bigint, offsets: readonly number[]): bigint[] {
  return [...new Set(offsets)].sort((a, b) => a - b).map((offset) => start + BigInt(offset));
}

describe('planStatements', () => {
  it('costs exactly what the best of all ways costs', () => {
    const few = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(few, bucketStart, model, (offsets, start, costs) => {
        const seqs = seqsOf(start, offsets);
        const consecutive = Number((seqs.at(-1) as bigint) - (seqs[0] as bigint)) + 1 === seqs.length;
        const statements = planStatements(seqs, costs);
        expect(wanted(statements, seqs)).toEqual(seqs);
        if (consecutive) expect(statements).toEqual([{ shape: 'range', from: seqs[0], to: seqs.at(-1) }]);
        else if (!statements.some((statement) => statement.shape === 'range')) {
          expect(costOf(statements, costs)).toBeCloseTo(cheapestByTrial(seqs, costs), 6);
        } else
          expect(costOf(statements, costs)).toBeLessThanOrEqual(
            inAsRangeCost(statements, seqs, costs) + 1e-6,
          );
      }),
      { numRuns: 500 },
    );
  });

  it('reads each wanted seq once, within ceil(n / cap) statements and the surplus bound', () => {
    const many = fc.oneof(
      fc.array(fc.nat({ max: 4095 }), { minLength: 1, maxLength: 700 }),
      fc.array(fc.nat({ max: 4095 }), { minLength: 2000, maxLength: 6000 }),
    );
    fc.assert(
      fc.property(many, bucketStart, fc.integer({ min: 1, max: 200 }), (offsets, start, inCap) => {
        const costs = { ...READ_COST_MODEL_DEFAULT, inCap };
        const seqs = seqsOf(start, offsets);
        const statements = planStatements(seqs, costs);
        expect(wanted(statements, seqs)).toEqual(seqs);
        expect(statements.length).toBeLessThanOrEqual(Math.ceil(seqs.length / inCap));
        const rows = statements.reduce((sum, statement) => sum + rowsOf(statement), 0);
        expect((rows - seqs.length) * costs.surplusRowBytes).toBeLessThanOrEqual(costs.surplusBytesMax);
        for (const statement of statements) {
          if (statement.shape === 'in') expect(statement.seqs.length).toBeLessThanOrEqual(inCap);
        }
        // IN lists alone are always allowed: with thousands of seqs too the plan is never dearer.
        const lists = Math.ceil(seqs.length / inCap) * costs.furtherStatementMicros;
        expect(costOf(statements, costs)).toBeLessThanOrEqual(
          lists + seqs.length * costs.inElementMicros + 1e-6,
        );
      }),
    );
  });

  it('S-1 reads 500 consecutive seqs as one range', () => {
    const seqs = Array.from({ length: 500 }, (_, index) => BigInt(index + 100));
    expect(planStatements(seqs, READ_COST_MODEL_DEFAULT)).toEqual([{ shape: 'range', from: 100n, to: 599n }]);
  });

  it.each([100, 101, 200, 2048])('B04 never lists more than the cap: %i even seqs', (count) => {
    const seqs = Array.from({ length: count }, (_, index) => BigInt(index * 2));
    const statements = planStatements(seqs, { ...READ_COST_MODEL_DEFAULT, surplusBytesMax: 0 });
    expect(statements.length).toBe(Math.ceil(count / 100));
    for (const statement of statements) {
      expect(rowsOf(statement)).toBeLessThanOrEqual(100);
      expect(statement.shape).not.toBe('covering');
    }
  });

  it('covers near neighbours with one range and leaves far ones to a list', () => {
    const near = Array.from({ length: 90 }, (_, index) => BigInt(index + (index >= 45 ? 1 : 0)));
    expect(planStatements(near, READ_COST_MODEL_DEFAULT)).toEqual([{ shape: 'covering', from: 0n, to: 90n }]);
    const far = Array.from({ length: 90 }, (_, index) => BigInt(index * 40));
    expect(planStatements(far, READ_COST_MODEL_DEFAULT)).toEqual([{ shape: 'in', seqs: far }]);
  });

  it('mixes a range and lists where that is cheaper', () => {
    const run = Array.from({ length: 400 }, (_, index) => BigInt(1000 + index));
    const scattered = Array.from({ length: 40 }, (_, index) => BigInt(index * 20));
    const statements = planStatements([...scattered, ...run], READ_COST_MODEL_DEFAULT);
    expect(statements.map(({ shape }) => shape)).toEqual(['in', 'range']);
  });
});

/** The same cost, with pieces that turned out consecutive counted as the planner may have counted them. */
function inAsRangeCost(
  statements: readonly ReadStatement[],
  seqs: readonly bigint[],
  costs: ReadCostModel,
): number {
  const best = cheapestByTrial(seqs, costs);
  const dearer = statements.filter(({ shape }) => shape === 'range');
  const gain = dearer.reduce(
    (sum, statement) => sum + Math.max(0, (costs.rangeRowMicros - costs.inElementMicros) * rowsOf(statement)),
    0,
  );
  return best + gain;
}
