/**
 * The mapping from tenant to retention (R3.4) from its file, validated at start: CONFIG_INVALID with every problem. A
 * policy that an older Cassandra refuses (a row would expire after 2038-01-19) is logged, not refused.
 */
import type { Log } from '../server/log.js';
import {
  beyond2038,
  NO_POLICIES,
  type RetentionPolicies,
  retentionPoliciesOf,
} from '../write/retention-policies.js';
import type { Settings } from './settings.js';
import { SettingsError } from './settings-error.js';
import { type FileProblem, readSettingsJson } from './settings-file.js';

export function loadRetention(
  { retentionFile }: Pick<Settings, 'retentionFile'>,
  log: Log,
  nowEpochMs: number,
): RetentionPolicies {
  if (retentionFile === undefined) return NO_POLICIES;
  const file = read(retentionFile);
  if ('problem' in file) {
    throw new SettingsError([{ setting: 'retentionFile', source: retentionFile, reason: file.problem }]);
  }
  const { policies } = file;
  for (const policy of beyond2038(policies, nowEpochMs))
    log.write('warn', 'retention_beyond_2038', { policy });
  return policies;
}

/** What is wrong with the file, in words; undefined when nothing is. */
export function retentionProblem(path: string): string | undefined {
  const file = read(path);
  return 'problem' in file ? file.problem : undefined;
}

function read(path: string): { readonly policies: RetentionPolicies } | FileProblem {
  const file = readSettingsJson(path);
  if ('problem' in file) return file;
  const { policies, problems } = retentionPoliciesOf(file.content);
  return problems.length === 0 ? { policies } : { problem: problems.join('; ') };
}
