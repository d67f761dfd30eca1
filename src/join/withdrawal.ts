/**
 * Takes bodies back out of a batch's response that an event or a destroyed key, heard while the batch waited for others,
 * has outdated: hits are copied when a batch is planned, and it may wait for its misses until its deadline. So nothing
 * leaves that was recalled, edited or erased before the response was made (S-7, B16, B37); its entry is NOT_YET: asked
 * for again, it is found or read anew. Runs only where something was heard meanwhile. Synchronous.
 */
import { decodeMessageBody } from '../codec/message-body.js';
import { compareIdAt, ID_BYTES, type MessageId } from '../domain/ids.js';
import { type BodyCache, type Floor, NO_BODY } from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import type { Batch } from './batch.js';

/**
 * `keysDestroyed`: whether keys were. A body does not name its key: then those go that the cache does not have any more,
 * as what the key has sealed; few of the others are evicted in that time.
 */
export function withdrawOutdated(
  cache: Pick<BodyCache, 'floorOf' | 'find'>,
  batch: Batch,
  keysDestroyed: boolean,
  nowMs: number,
): void {
  const { tenantId } = batch.request;
  batch.withdraw((index, code, body) => {
    const at = batch.point(index);
    // A view of exactly an id's bytes.
    const messageId = at.bytes.subarray(at.messageAt, at.messageAt + ID_BYTES) as MessageId;
    const floor = cache.floorOf(tenantId, messageId);
    if (floor !== undefined && isOutdated(body, code, floor)) return true;
    return keysDestroyed && cache.find(at, nowMs) === NO_BODY;
  });
}

/** Whether a body shows less than an event of its content; of its reactions a response may be a moment old. */
function isOutdated(body: Uint8Array, code: number, { activityId, recalled }: Floor): boolean {
  if (recalled === true && code !== ResultCode.RECALLED) return true;
  if (activityId === undefined) return false;
  const { lastActivityId } = decodeMessageBody(body);
  return lastActivityId === undefined || compareIdAt(lastActivityId, 0, activityId, 0) < 0;
}
