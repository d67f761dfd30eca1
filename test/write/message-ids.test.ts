import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ActivityId, MessageId } from '../../src/domain/ids.js';
import {
  conversationCheck,
  endOfMs,
  eventPrefix,
  IdGenerator,
  idOf,
  insertMicros,
  isOfConversation,
  justAbove,
  prefixOf,
  revisionAbove,
  revisionMicros,
} from '../../src/write/message-ids.js';
import { SetClock } from '../embedded/embedded-fixtures.js';
import { conversation } from '../stores/fixtures.js';

const prefix = fc.bigInt({ min: 0n, max: (1n << 63n) - 1n });
const createdAtMs = fc.bigInt({ min: 0n, max: (1n << 47n) - 1n });

function revisionOf(value: bigint): ActivityId {
  return idOf(value, 7) as ActivityId;
}

describe('ids', () => {
  it('lay out milliseconds, counter, check and random bits, and differ in the random ones', () => {
    const conversationId = conversation();
    const check = conversationCheck(conversationId);
    const id = Buffer.from(idOf((0x0190_a1b2_c3d4n << 16n) | 0xbeefn, check));
    expect(id.subarray(0, 8).toString('hex')).toBe('0190a1b2c3d4beef');
    expect(id.readUInt32BE(8)).toBe(check);
    expect(isOfConversation(id as Uint8Array as MessageId, conversationId)).toBe(true);
    const random = new Set(Array.from({ length: 100 }, () => Buffer.from(idOf(1n, 1)).readUInt32BE(12)));
    expect(random.size).toBeGreaterThan(95);
  });

  it('go on from the last one when the clock is set back, and carry over into the next millisecond', () => {
    const clock = new SetClock();
    const ids = new IdGenerator(clock);
    let last = ids.nextPrefix();
    const firstMs = last >> 16n;
    clock.ms -= 3_600_000;
    for (let count = 0; count < 70_000; count++) {
      const next = ids.nextPrefix();
      expect(next).toBe(last + 1n);
      last = next;
    }
    expect(last >> 16n).toBeGreaterThan(firstMs);
  });

  it('of one conversation that is ahead do not drag the others along', () => {
    const clock = new SetClock();
    const ids = new IdGenerator(clock);
    const ahead = endOfMs(BigInt(clock.ms + 3_600_000));
    expect(ids.nextPrefix(ahead)).toBe(ahead + 1n);
    expect(ids.nextPrefix() >> 16n).toBe(BigInt(clock.ms));
  });

  it('are refused where a stored revision leaves no room', () => {
    const last = revisionOf((1n << 64n) - 1n);
    const former = { createdAtMs: 0n, lastActivityId: last };
    expect(() => eventPrefix(5n, former)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
    expect(() => justAbove(former)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  });
});

describe('timestamps (D14)', () => {
  it('rise with the revision', () => {
    fc.assert(
      fc.property(prefix, prefix, (a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(revisionMicros(revisionOf(high))).toBeGreaterThanOrEqual(revisionMicros(revisionOf(low)));
        expect(revisionMicros(revisionOf(low)) / 1000n).toBe(low >> 16n);
      }),
    );
  });

  it('of an event lie above the row’s INSERT and its former revision', () => {
    fc.assert(
      fc.property(prefix, prefix, createdAtMs, (wanted, lastPrefix, created) => {
        const former = { createdAtMs: created, lastActivityId: revisionOf(lastPrefix) };
        const revision = revisionOf(eventPrefix(wanted, former));
        expect(revisionMicros(revision)).toBeGreaterThan(insertMicros(created));
        expect(revisionMicros(revision)).toBeGreaterThan(revisionMicros(former.lastActivityId));
      }),
    );
  });

  it('of a hold lie above what it read, and below an event on the same row', () => {
    fc.assert(
      fc.property(prefix, createdAtMs, (lastPrefix, created) => {
        // A counter in the lower half, as ids begin.
        const lastActivityId = revisionOf(lastPrefix & ~0x8000n);
        const former = { createdAtMs: created, lastActivityId };
        const hold = revisionMicros(revisionOf(justAbove(former)));
        expect(hold).toBeGreaterThan(insertMicros(created));
        expect(hold).toBeGreaterThan(revisionMicros(lastActivityId));
        expect(hold).toBeLessThan(revisionMicros(revisionOf(eventPrefix(0n, former))));
      }),
    );
  });

  it('of a repeated event are its own, unless the row is above it by now', () => {
    const assigned = revisionOf(endOfMs(1000n));
    const below = { createdAtMs: 1n, lastActivityId: revisionOf(endOfMs(999n)) };
    expect(revisionAbove(below, assigned)).toBe(assigned);
    const above = { createdAtMs: 1n, lastActivityId: revisionOf(endOfMs(2000n)) };
    const raised = revisionAbove(above, assigned);
    expect(prefixOf(raised) >> 16n).toBe(2001n);
    expect(Buffer.from(raised).readUInt32BE(8)).toBe(7);
  });
});
