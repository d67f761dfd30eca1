import { describe, expect, it } from 'vitest';
import { differenceOf } from '../../src/cli/demo-check.js';
import { DEMO_SEED_DEFAULT, demoDataset } from '../../src/cli/demo-data.js';

const outcome = (
  result: 'OK' | 'INVALID' | 'INLINE' | 'NOT_FOUND',
  body?: Uint8Array,
  invalidReason?: string,
) => ({
  result,
  body,
  invalidReason,
});

describe('differenceOf', () => {
  it('finds another result', () => {
    expect(differenceOf({ result: 'OK' }, outcome('NOT_FOUND'))).toBe('NOT_FOUND instead of OK');
  });

  it('finds another reason', () => {
    const expected = { result: 'INVALID', invalidReason: 'SEQ_RANGE' } as const;
    expect(differenceOf(expected, outcome('INVALID', undefined, 'MALFORMED'))).toMatch(
      /MALFORMED instead of/,
    );
    expect(differenceOf(expected, outcome('INVALID', undefined, 'SEQ_RANGE'))).toBeUndefined();
  });

  it('finds another inline body', () => {
    const expected = { result: 'INLINE', inlineBody: Buffer.from('ab') } as const;
    expect(differenceOf(expected, outcome('INLINE', Buffer.from('ac')))).toBe('the inline body differs');
    expect(differenceOf(expected, outcome('INLINE'))).toBe('the inline body differs');
    expect(differenceOf(expected, outcome('INLINE', Buffer.from('ab')))).toBeUndefined();
  });

  it('finds a body too many and a body too few', () => {
    expect(differenceOf({ result: 'NOT_FOUND' }, outcome('NOT_FOUND', Buffer.alloc(1)))).toMatch(
      /with a body/,
    );
    const { expected } = demoDataset(DEMO_SEED_DEFAULT, 1_767_000_000_000).messages[0] ?? {};
    expect(expected && differenceOf({ ...expected, result: 'OK' }, outcome('OK'))).toBe('OK without a body');
  });
});
