/**
 * Whether the disk beneath the file has room for another group of writes. LMDB itself would find out too late: with
 * lmdb 3.5.6 transactions that fail for want of space, again and again, end the process with a corrupted heap (tried). So
 * writes are refused while there is still room, and go on by themselves once there is more. Looks at most every
 * LOOK_MS; what another process writes in between is what the reserve is for. Never throws: a disk that does not tell
 * counts as roomy.
 */
import fs from 'node:fs';
import { EMBEDDED_FREE_BYTES_MIN } from '../domain/limits.js';

const LOOK_MS = 50;

export class FreeSpace {
  readonly #directory: string;
  readonly #nowMs: () => number;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isShort = false;

  constructor(directory: string, nowMs: () => number = () => performance.now()) {
    this.#directory = directory;
    this.#nowMs = nowMs;
  }

  /** True when less than EMBEDDED_FREE_BYTES_MIN is left. */
  isShort(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#lookedAtMs >= LOOK_MS) {
      this.#lookedAtMs = nowMs;
      this.#isShort = this.#look();
    }
    return this.#isShort;
  }

  #look(): boolean {
    try {
      const { bavail, bsize } = fs.statfsSync(this.#directory);
      return bavail * bsize < EMBEDDED_FREE_BYTES_MIN;
    } catch {
      return false;
    }
  }
}
