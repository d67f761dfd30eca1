/**
 * Takes bodies back out of a batch's response that an event or a destroyed key, heard while the batch waited for others,
 * has outdated: hits are copied when a batch is planned, and it may wait for its misses until its deadline. So nothing
 * leaves that was recalled, edited or erased before the response was made (S-7, B16, B37); its entry is NOT_YET: asked
 * for again, it is found or read anew. Runs only where something was heard meanwhile. Synchronous.
 */
import { decodeMessageBody } from '../codec/message-body.js';
import { isBelow } from '../domain/floor.js';
import { ID_BYTES, type MessageId } from '../domain/ids.js';
import { type BodyCache, type Floor, type Keyring, NO_BODY } from '../domain/ports.js';
import type { Batch } from './batch.js';
import { idTailAt } from './heard-events.js';

/** What was heard while a batch waited. */
export interface Heard {
  /** Tails of the ids of messages that were recalled or edited; undefined = of any. */
  readonly events: ReadonlySet<number> | undefined;
  readonly keysDestroyed: boolean;
}

/**
 * A hit does not name its key: where keys were destroyed, those go that the cache does not have any more, as what the key
 * has sealed; few of the others are evicted in that time. What was read names it, cached or not.
 */
export function withdrawOutdated(
  cache: Pick<BodyCache, 'floorOf' | 'find'>,
  keyring: Pick<Keyring, 'isDestroyed'>,
  batch: Batch,
  { events, keysDestroyed }: Heard,
  nowMs: number,
): void {
  const { bytes, count, messageAt } = batch.entries;
  const mayBeHeard = (index: number): boolean =>
    events === undefined || events.has(idTailAt(bytes, messageAt[index] as number));
  if (!keysDestroyed && events !== undefined) {
    let index = 0;
    while (index < count && !mayBeHeard(index)) index++;
    if (index === count) return;
  }
  const { tenantId } = batch.request;
  batch.withdraw((index, code, body, dekId) => {
    const at = batch.point(index);
    if (mayBeHeard(index)) {
      // A view of exactly an id's bytes.
      const messageId = at.bytes.subarray(at.messageAt, at.messageAt + ID_BYTES) as MessageId;
      const floor = cache.floorOf(tenantId, messageId);
      if (floor !== undefined && isOutdated(body, code, floor)) return true;
    }
    if (!keysDestroyed || dekId === undefined) return false;
    return dekId === 'cached' ? cache.find(at, nowMs) === NO_BODY : keyring.isDestroyed(dekId);
  });
}

/** Whether a body shows less than an event of its content; of its reactions a response may be a moment old. */
function isOutdated(body: Uint8Array, code: number, floor: Floor): boolean {
  return isBelow(floor, decodeMessageBody(body).lastActivityId, 0, floor.summaryVersion, code);
}
