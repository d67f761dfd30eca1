/**
 * What the planner takes reads to cost (R7.3): from the file that `calibrate` wrote, else the shipped defaults, with a
 * cap on IN lists that the settings may replace. The one place where a cost model is made from settings. CONFIG_INVALID
 * when the file cannot be used, with its path and what is wrong.
 */
import { parseReadCosts, type ReadCosts } from '../calibrate/read-cost-file.js';
import { READ_COSTS_FILE_BYTES_MAX } from '../domain/limits.js';
import {
  READ_COST_MODEL_DEFAULT,
  READ_COST_MODEL_EMBEDDED,
  type ReadCostModel,
} from '../join/read-cost-model.js';
import type { Settings } from './settings.js';
import { SettingsError } from './settings-error.js';
import { type FileProblem, readSettingsJson } from './settings-file.js';

const COSTS_ABOVE_0 = ['statementMicros', 'rangeRowMicros', 'inElementMicros'] as const;

export interface ReadCostsInUse {
  readonly model: ReadCostModel;
  /** For people: a file, or that there is none. */
  readonly source: string;
}

export function loadReadCosts({
  readCosts,
  store,
  inCap,
}: Pick<Settings, 'readCosts' | 'store' | 'inCap'>): ReadCostsInUse {
  const shipped = store === 'embedded' ? READ_COST_MODEL_EMBEDDED : READ_COST_MODEL_DEFAULT;
  const replaced = inCap === undefined ? {} : { inCap };
  if (readCosts === undefined) {
    return { model: { ...shipped, ...replaced }, source: 'shipped defaults' };
  }
  const file = read(readCosts, store);
  if ('problem' in file) {
    throw new SettingsError([{ setting: 'readCosts', source: readCosts, reason: file.problem }]);
  }
  return { model: { ...shipped, ...file.constants, ...replaced }, source: readCosts };
}

/** What is wrong with the file for this kind of store, in words; undefined when nothing is. */
export function readCostsProblem(path: string, store: Settings['store']): string | undefined {
  const file = read(path, store);
  return 'problem' in file ? file.problem : undefined;
}

/** Names of what a plan may use without bound, since it is said to cost nothing; a further statement may be free. */
export function freeCosts(model: ReadCostModel): readonly string[] {
  return COSTS_ABOVE_0.filter((name) => model[name] === 0);
}

function read(path: string, store: Settings['store']): ReadCosts | FileProblem {
  const file = readSettingsJson(path, READ_COSTS_FILE_BYTES_MAX);
  if ('problem' in file) return file;
  const parsed = parseReadCosts(file.content);
  if ('problem' in parsed) return parsed;
  const { costs } = parsed;
  return costs.store === store
    ? costs
    : { problem: `was measured on the store "${costs.store}", and this one is "${store}"` };
}
