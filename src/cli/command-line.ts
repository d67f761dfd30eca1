/**
 * The words of a command line, told apart: operands, settings given as flags, and a command's own options. Unknown
 * flags, flags without their value and flags given twice become problems, not exceptions, so that they are reported
 * together with whatever else is wrong.
 */
import { parseArgs } from 'node:util';
import { flagOf, SETTING_NAMES, type SettingName, settingOf } from './settings.js';
import type { Problem } from './settings-error.js';
import { didYouMean } from './suggestion.js';

/** An option of one command that is no setting. */
export interface CommandOption {
  readonly flag: string;
  /** What stands for its value in the help; undefined for a switch. */
  readonly placeholder?: string;
  readonly meaning: string;
}

export interface CommandLine {
  readonly operands: readonly string[];
  readonly flags: ReadonlyMap<SettingName, string>;
  /** Values of the command's own options, by flag; 'true' for a switch. */
  readonly options: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

/** Parses the words after a command's name. `names` are the settings that the command takes. */
export function parseCommandLine(
  words: readonly string[],
  names: readonly SettingName[],
  options: readonly CommandOption[],
): CommandLine {
  const settings = new Map(
    names.filter((name) => !settingOf(name).secret).map((name) => [flagOf(name), name]),
  );
  const own = new Map(options.map((option) => [option.flag, option]));
  const isSwitch = (flag: string): boolean => {
    const name = settings.get(flag);
    if (name !== undefined) return settingOf(name).type.isSwitch;
    return own.get(flag)?.placeholder === undefined;
  };
  const isFlag = (word: string): boolean => {
    const [flag = ''] = word.replace(/^--/, '').split('=');
    return word.startsWith('--') && (settings.has(flag) || own.has(flag));
  };
  const { tokens } = parseArgs({
    args: [...words],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      [...settings.keys(), ...own.keys()].map((flag) => [
        flag,
        { type: isSwitch(flag) ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
  });
  const operands: string[] = [];
  const given = new Map<string, string>();
  const problems: Problem[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const { name: flag, rawName, value, inlineValue } = token;
    const refuse = (reason: string) => problems.push({ setting: flag, source: rawName, reason });
    if (!settings.has(flag) && !own.has(flag)) {
      refuse(unknownFlag(flag, [...settings.keys(), ...own.keys()]));
    } else if (given.has(flag)) {
      refuse('is given twice');
    } else if (isSwitch(flag)) {
      // A setting's value is looked at by its type; a command's own switch is there or not.
      if (settings.has(flag) || value === undefined || value === 'true') given.set(flag, value ?? 'true');
      else if (value !== 'false') refuse('is a switch: true or false, or no value');
    } else if (value === undefined || (inlineValue !== true && isFlag(value))) {
      refuse('needs a value');
    } else if (inlineValue !== true && value.startsWith('-')) {
      // The value is not repeated: it may be what a message says.
      refuse(`needs a value; one that begins with "-" is written --${flag}=VALUE`);
    } else {
      given.set(flag, value);
    }
  }
  const flags = new Map<SettingName, string>();
  const optionValues = new Map<string, string>();
  for (const [flag, value] of given) {
    const name = settings.get(flag);
    if (name === undefined) optionValues.set(flag, value);
    else flags.set(name, value);
  }
  return { operands, flags, options: optionValues, problems };
}

function unknownFlag(flag: string, known: readonly string[]): string {
  const setting = SETTING_NAMES.find((name) => flagOf(name) === flag);
  if (setting !== undefined && settingOf(setting).secret) {
    return 'is a secret: give it in the environment or in a file, never as a flag';
  }
  if (setting !== undefined) return 'is not used by this command';
  return `no such flag${didYouMean(flag, known, '--')}`;
}
