/** How a row of client_dedup is recognised as a writer's own (D16): the same for both stores. Pure. */
import { equalIdAt } from './ids.js';
import { type DedupEntry, DedupState } from './write-ports.js';

/** True when both name the same message: ids are assigned once, so a row that has them was written for it. */
export function namesSameMessage(a: DedupEntry, b: DedupEntry): boolean {
  return a.seq === b.seq && equalIdAt(a.messageId, 0, b.messageId, 0);
}

/**
 * What a reservation that met a row answers: undefined where the row is its own, left by a call whose answer was lost
 * (D16). An own row that is COMMITTED is told as such: somebody who retried went on with its ids, and it is done.
 */
export function reservationAnswer(found: DedupEntry, own: DedupEntry): DedupEntry | undefined {
  return found.state === DedupState.RESERVED && namesSameMessage(found, own) ? undefined : found;
}
