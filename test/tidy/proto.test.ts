/** Holds the numbers of the domain to those of the wire contract: two lists of the same numbers must not drift. */
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { RequestKind } from '../../src/domain/entries.js';
import { HistoryDirection, HistoryStop, historyStopName } from '../../src/domain/history.js';
import { MessageState } from '../../src/domain/message.js';
import { PlanReason, planReasonName } from '../../src/domain/planned-read.js';
import { InvalidReason, invalidReasonName, ResultCode, resultName } from '../../src/domain/result.js';
import { ROOT } from './source-scan.js';

const contract = protobuf.loadSync(join(ROOT, 'proto', 'mailjoin.proto'));

function enumOf(name: string): Record<string, number> {
  return { ...contract.lookupEnum(`mailjoin.v1.${name}`).values };
}

describe('the wire contract', () => {
  it('has the result codes of the domain', () => {
    expect(enumOf('Result')).toEqual({ ...ResultCode });
  });

  it('has the reasons of INVALID of the domain', () => {
    expect(enumOf('InvalidReason')).toEqual({ ...InvalidReason });
  });

  it('has the kinds of request of the domain, and a zero that is none of them', () => {
    expect(enumOf('Kind')).toEqual({ KIND_UNSPECIFIED: 0, ...RequestKind });
  });

  it('gives each result and reason the name that the JSON form prints', () => {
    for (const [name, code] of Object.entries(enumOf('Result'))) expect(resultName(code)).toBe(name);
    for (const [name, code] of Object.entries(enumOf('InvalidReason')))
      expect(invalidReasonName(code)).toBe(name);
  });

  it('has the directions and stops of history', () => {
    expect(enumOf('HistoryDirection')).toEqual({ ...HistoryDirection });
    const stops = Object.entries(HistoryStop).map(([name, stop]) => [`STOP_${name}`, stop]);
    expect(enumOf('HistoryStop')).toEqual({ STOP_UNSPECIFIED: 0, ...Object.fromEntries(stops) });
    for (const [name, stop] of Object.entries(HistoryStop)) expect(historyStopName(stop)).toBe(name);
  });

  it('has the reasons of a plan, under the names that the JSON form prints', () => {
    expect(enumOf('PlanReason')).toEqual({ PLAN_REASON_UNSPECIFIED: 0, ...PlanReason });
    for (const [name, reason] of Object.entries(PlanReason)) expect(planReasonName(reason)).toBe(name);
  });

  it('has the states that a body can be in: a DELETED message is never joined (D12)', () => {
    const { DELETED: _, RECALLED, ...others } = MessageState;
    expect(enumOf('MessageState')).toEqual({ ...others, STATE_RECALLED: RECALLED });
  });

  it('fits both files together under one parser', () => {
    const both = protobuf.loadSync([
      join(ROOT, 'proto', 'mailjoin.proto'),
      join(ROOT, 'proto', 'common.proto'),
    ]);
    expect(() => both.resolveAll()).not.toThrow();
    expect(Object.keys(both.lookupType('mailjoin.common.v1.MediaMetadata').fields)).toHaveLength(9);
  });
});
