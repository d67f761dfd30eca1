/**
 * How fresh what is cached must be: the join asks before it serves hits and when it caches a body. Without a log the
 * age is fixed; with one it depends on how far behind the log's follower is (src/follow).
 */

export interface Freshness {
  /** Called before any hit of a batch is served, synchronously: whoever follows the log may drop the cache here. */
  check(nowMs: number): void;
  /** How long after its read a body may be cached, for a read that was sent at this time; in ms. */
  ageMsMax(sentAtMs: number): number;
}

/** The bound without a log: nothing tells of changes, so age alone limits staleness. */
export function fixedAge(ageMsMax: number): Freshness {
  return { check: () => {}, ageMsMax: () => ageMsMax };
}
