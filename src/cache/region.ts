/**
 * The shared region: its memory, its header, and how a thread gets at it. Made once by the writer; everyone else
 * attaches by descriptor. Nothing here changes the directory or the arena.
 *
 * The lease is the writer's sign of life: readers in other threads or processes treat a lapsed one, and a generation
 * that is not the one they attached to, as all misses. Fails with REGION_INVALID.
 */
import { randomBytes } from 'node:crypto';
import { MailjoinError } from '../domain/errors.js';
import { REGION_BYTES_MIN } from '../domain/limits.js';
import {
  type Geometry,
  geometryOf,
  HEADER_BASE_F64,
  HEADER_GENERATION,
  HEADER_LEASE_UNTIL,
  HEADER_MAGIC,
  HEADER_REGION_UNITS,
  HEADER_SEED_HI,
  HEADER_SEED_LO,
  HEADER_VERSION,
  LAYOUT_VERSION,
  LEASE_TICK_MS,
  MAGIC,
  REGION_BYTES_MAX,
  UNIT_BYTES,
} from './layout.js';

/** What another thread needs to attach; can be posted to it. A mapped file will be another kind. */
export interface RegionDescriptor {
  readonly kind: 'shared';
  readonly buffer: SharedArrayBuffer;
  readonly generation: number;
}

export interface RegionOptions {
  /** Size in bytes, REGION_BYTES_MIN … 4 GiB; what does not fill a bucket is left out. */
  readonly regionBytes: number;
  /** The monotonic clock now; leases count from here. */
  readonly nowMs: number;
  /** Three 32-bit numbers: generation and hash seeds. Random by default; given by tests only. */
  readonly random?: readonly [number, number, number];
}

export class Region {
  readonly buffer: SharedArrayBuffer;
  readonly geometry: Geometry;
  /** The region as it is attached to; compared with the header at every use by a reader. */
  readonly generation: number;
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly floats: Float64Array;

  private constructor(buffer: SharedArrayBuffer, geometry: Geometry, generation: number) {
    this.buffer = buffer;
    this.geometry = geometry;
    this.generation = generation;
    this.bytes = new Uint8Array(buffer);
    this.words = new Int32Array(buffer);
    this.floats = new Float64Array(buffer);
  }

  /** A new, empty region, owned by the calling thread, its lease not yet granted. */
  static create(options: RegionOptions): Region {
    const { regionBytes, nowMs } = options;
    if (!(regionBytes >= REGION_BYTES_MIN && regionBytes <= REGION_BYTES_MAX)) {
      throw new MailjoinError(
        'REGION_INVALID',
        `${regionBytes} bytes are outside ${REGION_BYTES_MIN} to ${REGION_BYTES_MAX}`,
      );
    }
    const geometry = geometryOf(regionBytes);
    const [generation, seedHi, seedLo] = options.random ?? randomWords();
    const region = new Region(
      new SharedArrayBuffer(geometry.regionBytes),
      geometry,
      // 0 means retired.
      generation | 0 || 1,
    );
    const { words, floats } = region;
    words[HEADER_VERSION] = LAYOUT_VERSION;
    words[HEADER_REGION_UNITS] = geometry.regionBytes / UNIT_BYTES;
    words[HEADER_SEED_HI] = seedHi;
    words[HEADER_SEED_LO] = seedLo;
    floats[HEADER_BASE_F64] = nowMs;
    words[HEADER_GENERATION] = region.generation;
    // Last, and ordered after the rest: who sees the magic sees a whole header.
    Atomics.store(words, HEADER_MAGIC, MAGIC);
    return region;
  }

  /** The region behind a descriptor. The buffer itself is shared, never cloned. */
  static attach(descriptor: RegionDescriptor): Region {
    const { buffer, generation } = descriptor;
    if (buffer.byteLength < REGION_BYTES_MIN) throw new MailjoinError('REGION_INVALID', 'it is too small');
    const header = new Int32Array(buffer, 0, HEADER_REGION_UNITS + 1);
    if (Atomics.load(header, HEADER_MAGIC) !== MAGIC) {
      throw new MailjoinError('REGION_INVALID', 'it does not begin like one');
    }
    if (header[HEADER_VERSION] !== LAYOUT_VERSION) {
      throw new MailjoinError(
        'REGION_INVALID',
        `its layout is version ${header[HEADER_VERSION]}, this is version ${LAYOUT_VERSION}`,
      );
    }
    if (Atomics.load(header, HEADER_GENERATION) !== generation) {
      throw new MailjoinError('REGION_INVALID', 'it is retired, or of another generation');
    }
    const regionBytes = ((header[HEADER_REGION_UNITS] as number) >>> 0) * UNIT_BYTES;
    if (regionBytes !== buffer.byteLength)
      throw new MailjoinError('REGION_INVALID', 'its size is not the stated one');
    return new Region(buffer, geometryOf(regionBytes), generation);
  }

  get descriptor(): RegionDescriptor {
    return { kind: 'shared', buffer: this.buffer, generation: this.generation };
  }

  get seedHi(): number {
    return this.words[HEADER_SEED_HI] as number;
  }

  get seedLo(): number {
    return this.words[HEADER_SEED_LO] as number;
  }

  /** Writer only: readers may use the region until then (rounded down to LEASE_TICK_MS). */
  grantLease(untilMs: number): void {
    Atomics.store(this.words, HEADER_LEASE_UNTIL, this.#ticksAt(untilMs));
  }

  /** Writer only: nothing in the region may be served any more, by anyone. */
  retire(): void {
    Atomics.store(this.words, HEADER_GENERATION, 0);
    Atomics.store(this.words, HEADER_LEASE_UNTIL, 0);
  }

  /** Whether a reader may use the region: the writer lives and the region is the one attached to. */
  isServable(nowMs: number): boolean {
    if (Atomics.load(this.words, HEADER_GENERATION) !== this.generation) return false;
    const untilTicks = Atomics.load(this.words, HEADER_LEASE_UNTIL) >>> 0;
    return this.#ticksAt(nowMs) < untilTicks;
  }

  /** Units from the region's start to its end. */
  get units(): number {
    return this.geometry.regionBytes / UNIT_BYTES;
  }

  #ticksAt(timeMs: number): number {
    return Math.max(0, Math.floor((timeMs - (this.floats[HEADER_BASE_F64] as number)) / LEASE_TICK_MS));
  }
}

function randomWords(): [number, number, number] {
  const bytes = randomBytes(12);
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8)];
}
