/**
 * The mapping from tenant to retention (R3.4) as configuration, validated at start: every problem at once, each naming
 * its tenant. CONFIG_INVALID.
 *
 *     { "default_seconds": 2592000,
 *       "tenants": { "00112233-4455-6677-8899-aabbccddeeff": { "default_seconds": 7776000, "custom_seconds": 3600 } } }
 *
 * Seconds are whole, from 1 to 20 years (D8). Cassandra before 5.0, and 5.0 in a compatibility mode, refuses a TTL that
 * ends after 2038-01-19: `beyond2038` names the policies that such a store would refuse, for a warning at start.
 */
import { MailjoinError } from '../domain/errors.js';
import { formatUuid, idKeyAt, parseUuid } from '../domain/ids.js';
import { TTL_SECONDS_MAX } from '../domain/limits.js';

export interface TenantRetention {
  /** For retention_class default; undefined = everybody's. */
  readonly defaultSeconds: number | undefined;
  /** For retention_class tenant_custom; undefined = not known, so such rows do not expire (R3.1). */
  readonly customSeconds: number | undefined;
}

export interface RetentionPolicies {
  /** For tenants without an own default; undefined = 30 days. */
  readonly defaultSeconds: number | undefined;
  /** By idKeyAt of the tenant's 16 bytes. */
  readonly tenants: ReadonlyMap<string, TenantRetention>;
}

/** Every tenant keeps the default of 30 days, and nobody has a tenant_custom. */
export const NO_POLICIES: RetentionPolicies = { defaultSeconds: undefined, tenants: new Map() };

/** 2038-01-19T03:14:06Z: the last second that 32 signed bits of an expiry date can say, one kept for "never". */
const EXPIRY_S_MAX_32_BIT = 2 ** 31 - 2;
const TOP_NAMES = ['default_seconds', 'tenants'];
const TENANT_NAMES = ['default_seconds', 'custom_seconds'];

/** Policies from a parsed JSON value; CONFIG_INVALID names each problem with its tenant. */
export function parseRetentionPolicies(json: unknown): RetentionPolicies {
  const { policies, problems } = retentionPoliciesOf(json);
  if (problems.length > 0) throw new MailjoinError('CONFIG_INVALID', problems.join('; '));
  return policies;
}

/** Policies from a parsed JSON value, and each problem with its tenant: with one, the policies are not to be used. */
export function retentionPoliciesOf(json: unknown): {
  readonly policies: RetentionPolicies;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const top = fieldsOf(json, TOP_NAMES, 'retention', problems);
  const defaultSeconds = secondsOf(top.get('default_seconds'), 'retention.default_seconds', problems);
  const tenants = new Map<string, TenantRetention>();
  const given = top.get('tenants');
  for (const [text, policy] of given === undefined ? [] : entriesOf(given, 'retention.tenants', problems)) {
    const where = `tenant ${text}`;
    const tenantId = parseUuid(text);
    if (tenantId === undefined) {
      problems.push(`${where}: not a uuid`);
      continue;
    }
    const key = idKeyAt(tenantId, 0);
    if (tenants.has(key)) problems.push(`${where}: given twice`);
    const fields = fieldsOf(policy, TENANT_NAMES, where, problems);
    tenants.set(key, {
      defaultSeconds: secondsOf(fields.get('default_seconds'), `${where}: default_seconds`, problems),
      customSeconds: secondsOf(fields.get('custom_seconds'), `${where}: custom_seconds`, problems),
    });
  }
  return { policies: { defaultSeconds, tenants }, problems };
}

/** The policies under which a row written now would expire after 2038-01-19, in words. */
export function beyond2038(policies: RetentionPolicies, nowEpochMs: number): readonly string[] {
  const secondsMax = EXPIRY_S_MAX_32_BIT - Math.ceil(nowEpochMs / 1000);
  const found: string[] = [];
  const look = (seconds: number | undefined, what: string): void => {
    if (seconds !== undefined && seconds > secondsMax) found.push(what);
  };
  look(policies.defaultSeconds, 'default_seconds of every tenant');
  for (const [key, { defaultSeconds, customSeconds }] of policies.tenants) {
    const tenant = formatUuid(Buffer.from(key, 'latin1'));
    look(defaultSeconds, `default_seconds of tenant ${tenant}`);
    look(customSeconds, `custom_seconds of tenant ${tenant}`);
  }
  return found;
}

function entriesOf(json: unknown, where: string, problems: string[]): [string, unknown][] {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return Object.entries(json);
  problems.push(`${where}: not an object`);
  return [];
}

function fieldsOf(
  json: unknown,
  names: readonly string[],
  where: string,
  problems: string[],
): ReadonlyMap<string, unknown> {
  const entries = entriesOf(json, where, problems);
  for (const [name] of entries) {
    if (!names.includes(name)) problems.push(`${where}: "${name}" is not one of ${names.join(', ')}`);
  }
  return new Map(entries);
}

function secondsOf(json: unknown, where: string, problems: string[]): number | undefined {
  if (json === undefined) return undefined;
  if (typeof json === 'number' && Number.isInteger(json) && json >= 1 && json <= TTL_SECONDS_MAX) return json;
  problems.push(
    `${where}: ${JSON.stringify(json)} is not whole seconds from 1 to ${TTL_SECONDS_MAX} (20 years)`,
  );
  return undefined;
}
