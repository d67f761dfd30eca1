/**
 * How long rows live (R3.1, D8): the TTL that remains of a row's retention, by its tenant's policies. Pure but for the
 * counting of policies that are not known. The policies are validated where they are read (retention-policies.ts).
 */
import type { TenantId } from '../domain/ids.js';
import { idKeyAt } from '../domain/ids.js';
import { EPHEMERAL_SECONDS, RETENTION_SECONDS_DEFAULT } from '../domain/limits.js';
import { RetentionClass } from '../domain/message.js';
import type { RetentionPolicies } from './retention-policies.js';

/** Whole seconds from 1 on; undefined = no expiry; 'expired' = less than a second is left: nothing may be written. */
export type RemainingLife = number | undefined | 'expired';

/** What decides a row's life. */
export interface RetainedRow {
  /** Absent in rows of foreign writers: the default. */
  readonly retentionClass: number | undefined;
  readonly createdAtMs: bigint;
}

export class Retention {
  readonly #policies: RetentionPolicies;
  readonly #onUnknown: () => void;

  /** `onUnknown` is told of every row whose policy is not known: it does not expire, and somebody must look (R3.1). */
  constructor(policies: RetentionPolicies, onUnknown: () => void) {
    this.#policies = policies;
    this.#onUnknown = onUnknown;
  }

  /**
   * What remains now. Rounded down, as the store rounds its clock down, so that a row never outlives its policy. A
   * created_at in the future (a clock that was ahead, B14) counts as now: no row gets more than its whole retention.
   */
  ttlFor(tenantId: TenantId, row: RetainedRow, nowEpochMs: number): RemainingLife {
    const retentionSeconds = this.#secondsOf(tenantId, row.retentionClass);
    if (retentionSeconds === undefined) return undefined;
    const ageMs = Math.max(0, nowEpochMs - Number(row.createdAtMs));
    const remainingSeconds = Math.floor(retentionSeconds - ageMs / 1000);
    return remainingSeconds < 1 ? 'expired' : remainingSeconds;
  }

  #secondsOf(tenantId: TenantId, retentionClass: number | undefined): number | undefined {
    const tenant = this.#policies.tenants.get(idKeyAt(tenantId, 0));
    switch (retentionClass) {
      case undefined:
      case RetentionClass.DEFAULT:
        return tenant?.defaultSeconds ?? this.#policies.defaultSeconds ?? RETENTION_SECONDS_DEFAULT;
      case RetentionClass.EPHEMERAL_24H:
        return EPHEMERAL_SECONDS;
      case RetentionClass.COMPLIANCE_HOLD:
        return undefined;
      case RetentionClass.TENANT_CUSTOM:
        if (tenant?.customSeconds !== undefined) return tenant.customSeconds;
    }
    // Fails closed: an unknown class or policy must not destroy what should have been kept.
    this.#onUnknown();
    return undefined;
  }
}
