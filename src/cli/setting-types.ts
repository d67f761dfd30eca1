/**
 * How the text of a setting becomes its value. Every source (flag, environment, config file) is text here, so a value
 * means the same wherever it came from. Pure; a refusal says what would be taken.
 */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export interface SettingType<T> {
  /** What stands for the value in the help; empty for a switch. */
  readonly placeholder: string;
  /** A switch needs no value on the command line. */
  readonly isSwitch: boolean;
  /** A list in a config file may be an array. */
  readonly isList: boolean;
  parse(text: string): Parsed<T>;
  /** The text that parses to the value. */
  format(value: T): string;
}

const taken = <T>(value: T): Parsed<T> => ({ ok: true, value });
const refused = (reason: string): Parsed<never> => ({ ok: false, reason });
const PLAIN = { isSwitch: false, isList: false } as const;

/** Any text but the empty one. */
export function text(placeholder: string): SettingType<string> {
  return {
    ...PLAIN,
    placeholder,
    parse: (value) => (value === '' ? refused('must not be empty') : taken(value)),
    format: (value) => value,
  };
}

/** Text of a certain form. */
export function matching(placeholder: string, pattern: RegExp, form: string): SettingType<string> {
  return {
    ...PLAIN,
    placeholder,
    parse: (value) => (pattern.test(value) ? taken(value) : refused(`must be ${form}`)),
    format: (value) => value,
  };
}

/** A whole number between two bounds, both included. */
export function integer(min: number, max: number, unit = 'n'): SettingType<number> {
  return {
    ...PLAIN,
    placeholder: unit,
    parse: (value) => {
      const number = /^[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
      return number >= min && number <= max
        ? taken(number)
        : refused(`must be a whole number from ${min} to ${max}`);
    },
    format: String,
  };
}

const UNIT_BYTES = new Map([
  ['', 1],
  ['kib', 1024],
  ['mib', 1024 ** 2],
  ['gib', 1024 ** 3],
]);

/** A number of bytes between two bounds, with an optional unit: 268435456, 256MiB, 1GiB. */
export function bytes(min: number, max: number): SettingType<number> {
  const format = (value: number): string => {
    for (const [unit, size] of [
      ['GiB', 1024 ** 3] as const,
      ['MiB', 1024 ** 2] as const,
      ['KiB', 1024] as const,
    ]) {
      if (value >= size && value % size === 0) return `${value / size}${unit}`;
    }
    return String(value);
  };
  return {
    ...PLAIN,
    placeholder: 'bytes',
    parse: (value) => {
      const [, digits = '', unit = ''] = /^([0-9]{1,15})([A-Za-z]*)$/.exec(value) ?? [];
      const size =
        (digits === '' ? Number.NaN : Number(digits)) * (UNIT_BYTES.get(unit.toLowerCase()) ?? Number.NaN);
      return size >= min && size <= max
        ? taken(size)
        : refused(`must be a size from ${format(min)} to ${format(max)}, such as 268435456 or 256MiB`);
    },
    format,
  };
}

/** One of a few names. */
export function oneOf<const Name extends string>(...names: readonly Name[]): SettingType<Name> {
  return {
    ...PLAIN,
    placeholder: names.length <= 4 ? names.join('|') : 'name',
    parse: (value) => {
      const found = names.find((name) => name === value);
      return found === undefined ? refused(`must be one of ${names.join(', ')}`) : taken(found);
    },
    format: (value) => value,
  };
}

/** Several texts, separated by commas. */
export function list(placeholder: string): SettingType<readonly string[]> {
  return {
    placeholder,
    isSwitch: false,
    isList: true,
    parse: (value) => {
      const items = value.split(',').map((item) => item.trim());
      return items.every((item) => item !== '')
        ? taken(items)
        : refused('must be one or more values, separated by commas');
    },
    format: (value) => value.join(','),
  };
}

/** On or off. */
export function onOff(): SettingType<boolean> {
  return {
    placeholder: '',
    isSwitch: true,
    isList: false,
    parse: (value) => {
      if (value === 'true' || value === '1') return taken(true);
      if (value === 'false' || value === '0') return taken(false);
      return refused('must be true or false');
    },
    format: String,
  };
}

/** Permission bits in octal. */
export function fileMode(): SettingType<number> {
  return {
    ...PLAIN,
    placeholder: 'octal',
    parse: (value) =>
      /^0?[0-7]{3}$/.test(value)
        ? taken(Number.parseInt(value, 8))
        : refused('must be permission bits in octal, such as 0660'),
    format: (value) => value.toString(8).padStart(4, '0'),
  };
}
