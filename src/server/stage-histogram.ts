/**
 * Time per stage of a batch, as a Prometheus histogram kept in plain arrays: eight observations are made per batch,
 * and prom-client's own labelled histogram was measured at 3 µs each.
 */
export const STAGES = ['decode', 'plan', 'read', 'key', 'open', 'total', 'encode', 'write'] as const;
export type Stage = (typeof STAGES)[number];

const NAME = 'mailjoin_stage_seconds';
const HELP = 'Time per stage of a batch; stages of concurrent groups overlap';
/** Upper bounds in microseconds, ascending. */
const BOUNDS_MICROS = [
  50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
  2_500_000, 5_000_000,
];
const MICROS_PER_SECOND = 1_000_000;

interface StageCounts {
  /** Observations at or below each bound and above the one before; the last place is for those above all. */
  readonly counts: Float64Array;
  sumMicros: number;
}

export class StageHistogram {
  private readonly stages: Readonly<Record<Stage, StageCounts>>;

  constructor() {
    const empty = (): StageCounts => ({
      counts: new Float64Array(BOUNDS_MICROS.length + 1),
      sumMicros: 0,
    });
    this.stages = {
      decode: empty(),
      plan: empty(),
      read: empty(),
      key: empty(),
      open: empty(),
      total: empty(),
      encode: empty(),
      write: empty(),
    };
  }

  observe(stage: Stage, micros: number): void {
    const stageCounts = this.stages[stage];
    let place = 0;
    while (place < BOUNDS_MICROS.length && micros > (BOUNDS_MICROS[place] as number)) place++;
    stageCounts.counts[place] = (stageCounts.counts[place] as number) + 1;
    stageCounts.sumMicros += micros;
  }

  /** The histogram in the Prometheus text format. */
  text(): string {
    const lines = [`# HELP ${NAME} ${HELP}`, `# TYPE ${NAME} histogram`];
    for (const stage of STAGES) {
      const { counts, sumMicros } = this.stages[stage];
      let sofar = 0;
      for (let place = 0; place < counts.length; place++) {
        sofar += counts[place] as number;
        const bound = BOUNDS_MICROS[place];
        const le = bound === undefined ? '+Inf' : String(bound / MICROS_PER_SECOND);
        lines.push(`${NAME}_bucket{stage="${stage}",le="${le}"} ${sofar}`);
      }
      lines.push(`${NAME}_sum{stage="${stage}"} ${sumMicros / MICROS_PER_SECOND}`);
      lines.push(`${NAME}_count{stage="${stage}"} ${sofar}`);
    }
    return `${lines.join('\n')}\n`;
  }
}
