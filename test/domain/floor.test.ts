import { describe, expect, it } from 'vitest';
import { isBelow } from '../../src/domain/floor.js';
import { ResultCode } from '../../src/domain/result.js';
import { activity } from '../cache/cache-fixture.js';

describe('isBelow', () => {
  it('compares revisions as 16-byte numbers and versions as numbers', () => {
    const floor = { activityId: activity(256), summaryVersion: 5n };
    expect(isBelow(floor, activity(255), 0, 5n, ResultCode.OK)).toBe(true);
    expect(isBelow(floor, activity(256), 0, 4n, ResultCode.OK)).toBe(true);
    expect(isBelow(floor, activity(256), 0, 5n, ResultCode.OK)).toBe(false);
    expect(isBelow({ ...floor, activityId: undefined }, activity(0), 0, 5n, ResultCode.OK)).toBe(false);
  });

  it('S-7: has every body with content below a recall’s, whatever its revision', () => {
    const floor = { activityId: activity(256), summaryVersion: 0n, recalled: true };
    expect(isBelow(floor, activity(999), 0, 0n, ResultCode.OK)).toBe(true);
    expect(isBelow(floor, activity(256), 0, 0n, ResultCode.RECALLED)).toBe(false);
    expect(isBelow(floor, activity(255), 0, 0n, ResultCode.RECALLED)).toBe(true);
  });
});
