/**
 * The figures of a process that writes (Prometheus text): time per step of each operation, alerts, heads that wait. Every
 * label has a small fixed set of values (B51).
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { WriteAlert } from '../write/alerts.js';
import type { HeadWriterStats } from '../write/heads.js';
import type { Operation, Step } from '../write/steps.js';

const BOUNDS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const MS_PER_SECOND = 1_000;

export class WriteMetrics {
  readonly #registry = new Registry();
  readonly #steps: Histogram<'operation' | 'step'>;
  readonly #alerts: Counter<'alert'>;

  constructor() {
    const registers = [this.#registry];
    this.#steps = new Histogram({
      name: 'mailjoin_write_step_seconds',
      help: 'Time per step of an operation of the write side',
      labelNames: ['operation', 'step'],
      buckets: BOUNDS_SECONDS,
      registers,
    });
    this.#alerts = new Counter({
      name: 'mailjoin_write_alerts_total',
      help: 'What the write side wants somebody to look at',
      labelNames: ['alert'],
      registers,
    });
  }

  observeStep(operation: Operation, step: Step, elapsedMs: number): void {
    this.#steps.observe({ operation, step }, elapsedMs / MS_PER_SECOND);
  }

  countAlert(alert: WriteAlert): void {
    this.#alerts.inc({ alert });
  }

  /** Reads the heads' figures when the page is asked for. */
  observeHeads(stats: () => HeadWriterStats): void {
    const gauge = (name: string, help: string, value: () => number): void => {
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(value());
        },
      });
    };
    gauge(
      'mailjoin_write_heads_pending',
      'Conversations whose head waits to be written',
      () => stats().pending,
    );
    gauge('mailjoin_write_heads_written', 'Heads written', () => stats().written);
    gauge('mailjoin_write_head_failures', 'Attempts to write a head that failed', () => stats().failures);
  }

  page(): Promise<string> {
    return this.#registry.metrics();
  }
}
