/** The one rule of floors (D14): what lies below one is neither served nor cached. Pure. */
import { compareIdAt } from './ids.js';
import type { Floor } from './ports.js';
import { ResultCode } from './result.js';

/**
 * Whether a body lies below a floor: by its revision, 16 bytes at `revisionAt`, or none; by its summary's version; and of
 * a recalled message every body with content, whatever its revision.
 */
export function isBelow(
  floor: Floor,
  revision: Uint8Array | undefined,
  revisionAt: number,
  summaryVersion: bigint,
  code: number,
): boolean {
  if (summaryVersion < floor.summaryVersion) return true;
  if (floor.recalled === true && code !== ResultCode.RECALLED) return true;
  if (floor.activityId === undefined) return false;
  return revision === undefined || compareIdAt(revision, revisionAt, floor.activityId, 0) < 0;
}
