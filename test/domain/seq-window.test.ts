import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SEQ_MAX } from '../../src/domain/seq.js';
import { type ReservedWindows, windowAfter } from '../../src/domain/seq-window.js';

const request = fc.record({
  count: fc.integer({ min: 1, max: 2 ** 53 - 1 }),
  nowEpochMs: fc.bigInt({ min: 0n, max: 2n ** 45n }),
});

describe('windows of sequence numbers', () => {
  it('S-2 end before 2^63, whatever their size', () => {
    const near = { nextSeq: SEQ_MAX - 1n, reservedAtMs: 0n };
    expect(windowAfter(near, 1, 0n).window.first).toBe(SEQ_MAX - 1n);
    expect(() => windowAfter(near, 2, 0n)).toThrow(expect.objectContaining({ code: 'SEQ_RANGE' }));
  });

  it('B10 follow each other without overlap, and their id floors never fall, whatever the clocks say', () => {
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 50 }), (requests) => {
        let mark: ReservedWindows | undefined;
        let end = 1n;
        let floorMs = 0n;
        for (const { count, nowEpochMs } of requests) {
          const next = windowAfter(mark, count, nowEpochMs);
          expect(next.window.first).toBe(end);
          expect(next.window.idFloorMs >= floorMs && next.window.idFloorMs >= nowEpochMs).toBe(true);
          end += BigInt(count);
          floorMs = next.window.idFloorMs;
          mark = next.mark;
        }
      }),
    );
  });
});
