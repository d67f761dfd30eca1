/** Capacity: what counts as keeping files from being dropped, the formulas, and b_row of known rows. */
import { describe, expect, it } from 'vitest';
import { measure, partitionBytes, residentBytes } from '../../src/archive/capacity.js';
import { recordBytes } from '../../src/archive/record-bytes.js';
import { type MessageRecord, RetentionClass } from '../../src/domain/message.js';
import type { SampledRow } from '../../src/domain/row-sampling.js';
import { Retention } from '../../src/write/retention.js';
import { NO_POLICIES } from '../../src/write/retention-policies.js';
import { bareRecord, fullRecord, tenant } from '../stores/fixtures.js';

const DAY_S = 86_400;
const NOW_MS = 1_750_000_000_000;
const retention = new Retention(NO_POLICIES, () => undefined);

function row(
  ageS: number,
  ttlSeconds: number | undefined,
  over: Partial<MessageRecord> = {},
  changedAfterS = 0,
): SampledRow {
  const createdAtMs = BigInt(NOW_MS - ageS * 1000);
  const insertedAtMicros = createdAtMs * 1000n;
  return {
    tenantId: tenant(),
    record: fullRecord(1n, { createdAtMs, ttlSeconds, ...over }),
    insertedAtMicros,
    changedAtMicros: insertedAtMicros + BigInt(changedAfterS) * 1_000_000n,
  };
}

function sampleOf(...rows: SampledRow[]) {
  return measure({ rows, disk: undefined }, retention, NOW_MS);
}

describe('measuring', () => {
  it('an empty table has no b_row', () => {
    expect(sampleOf()).toBeUndefined();
  });

  it('a row has the size of its values and of their lengths', () => {
    expect(recordBytes(bareRecord(1n))).toBe(64 + 72 + 16 + 1 + 8);
    const full = fullRecord(1n);
    const texts = Buffer.byteLength('client-é-1') + Buffer.byteLength('app.custom');
    expect(recordBytes(full)).toBe(
      64 + 72 + 4 * 16 + 64 + 32 + 18 + texts + 1 + 4 + 8 + 1 + 8 + 1 + ('conversationk1'.length + 4 + 12),
    );
  });

  it('D21: counts what keeps files from being dropped, each row once', () => {
    const hold = { retentionClass: RetentionClass.COMPLIANCE_HOLD };
    expect(
      sampleOf(
        row(5 * DAY_S, 25 * DAY_S),
        row(DAY_S / 2, DAY_S / 2 - 5, { retentionClass: RetentionClass.EPHEMERAL_24H }),
        row(50 * DAY_S, undefined, hold, 20 * DAY_S),
        row(5 * DAY_S, 30 * DAY_S),
        row(31 * DAY_S, DAY_S),
        row(20 * DAY_S, 10 * DAY_S, {}, 8 * DAY_S),
      ),
    ).toMatchObject({ rows: 6, lasting: 1, longerThanPolicy: 2, changedInLaterWindow: 2, keepingFiles: 4 });
  });

  it('b_row is the disk’s where it is known, else the wire’s', () => {
    const rows = [row(0, DAY_S), row(0, DAY_S, { payload: new Uint8Array(1_064) })];
    const wire = measure({ rows, disk: undefined }, retention, NOW_MS);
    expect(wire?.bRow).toBe(wire?.wire.mean);
    expect((wire?.wire.max ?? 0) - (wire?.wire.median ?? 0)).toBe(0);
    const disk = { bytesPerRow: 1_321, basis: 'pages' };
    expect(measure({ rows, disk }, retention, NOW_MS)).toMatchObject({
      bRow: 1_321,
      disk,
      isDiskOfParts: false,
    });
  });

  it('b_row is the wire’s where the disk’s is less than the values of a row: partitions lie in several files', () => {
    const rows = [row(0, DAY_S, { payload: new Uint8Array(600) })];
    const found = measure({ rows, disk: { bytesPerRow: 246, basis: 'pages' } }, retention, NOW_MS);
    expect(found).toMatchObject({ bRow: found?.wire.mean, disk: undefined, isDiskOfParts: true });
  });
});

describe('the formulas', () => {
  it('R7.1: the start tier of 600 B a row is 15.8 TB', () => {
    const input = { messagesPerDay: 2e7, replicas: 3, days: 365, spaceAmplification: 1.2 };
    expect(residentBytes(input, 600) / 1e12).toBeCloseTo(15.8, 1);
  });

  it('R7.2: a full partition of 600 B a row is 2.4 MB', () => {
    expect(partitionBytes(600) / 1e6).toBeCloseTo(2.4, 0);
  });
});
