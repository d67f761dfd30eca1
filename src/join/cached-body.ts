/** A published body of the cache as a batch's source: one object, pointed at one body after the other. */
import type { BodyCache, BodyHandle } from '../domain/ports.js';
import { NO_BODY } from '../domain/ports.js';
import type { BodySource } from './batch.js';

export class CachedBody implements BodySource {
  private readonly cache: BodyCache;
  private handle: BodyHandle = NO_BODY;

  constructor(cache: BodyCache) {
    this.cache = cache;
  }

  /** Points at a body that was found in this tick. */
  at(handle: BodyHandle): this {
    this.handle = handle;
    return this;
  }

  readonly dekId = 'cached';

  get code(): number {
    return this.cache.codeOf(this.handle);
  }

  get bodyBytes(): number {
    return this.cache.bodyBytes(this.handle);
  }

  meetsFloor(floorBytes: Uint8Array, floorAt: number, summaryVersion: bigint): boolean {
    return this.cache.meetsFloor(this.handle, floorBytes, floorAt, summaryVersion);
  }

  copyTo(target: Uint8Array, at: number): void {
    this.cache.copyBody(this.handle, target, at);
  }
}
