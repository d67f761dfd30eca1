/**
 * Opens groups of payloads: small ones on the spot, the others as whole jobs on a Piscina pool (R4.3 step 5, D10).
 *
 * Owned by the main thread. The region and the private buffers are shared memory; a job brings its keys along and no
 * row object. Bytes with the workers are bounded, further jobs wait in order (B31).
 *
 * A job fails when its worker's thread has ended, or is about to with no JavaScript left to run: it may have turned some
 * of its ciphertext into plaintext, but writes nothing more. So the job is restored and repeated, up to
 * OPEN_ATTEMPTS_MAX times in all; then it is rejected (→ UNAVAILABLE).
 *
 *     pool:  RUNNING ── last thread gone while jobs wait for one ──→ replaced (the old one is destroyed, its threads
 *               │                                                    awaited, its jobs repeated on the new one)
 *               └────── close(): no new jobs; those under way finish ──→ CLOSED
 */
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { openItems } from '../crypto/open-items.js';
import { MailjoinError } from '../domain/errors.js';
import { INLINE_OPEN_BYTES_MAX, INLINE_OPEN_ITEMS_MAX, OPEN_BYTES_IN_FLIGHT_MAX } from '../domain/limits.js';
import type { OpenJob } from '../domain/open-job.js';
import type { PayloadOpener } from '../domain/ports.js';
import { Admission } from './admission.js';
import { type OpenMessage, type OpenWorkerData, packOpenJob } from './open-message.js';

/** Attempts of one job in all, when workers die under it. */
export const OPEN_ATTEMPTS_MAX = 3;

export interface WorkerOpenerOptions {
  /** The shared region: bufferIndex 0 of every item. */
  readonly region: SharedArrayBuffer;
  /** Worker threads; by default one per core but the main thread's. */
  readonly threads?: number;
  /** Jobs at or below both bounds are opened on the calling thread, synchronously. */
  readonly inlineItemsMax?: number;
  readonly inlineBytesMax?: number;
  /** Ciphertext bytes with the workers at once. */
  readonly bytesInFlightMax?: number;
  /** Heap of one worker in MiB; by default Node's own. */
  readonly workerHeapMib?: number;
  /** Another worker entry, for tests. */
  readonly workerFile?: string;
}

export interface WorkerOpenerStats {
  readonly inlineJobs: number;
  readonly workerJobs: number;
  /** Jobs repeated because their worker died. */
  readonly repeats: number;
  readonly bytesInFlight: number;
  readonly waiting: number;
  readonly threads: number;
}

type OpenPool = Piscina<OpenMessage, Uint8Array>;

export class WorkerOpener implements PayloadOpener {
  readonly #region: Uint8Array;
  readonly #inlineItemsMax: number;
  readonly #inlineBytesMax: number;
  readonly #admission: Admission;
  readonly #makePool: () => OpenPool;
  #pool: OpenPool;
  /** Resolves when the threads of a pool that was given up have ended. */
  #retired: Promise<void> = Promise.resolve();
  readonly #running = new Set<Promise<unknown>>();
  #closed = false;
  #inlineJobs = 0;
  #workerJobs = 0;
  #repeats = 0;

  constructor(options: WorkerOpenerOptions) {
    this.#region = new Uint8Array(options.region);
    this.#inlineItemsMax = options.inlineItemsMax ?? INLINE_OPEN_ITEMS_MAX;
    this.#inlineBytesMax = options.inlineBytesMax ?? INLINE_OPEN_BYTES_MAX;
    this.#admission = new Admission(options.bytesInFlightMax ?? OPEN_BYTES_IN_FLIGHT_MAX);
    const threads = options.threads ?? Math.max(1, availableParallelism() - 1);
    const workerData: OpenWorkerData = { region: { kind: 'shared', buffer: options.region } };
    // Resolved as a package import, so that a thread runs the built file also when this one runs from source (tests).
    const filename = options.workerFile ?? createRequire(import.meta.url).resolve('#open-worker');
    const limits =
      options.workerHeapMib === undefined
        ? {}
        : { resourceLimits: { maxOldGenerationSizeMb: options.workerHeapMib } };
    this.#makePool = () =>
      this.#watched(
        new Piscina<OpenMessage, Uint8Array>({
          filename,
          workerData,
          minThreads: threads,
          maxThreads: threads,
          concurrentTasksPerWorker: 1,
          stricterFIFO: true,
          recordTiming: false,
          ...limits,
        }),
      );
    this.#pool = this.#makePool();
  }

  /**
   * Opens every item in place: one OpenOutcome per item, at once for small groups. The job's items, keys and buffers
   * belong to this call until it has answered. Rejects with SHUTTING_DOWN after close(), and with INTERNAL when every
   * attempt's worker died or the job has no restore().
   */
  open(job: OpenJob): Uint8Array | Promise<Uint8Array> {
    if (this.#closed) return Promise.reject(new MailjoinError('SHUTTING_DOWN'));
    if (job.count <= this.#inlineItemsMax && job.bytes <= this.#inlineBytesMax) {
      this.#inlineJobs++;
      return openItems(job, this.#region);
    }
    this.#workerJobs++;
    const answer = this.#openByWorker(job);
    const forget = (): void => {
      this.#running.delete(settled);
    };
    const settled: Promise<void> = answer.then(forget, forget);
    this.#running.add(settled);
    return answer;
  }

  stats(): WorkerOpenerStats {
    return {
      inlineJobs: this.#inlineJobs,
      workerJobs: this.#workerJobs,
      repeats: this.#repeats,
      bytesInFlight: this.#admission.bytesInFlight,
      waiting: this.#admission.waiting,
      threads: this.#pool.threads.length,
    };
  }

  /** Jobs with the workers finish, jobs that wait are refused, then the threads end. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#admission.refuseAll(new MailjoinError('SHUTTING_DOWN'));
    await Promise.all(this.#running);
    await this.#retired;
    await this.#pool.destroy();
  }

  async #openByWorker(job: OpenJob): Promise<Uint8Array> {
    await this.#admission.claim(job.bytes);
    const message = packOpenJob(job);
    try {
      return await this.#attempt(job, message);
    } finally {
      message.keys.fill(0);
      this.#admission.release(job.bytes);
    }
  }

  async #attempt(job: OpenJob, message: OpenMessage): Promise<Uint8Array> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pool.run(message);
      } catch (cause) {
        // Jobs of a pool that was given up fail before its threads have ended: nothing may write any more.
        await this.#retired;
        if (job.restore === undefined || attempt === OPEN_ATTEMPTS_MAX) {
          throw new MailjoinError('INTERNAL', 'no worker could open the group', { cause });
        }
        this.#repeats++;
        job.restore();
      }
    }
  }

  /**
   * Piscina fails the jobs of a worker that dies, and starts another. But it gives up on workers that die while they
   * start, and jobs in its queue then wait for ever: so a pool without threads is replaced, and its jobs with it.
   */
  #watched(pool: OpenPool): OpenPool {
    // Emitted for a worker that died without a job; unheard it would end the process.
    pool.on('error', () => {});
    pool.on('workerDestroy', () => {
      // Later in this tick: Piscina first removes the worker and then starts its replacement.
      process.nextTick(() => {
        if (pool === this.#pool && pool.threads.length === 0 && this.#running.size > 0) this.#replacePool();
      });
    });
    return pool;
  }

  #replacePool(): void {
    const old = this.#pool;
    this.#pool = this.#makePool();
    this.#retired = Promise.all([this.#retired, old.destroy()]).then(() => undefined);
  }
}
