/** What a run of `calibrate` found: lines and points for each size of rows, and the constants that follow. Pure. */
import { IN_CAP_DEFAULT } from '../domain/limits.js';
import { type CostFit, crossoverOf, fitCosts } from './fit-costs.js';
import { chooseInCap, furtherStatementMicros, type InCapCandidate, inCapCandidates } from './in-cap.js';
import type { Measurement, PointFigure } from './measure.js';
import { READ_COST_FILE_VERSION, type ReadCostConstants, type StoreKind } from './read-cost-file.js';
import { isOfInCap, type ReadPoint, rowsOf, spanOf, statementCountOf } from './read-points.js';
import type { SiteGroup } from './site.js';

/** What was found for rows of one size. */
export interface SizeFindings {
  readonly rowBytes: number;
  readonly buckets: number;
  readonly fit: CostFit;
  /** Rows for one wanted message at which a covering range costs what an IN list does. */
  readonly crossover: number | undefined;
  /** Single statements; those of the IN cap are told apart. */
  readonly figures: readonly PointFigure[];
}

export interface Calibration {
  /** The first one's constants are the planner's. */
  readonly sizes: readonly SizeFindings[];
  readonly inCaps: readonly InCapCandidate[];
  /** Whether a further statement was timed; where it was not, it counts like one alone. */
  readonly isFurtherMeasured: boolean;
  readonly constants: ReadCostConstants;
  readonly measurement: Omit<Measurement, 'figures'>;
}

/** How a run was made: what a reader of the file needs to repeat it. */
export interface RunDescription {
  readonly measuredAt: string;
  readonly store: StoreKind;
  /** For people: which keyspace or folder. */
  readonly place: string;
  readonly rows: 'written' | 'existing';
  readonly seed: number;
  readonly seconds: number;
  /** The machine that measured, which need not be that of the store. */
  readonly machine: { readonly cores: number; readonly memoryBytes: number; readonly node: string };
}

export function calibrationOf(groups: readonly SiteGroup[], measurement: Measurement): Calibration {
  const { figures, ...rest } = measurement;
  const sizes = groups.map(({ rowBytes, sites }, group): SizeFindings => {
    const ofSize = figures.filter(({ point }) => point.group === group && !isOfInCap(point));
    const fit = fitCosts(
      ofSize.map(({ point, medianMicros }) => ({
        isIn: point.shape === 'in',
        count: rowsOf(point),
        micros: medianMicros,
      })),
    );
    return { rowBytes, buckets: sites.length, fit, crossover: crossoverOf(fit), figures: ofSize };
  });
  const [{ fit } = { fit: fitCosts([]) }] = sizes;
  const { statementMicros, rangeRowMicros, inElementMicros } = fit;
  const inCaps = inCapCandidates(figures, fit);
  const further = furtherStatementMicros(inCaps);
  return {
    sizes,
    inCaps,
    isFurtherMeasured: further !== undefined,
    constants: {
      inCap: inCapOf(figures, inCaps, rest.refused),
      statementMicros: rounded(statementMicros),
      furtherStatementMicros: rounded(Math.min(statementMicros, further ?? statementMicros)),
      rangeRowMicros: rounded(rangeRowMicros),
      inElementMicros: rounded(inElementMicros),
    },
    measurement: rest,
  };
}

/** The file: what `serve` reads first, then what people may want to know. */
export function readCostFile(calibration: Calibration, run: RunDescription): string {
  const { sizes, inCaps, constants, measurement } = calibration;
  const { store, measuredAt, ...how } = run;
  const { refused, ...counts } = measurement;
  const content = {
    version: READ_COST_FILE_VERSION,
    store,
    measuredAt,
    constants,
    how: { ...how, ...counts },
    inCaps: inCaps.map((candidate) => ({
      ...candidate,
      medianMicros: rounded(candidate.medianMicros),
      workMicros: rounded(candidate.workMicros),
    })),
    refused: refused.map((point) => ({ rowBytes: sizes[point.group]?.rowBytes, ...described(point) })),
    sizes: sizes.map(({ rowBytes, buckets, fit, crossover, figures }) => ({
      rowBytes,
      buckets,
      fit: Object.fromEntries(Object.entries(fit).map(([name, value]) => [name, rounded(value)])),
      crossover: crossover && rounded(crossover),
      points: figures.map(({ point, samples, ...micros }) => ({
        ...described(point),
        samples,
        medianMicros: rounded(micros.medianMicros),
        quartilesMicros: [rounded(micros.lowerQuartileMicros), rounded(micros.upperQuartileMicros)],
      })),
    })),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function described(point: ReadPoint): object {
  const { shape, wanted } = point;
  return { shape, wanted, span: spanOf(point), statements: statementCountOf(point), inCap: point.inCap };
}

/** Of the lists that were answered, never one as long as one that was refused: what lies between nobody has tried. */
function inCapOf(
  figures: readonly PointFigure[],
  candidates: readonly InCapCandidate[],
  refused: readonly ReadPoint[],
): number {
  const lists = refused.filter(({ shape }) => shape === 'in').map(({ inCap }) => inCap);
  const refusedMin = Math.min(...lists, Number.POSITIVE_INFINITY);
  const chosen = chooseInCap(candidates.filter(({ inCap }) => inCap < refusedMin));
  if (chosen !== undefined) return chosen;
  if (lists.length === 0) return IN_CAP_DEFAULT;
  const answered = figures
    .filter(({ point }) => point.shape === 'in' && point.inCap < refusedMin)
    .map(({ point }) => point.inCap);
  return Math.min(IN_CAP_DEFAULT, Math.max(1, ...answered));
}

/** Four significant digits: more would look like knowledge. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
