import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HeadFence, headTimestamp, isSuperseded, previewOf, senderOf } from '../../src/domain/head.js';
import { SEQ_MAX } from '../../src/domain/seq.js';
import type { ConversationHead } from '../../src/domain/write-ports.js';

const fence = fc.record({
  fencingEpoch: fc.bigInt({ min: 0n, max: 2n ** 23n - 1n }),
  headVersion: fc.bigInt({ min: 1n, max: 2n ** 40n - 1n }),
});

const headOf = (given: Partial<HeadFence>): ConversationHead => ({
  latestSeq: undefined,
  earliestAvailableSeq: undefined,
  lastMessageId: undefined,
  lastActivityId: undefined,
  lastSenderId: undefined,
  preview: undefined,
  memberCount: undefined,
  updatedAtMs: undefined,
  fencingEpoch: given.fencingEpoch,
  headVersion: given.headVersion,
});

describe('the fence of a head (D2)', () => {
  it('B49 orders by epoch, then by version, and fits a signed 64-bit timestamp', () => {
    fc.assert(
      fc.property(fence, fence, (a, b) => {
        const [first, second] = [headTimestamp(a), headTimestamp(b)];
        expect(first > 0n && first <= SEQ_MAX).toBe(true);
        const isLess =
          a.fencingEpoch < b.fencingEpoch ||
          (a.fencingEpoch === b.fencingEpoch && a.headVersion < b.headVersion);
        expect(first < second).toBe(isLess);
        expect(isSuperseded(headOf(b), a)).toBe(isLess);
      }),
    );
  });

  it('nothing supersedes where no head is, or one that no owner has written', () => {
    const mine = { fencingEpoch: 1n, headVersion: 1n };
    expect(isSuperseded(undefined, mine)).toBe(false);
    expect(isSuperseded(headOf({}), mine)).toBe(false);
    expect(isSuperseded(headOf(mine), mine)).toBe(false);
  });

  it('reads what stands for none as undefined', () => {
    expect(previewOf(new Uint8Array(0))).toBeUndefined();
    expect(previewOf(Uint8Array.of(0))).toEqual(Uint8Array.of(0));
    expect(senderOf(undefined)).toBeUndefined();
  });
});
