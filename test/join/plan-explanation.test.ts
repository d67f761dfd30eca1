/** Why a group is read as it is (D5): the reasons, the costs beside each other, and that they never contradict the plan. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlanReason } from '../../src/domain/planned-read.js';
import type { GroupRead } from '../../src/domain/ports.js';
import { explainPlan } from '../../src/join/plan-explanation.js';
import { READ_COST_MODEL_DEFAULT, type ReadCostModel } from '../../src/join/read-cost-model.js';
import { planStatements } from '../../src/join/statement-plan.js';
import { conversation, tenant } from '../stores/fixtures.js';

const MODEL: ReadCostModel = {
  ...READ_COST_MODEL_DEFAULT,
  inCap: 4,
  statementMicros: 100,
  furtherStatementMicros: 50,
  rangeRowMicros: 10,
  inElementMicros: 20,
};

function explained(seqs: readonly bigint[], model: ReadCostModel) {
  const read: GroupRead = {
    tenantId: tenant(),
    conversationId: conversation(),
    bucket: 0n,
    statements: planStatements(seqs, model),
  };
  return { read, why: explainPlan(read, seqs, model) };
}

describe('the reason of a plan', () => {
  it.each([
    ['no gaps', [7n, 8n, 9n], MODEL, PlanReason.CONSECUTIVE, { messages: 3, span: 3, costMicros: 130 }],
    ['one message', [7n], MODEL, PlanReason.CONSECUTIVE, { messages: 1, span: 1, rangeStatements: 1 }],
    [
      'near neighbours',
      [1n, 2n, 4n, 5n],
      MODEL,
      PlanReason.COVERING_CHEAPER,
      { coveringStatements: 1, span: 5, costMicros: 150, coveringCostMicros: 150, inCostMicros: 180 },
    ],
    [
      'far apart',
      [1n, 50n, 99n],
      MODEL,
      PlanReason.IN_CHEAPER,
      { inStatements: 1, span: 99, costMicros: 160, coveringCostMicros: 1_090, inCostMicros: 160 },
    ],
    [
      'near neighbours, but every surplus row may be too large',
      [1n, 2n, 4n, 5n],
      { ...MODEL, surplusBytesMax: 0 },
      PlanReason.SURPLUS_BOUND,
      { inStatements: 1, costMicros: 180, coveringCostMicros: 150 },
    ],
    [
      'a run and strays',
      [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 500n, 900n],
      MODEL,
      PlanReason.PIECES_CHEAPER,
      {
        rangeStatements: 1,
        inStatements: 1,
        costMicros: 100 + 80 + 50 + 40,
        inCostMicros: 100 + 2 * 50 + 200,
      },
    ],
  ])('%s', (_, seqs, model, reason, rest) => {
    expect(explained(seqs, model).why).toMatchObject({ reason, ...rest });
  });

  it('never contradicts the plan, whatever seqs and constants', () => {
    const model: fc.Arbitrary<ReadCostModel> = fc.record({
      inCap: fc.integer({ min: 1, max: 20 }),
      statementMicros: fc.integer({ min: 0, max: 500 }),
      furtherStatementMicros: fc.integer({ min: 0, max: 500 }),
      rangeRowMicros: fc.integer({ min: 0, max: 30 }),
      inElementMicros: fc.integer({ min: 0, max: 60 }),
      surplusBytesMax: fc.integer({ min: 0, max: 400 }),
      surplusRowBytes: fc.constant(1),
    });
    const offsets = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(offsets, model, (unsorted, costs) => {
        const seqs = unsorted.sort((a, b) => a - b).map(BigInt);
        const { read, why } = explained(seqs, costs);
        const shapes = read.statements.map(({ shape }) => shape);
        expect([why.rangeStatements, why.coveringStatements, why.inStatements]).toEqual(
          ['range', 'covering', 'in'].map((shape) => shapes.filter((used) => used === shape).length),
        );
        // IN lists are always allowed, so nothing dearer is ever chosen.
        if (why.reason !== PlanReason.CONSECUTIVE)
          expect(why.costMicros).toBeLessThanOrEqual(why.inCostMicros);
        switch (why.reason) {
          case PlanReason.CONSECUTIVE:
            expect([why.span, shapes]).toEqual([why.messages, ['range']]);
            break;
          case PlanReason.COVERING_CHEAPER:
            expect([shapes, why.costMicros]).toEqual([['covering'], why.coveringCostMicros]);
            break;
          case PlanReason.IN_CHEAPER:
            expect(why.inStatements).toBe(shapes.length);
            expect(why.coveringCostMicros).toBeGreaterThanOrEqual(why.costMicros);
            break;
          case PlanReason.PIECES_CHEAPER:
            expect(shapes.length).toBeGreaterThan(1);
            expect(why.coveringCostMicros).toBeGreaterThanOrEqual(why.costMicros);
            break;
          case PlanReason.SURPLUS_BOUND:
            expect(why.coveringCostMicros).toBeLessThan(why.costMicros);
            expect(why.span - why.messages).toBeGreaterThan(
              Math.floor(costs.surplusBytesMax / Math.ceil(why.messages / costs.inCap)),
            );
        }
      }),
      { numRuns: 500 },
    );
  });
});
