/**
 * The mapping from tenant to retention (R3.4) from its file, validated at start: CONFIG_INVALID with every problem. A
 * policy that an older Cassandra refuses (a row would expire after 2038-01-19) is logged, not refused.
 */
import fs from 'node:fs';
import { MailjoinError } from '../domain/errors.js';
import type { Log } from '../server/log.js';
import {
  beyond2038,
  NO_POLICIES,
  parseRetentionPolicies,
  type RetentionPolicies,
} from '../write/retention-policies.js';
import type { Settings } from './settings.js';

export function loadRetention(
  { retentionFile }: Pick<Settings, 'retentionFile'>,
  log: Log,
  nowEpochMs: number,
): RetentionPolicies {
  if (retentionFile === undefined) return NO_POLICIES;
  const policies = parseRetentionPolicies(read(retentionFile));
  for (const policy of beyond2038(policies, nowEpochMs))
    log.write('warn', 'retention_beyond_2038', { policy });
  return policies;
}

function read(path: string): unknown {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is no JSON' : 'cannot be read';
    throw new MailjoinError('CONFIG_INVALID', `retentionFile (${path}) ${reason}`);
  }
}
