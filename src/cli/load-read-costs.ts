/**
 * What the planner takes reads to cost (R7.3): from the file that `calibrate` wrote, else the shipped defaults, with a
 * cap on IN lists that the settings may replace. The one place where a cost model is made from settings. CONFIG_INVALID
 * when the file cannot be used, with its path and what is wrong.
 */
import fs from 'node:fs';
import { parseReadCosts, type ReadCosts } from '../calibrate/read-cost-file.js';
import { MailjoinError } from '../domain/errors.js';
import { READ_COSTS_FILE_BYTES_MAX } from '../domain/limits.js';
import {
  READ_COST_MODEL_DEFAULT,
  READ_COST_MODEL_EMBEDDED,
  type ReadCostModel,
} from '../join/read-cost-model.js';
import type { Settings } from './settings.js';

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
  const { constants, store: measuredStore } = read(readCosts);
  if (measuredStore !== store) {
    throw invalid(readCosts, `was measured on the store "${measuredStore}", and this one is "${store}"`);
  }
  return { model: { ...shipped, ...constants, ...replaced }, source: readCosts };
}

function read(path: string): ReadCosts {
  let content: unknown;
  try {
    if (fs.statSync(path).size > READ_COSTS_FILE_BYTES_MAX) throw invalid(path, 'is larger than such a file');
    content = JSON.parse(fs.readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof MailjoinError) throw error;
    throw invalid(path, error instanceof SyntaxError ? 'is no JSON' : 'cannot be read');
  }
  const parsed = parseReadCosts(content);
  if ('problem' in parsed) throw invalid(path, parsed.problem);
  return parsed.costs;
}

function invalid(path: string, reason: string): MailjoinError {
  return new MailjoinError('CONFIG_INVALID', `readCosts (${path}) ${reason}`);
}
