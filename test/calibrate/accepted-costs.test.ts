/** Whatever constants a file may have, every group of seqs is planned, explained, and fits the room of a receipt. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseReadCosts } from '../../src/calibrate/read-cost-file.js';
import { emptyReceipt, encodeReceiptField, readReceipt, receiptBytesMax } from '../../src/codec/receipt.js';
import { WireReader } from '../../src/codec/wire.js';
import { PARTITION_ROWS_MAX, READ_COST_MICROS_MAX } from '../../src/domain/limits.js';
import { explainPlan } from '../../src/join/plan-explanation.js';
import { READ_COST_MODEL_DEFAULT } from '../../src/join/read-cost-model.js';
import { planStatements } from '../../src/join/statement-plan.js';
import { conversation, tenant } from '../stores/fixtures.js';

/** Costs of every size, and those at the ends: ratios of 1 : 10^333 among them. */
const micros = fc.oneof(
  fc.constantFrom(0, Number.MIN_VALUE, 1e-300, 1e-9, 1, 650, READ_COST_MICROS_MAX),
  fc.double({ min: 0, max: READ_COST_MICROS_MAX, noNaN: true }),
  fc.integer({ min: -30, max: 9 }).map((exponent) => 10 ** exponent),
);
const costs = fc.record({
  inCap: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(1, 2, 100, PARTITION_ROWS_MAX)),
  statementMicros: micros,
  furtherStatementMicros: micros,
  rangeRowMicros: micros,
  inElementMicros: micros,
});
/** All 0 is refused. */
const constants = costs.filter(({ inCap: _, ...each }) => Object.values(each).some((cost) => cost > 0));
const gaps = fc.oneof(
  fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 200 }),
  fc.array(fc.constantFrom(1, 1, 1, 2, 600), { minLength: 1, maxLength: 200 }),
  fc.constantFrom(Array<number>(300).fill(13), Array<number>(2_048).fill(2), Array<number>(4_096).fill(1)),
);
/** A bucket far up, so that its number is a large one. */
const BUCKET = 2n ** 51n - 1n;
const FIRST = BUCKET * BigInt(PARTITION_ROWS_MAX);

it('a plan reads what was asked for, in no more statements than IN lists would be, and is told whole', () => {
  fc.assert(
    fc.property(constants, gaps, (costs, steps) => {
      const parsed = parseReadCosts({ version: 1, store: 'cql', constants: costs });
      if (!('costs' in parsed)) return expect.fail(parsed.problem);
      const model = { ...READ_COST_MODEL_DEFAULT, ...parsed.costs.constants };
      const seqs: bigint[] = [];
      for (let offset = -1, at = 0; at < steps.length; at++) {
        offset += steps[at] as number;
        if (offset >= PARTITION_ROWS_MAX) break;
        seqs.push(FIRST + BigInt(offset));
      }
      const statements = planStatements(seqs, model);
      expect(statements.length).toBeLessThanOrEqual(Math.ceil(seqs.length / model.inCap));
      const listed = new Set(statements.flatMap((each) => (each.shape === 'in' ? each.seqs : [])));
      const ranges = statements.filter((each) => each.shape !== 'in');
      expect(
        seqs.filter((seq) => !listed.has(seq) && !ranges.some((each) => each.from <= seq && seq <= each.to)),
      ).toEqual([]);
      const longest = Math.max(...statements.map((each) => (each.shape === 'in' ? each.seqs.length : 0)));
      expect(longest).toBeLessThanOrEqual(model.inCap);
      const read = { tenantId: tenant(), conversationId: conversation(), bucket: BUCKET, statements };
      const planned = explainPlan(read, seqs, model);
      const receipt = { ...emptyReceipt(), reads: [planned, planned] };
      const bytes = encodeReceiptField(4, receipt);
      expect(bytes.length).toBeLessThanOrEqual(receiptBytesMax(1));
      const reader = new WireReader(bytes);
      reader.tag();
      expect(readReceipt(new WireReader(reader.view())).reads[1]).toMatchObject({
        messages: planned.messages,
        span: planned.span,
        reason: planned.reason,
        costMicros: Math.round(planned.costMicros),
        coveringCostMicros: Math.round(planned.coveringCostMicros),
        inCostMicros: Math.round(planned.inCostMicros),
      });
    }),
  );
});
