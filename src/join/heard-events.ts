/**
 * Which messages recalls and edits were heard of lately, by a part of their ids: so that of a batch that waited only the
 * bodies concerned are looked at. A ring; what has been overwritten may be any. Owned by the joiner's thread.
 */
import { ID_BYTES, type MessageId } from '../domain/ids.js';
import { HEARD_EVENTS_MAX } from '../domain/limits.js';

export class HeardEvents {
  readonly #tails = new Int32Array(HEARD_EVENTS_MAX);
  #count = 0;

  /** How many were heard so far. */
  get count(): number {
    return this.#count;
  }

  add(messageId: MessageId): void {
    this.#tails[this.#count++ % HEARD_EVENTS_MAX] = idTailAt(messageId, 0);
  }

  /** The tails of those heard after the first `count`; undefined when they may be of any message. */
  since(count: number): ReadonlySet<number> | undefined {
    if (this.#count - count > HEARD_EVENTS_MAX) return undefined;
    const tails = new Set<number>();
    for (let at = count; at < this.#count; at++) tails.add(this.#tails[at % HEARD_EVENTS_MAX] as number);
    return tails;
  }
}

/** The last 32 bits of the id at an offset, which are its random ones. */
export function idTailAt(bytes: Uint8Array, at: number): number {
  const end = at + ID_BYTES;
  return (
    ((bytes[end - 4] as number) << 24) |
    ((bytes[end - 3] as number) << 16) |
    ((bytes[end - 2] as number) << 8) |
    (bytes[end - 1] as number)
  );
}
