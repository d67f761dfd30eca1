/** A command's own option that is a number; anything else is a usage error that names it. */
import { UsageError } from './usage-error.js';

export function numberOption(
  options: ReadonlyMap<string, string>,
  flag: string,
  fallback: number,
  { min, max, whole = true }: { readonly min: number; readonly max: number; readonly whole?: boolean },
): number {
  const text = options.get(flag);
  if (text === undefined) return fallback;
  const value = /^[0-9]+(\.[0-9]+)?(e[0-9]{1,2})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  throw new UsageError(`--${flag} must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}`);
}
