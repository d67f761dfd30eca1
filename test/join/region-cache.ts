/** A fresh shared cache for a test, with the region's bytes for the opener. */

import { RegionBodyCache } from '../../src/cache/body-cache.js';
import { Region } from '../../src/cache/region.js';
import type { BodyCache } from '../../src/domain/ports.js';

const REGION_BYTES = 8 * 1024 * 1024;

export function regionCache(nowMs: number): { cache: BodyCache; regionBytes: Uint8Array } {
  const region = Region.create({ regionBytes: REGION_BYTES, nowMs });
  return { cache: new RegionBodyCache(region, nowMs), regionBytes: region.bytes };
}
