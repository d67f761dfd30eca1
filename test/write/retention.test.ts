import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatUuid } from '../../src/domain/ids.js';
import { TTL_SECONDS_MAX } from '../../src/domain/limits.js';
import { RetentionClass } from '../../src/domain/message.js';
import { Retention } from '../../src/write/retention.js';
import { beyond2038, NO_POLICIES, parseRetentionPolicies } from '../../src/write/retention-policies.js';
import { tenant } from '../stores/fixtures.js';

const NOW_MS = 1_750_000_000_000;
const TENANT = tenant();
const { DEFAULT, EPHEMERAL_24H, COMPLIANCE_HOLD, TENANT_CUSTOM } = RetentionClass;

function retention(json: unknown = {}): { retention: Retention; unknown: () => number } {
  let unknown = 0;
  return {
    retention: new Retention(parseRetentionPolicies(json), () => unknown++),
    unknown: () => unknown,
  };
}

function row(ageMs: number, retentionClass: number | undefined = DEFAULT) {
  return { retentionClass, createdAtMs: BigInt(NOW_MS - ageMs) };
}

describe('policies (R3.4)', () => {
  const uuid = formatUuid(TENANT);
  it.each<[string, unknown, string[]]>([
    ['no object', [], ['retention: not an object']],
    ['an unknown name', { default_days: 30 }, ['"default_days"']],
    ['tenants that are no object', { tenants: 5 }, ['retention.tenants: not an object']],
    ['a tenant that is no uuid', { tenants: { acme: {} } }, ['tenant acme: not a uuid']],
    ['a policy that is no object', { tenants: { [uuid]: 30 } }, [`tenant ${uuid}: not an object`]],
    ['an unknown policy', { tenants: { [uuid]: { forever: true } } }, [`tenant ${uuid}: "forever"`]],
    [
      'B14: 0 seconds',
      { tenants: { [uuid]: { custom_seconds: 0 } } },
      [`tenant ${uuid}: custom_seconds: 0 is not`],
    ],
    ['half a second', { default_seconds: 0.5 }, ['retention.default_seconds: 0.5 is not']],
    ['a text', { default_seconds: '30' }, ['"30" is not']],
    [
      'B14: more than 20 years',
      { tenants: { [uuid]: { default_seconds: TTL_SECONDS_MAX + 1 } } },
      [`tenant ${uuid}: default_seconds: 630720001 is not`],
    ],
    ['a tenant given twice', { tenants: { [uuid]: {}, [uuid.toUpperCase()]: {} } }, ['given twice']],
    ['two problems at once', { default_seconds: -1, tenants: { x: {} } }, ['-1 is not', 'tenant x']],
  ])('refuse %s and name it', (_, json, texts) => {
    let message = '';
    try {
      parseRetentionPolicies(json);
    } catch (error) {
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      message = (error as Error).message;
    }
    for (const text of texts) expect(message).toContain(text);
  });

  it('B14: take 20 years exactly', () => {
    const { retention: kept } = retention({ default_seconds: TTL_SECONDS_MAX });
    expect(kept.ttlFor(TENANT, row(0), NOW_MS)).toBe(TTL_SECONDS_MAX);
  });

  it('name those that a store without dates after 2038 would refuse', () => {
    const now = Date.UTC(2036, 0, 1);
    const policies = parseRetentionPolicies({
      default_seconds: 86_400,
      tenants: { [formatUuid(TENANT)]: { default_seconds: 86_400 * 365 * 5, custom_seconds: 86_400 * 900 } },
    });
    expect(beyond2038(policies, now)).toEqual([
      `default_seconds of tenant ${formatUuid(TENANT)}`,
      `custom_seconds of tenant ${formatUuid(TENANT)}`,
    ]);
    expect(beyond2038(NO_POLICIES, now)).toEqual([]);
    expect(beyond2038({ ...policies, defaultSeconds: TTL_SECONDS_MAX }, NOW_MS)[0]).toBe(
      'default_seconds of every tenant',
    );
  });
});

describe('ttlFor (R3.1)', () => {
  it('fails closed and counts for an unknown class or tenant_custom policy', () => {
    const { retention: kept, unknown } = retention();
    expect(kept.ttlFor(TENANT, row(1e12, TENANT_CUSTOM), NOW_MS)).toBeUndefined();
    expect(unknown()).toBe(1);
    expect(kept.ttlFor(TENANT, row(1e12, 9), NOW_MS)).toBeUndefined();
    expect(unknown()).toBe(2);
    expect(kept.ttlFor(TENANT, row(0, COMPLIANCE_HOLD), NOW_MS)).toBeUndefined();
    expect(unknown()).toBe(2);
  });

  it('is what the class says: 30 days, the tenant’s, 24 hours, the tenant’s own', () => {
    const uuid = formatUuid(TENANT);
    const { retention: kept } = retention({
      default_seconds: 50,
      tenants: { [uuid]: { default_seconds: 70, custom_seconds: 90 } },
    });
    expect(retention().retention.ttlFor(TENANT, row(0), NOW_MS)).toBe(2_592_000);
    expect(retention().retention.ttlFor(TENANT, row(0, undefined), NOW_MS)).toBe(2_592_000);
    expect(kept.ttlFor(tenant(), row(0), NOW_MS)).toBe(50);
    expect(kept.ttlFor(TENANT, row(0), NOW_MS)).toBe(70);
    expect(kept.ttlFor(TENANT, row(0, EPHEMERAL_24H), NOW_MS)).toBe(86_400);
    expect(kept.ttlFor(TENANT, row(0, TENANT_CUSTOM), NOW_MS)).toBe(90);
  });

  it.each([
    ['1 s left', 29_000, 1],
    ['0.999 s left', 29_001, 'expired'],
    ['0.4 s left', 29_600, 'expired'],
    ['0 left', 30_000, 'expired'],
    ['its end passed', 31_000, 'expired'],
    ['1.999 s left', 28_001, 1],
    ['a clock an hour behind', -3_600_000, 30],
    ['a clock an hour ahead', 3_600_000, 'expired'],
  ] as const)('B14: of 30 s with %s', (_, ageMs, expected) => {
    const { retention: kept } = retention({ default_seconds: 30 });
    expect(kept.ttlFor(TENANT, row(ageMs), NOW_MS)).toBe(expected);
  });

  it('B14: never 0, never above the policy, and no row outlives it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: TTL_SECONDS_MAX }),
        fc.integer({ min: -4_000_000, max: 2 ** 40 }),
        (seconds, ageMs) => {
          const { retention: kept } = retention({ default_seconds: seconds });
          const ttl = kept.ttlFor(TENANT, row(ageMs), NOW_MS);
          if (ttl === 'expired') expect(seconds * 1000 - ageMs).toBeLessThan(1000);
          else {
            expect(Number.isInteger(ttl)).toBe(true);
            expect(ttl).toBeGreaterThanOrEqual(1);
            expect(Math.max(0, ageMs) + (ttl as number) * 1000).toBeLessThanOrEqual(seconds * 1000);
          }
        },
      ),
    );
  });
});
