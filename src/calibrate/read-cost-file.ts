/**
 * The file that `calibrate` writes and `serve` reads: JSON, version 1. Pure.
 *
 *     version      1
 *     store        'cql' or 'embedded': constants of one are wrong for the other
 *     constants    inCap, statementMicros, furtherStatementMicros, rangeRowMicros, inElementMicros: what a plan is made with
 *     the rest     how they were found, every point that was measured: for people, and not looked at here
 *
 * A file may be written by hand; what is wrong with it is said in words that name the field.
 */
import { PARTITION_ROWS_MAX, READ_COST_MICROS_MAX } from '../domain/limits.js';
import type { ReadCostModel } from '../join/read-cost-model.js';

export const READ_COST_FILE_VERSION = 1;

export type StoreKind = 'embedded' | 'cql';

/** The constants that a file has. */
export type ReadCostConstants = Pick<
  ReadCostModel,
  'inCap' | 'statementMicros' | 'furtherStatementMicros' | 'rangeRowMicros' | 'inElementMicros'
>;

export interface ReadCosts {
  readonly store: StoreKind;
  readonly constants: ReadCostConstants;
}

const MICROS = ['statementMicros', 'furtherStatementMicros', 'rangeRowMicros', 'inElementMicros'] as const;

/** The costs in a file's JSON, or what is wrong with it. */
export function parseReadCosts(
  content: unknown,
): { readonly costs: ReadCosts } | { readonly problem: string } {
  if (!isObject(content)) return { problem: 'must hold one JSON object' };
  const { version, store, constants } = content;
  if (version !== READ_COST_FILE_VERSION) {
    return { problem: `must have version ${READ_COST_FILE_VERSION}, and has ${shown(version)}` };
  }
  if (store !== 'embedded' && store !== 'cql') {
    return { problem: `store must be "embedded" or "cql", and is ${shown(store)}` };
  }
  if (!isObject(constants)) return { problem: 'constants must be an object' };
  const unknown = Object.keys(constants).find((name) => name !== 'inCap' && !isMicrosName(name));
  if (unknown !== undefined) return { problem: `constants has no ${shown(unknown)}` };
  for (const name of MICROS) {
    if (!isCost(constants[name])) {
      return {
        problem: `constants.${name} must be a number from 0 to ${READ_COST_MICROS_MAX}, and is ${shown(constants[name])}`,
      };
    }
  }
  const { inCap, ...micros } = constants;
  if (!isCost(inCap) || !Number.isInteger(inCap) || inCap < 1 || inCap > PARTITION_ROWS_MAX) {
    return {
      problem: `constants.inCap must be a whole number from 1 to ${PARTITION_ROWS_MAX}, and is ${shown(inCap)}`,
    };
  }
  if (MICROS.every((name) => micros[name] === 0)) {
    return { problem: 'constants has no cost above 0, and nothing to choose by' };
  }
  // Each was looked at above, and there are no others.
  return { costs: { store, constants: { inCap, ...(micros as Omit<ReadCostConstants, 'inCap'>) } } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMicrosName(name: string): boolean {
  return MICROS.some((each) => each === name);
}

function isCost(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= READ_COST_MICROS_MAX;
}

const SHOWN_LETTERS_MAX = 40;

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'number') return String(value);
  const text = JSON.stringify(value);
  return text.length <= SHOWN_LETTERS_MAX ? text : `${text.slice(0, SHOWN_LETTERS_MAX)}…`;
}
