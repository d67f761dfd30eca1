/** The help texts, made from the table of settings and the commands, so that they cannot lag behind. Pure. */
import type { Command } from './command.js';
import { environmentOf, flagOf, type SettingName, settingOf } from './settings.js';

const WIDTH = 100;
const INDENT = '      ';

export function programHelp(commands: readonly Pick<Command, 'name' | 'operands' | 'summary'>[]): string {
  const usages = commands.map(({ name, operands }) => `${name} ${operands}`.trimEnd());
  const widest = Math.max(...usages.map((usage) => usage.length));
  return [
    'mailjoin joins references of a mailbox batch with their message bodies.',
    '',
    'Usage: mailjoin COMMAND [flags]',
    '',
    ...commands.map(({ summary }, index) => `  ${(usages[index] ?? '').padEnd(widest)}  ${summary}`),
    '',
    'mailjoin COMMAND --help tells the flags of a command; mailjoin --version the version.',
  ].join('\n');
}

export function commandHelp(command: Command): string {
  const usage = `Usage: mailjoin ${command.name} ${command.operands}`.trimEnd();
  const lines = [command.summary, '', `${usage} [flags]`];
  if (command.options.length > 0) {
    lines.push('', 'Flags of this command');
    for (const { flag, placeholder, meaning } of command.options) {
      lines.push(`  --${flag}${placeholder === undefined ? '' : ` <${placeholder}>`}`, ...wrapped(meaning));
    }
  }
  if (command.fields !== undefined) {
    lines.push('', 'Fields of the JSON, one object an item; * must be given');
    for (const { names, isRequired, meaning } of command.fields) {
      lines.push(`  ${names.join(' | ')}${isRequired ? ' *' : ''}`, ...wrapped(meaning));
    }
  }
  lines.push('', 'Settings: a flag, else an environment variable, else the config file, else the default');
  for (const name of command.settings) lines.push(...settingHelp(name));
  return lines.join('\n');
}

function settingHelp(name: SettingName): string[] {
  const { type, fallback, meaning, secret } = settingOf(name);
  const value = type.placeholder === '' ? '' : ` <${type.placeholder}>`;
  const ways = secret ? environmentOf(name) : `--${flagOf(name)}${value}   ${environmentOf(name)}`;
  const defaultText = fallback === undefined ? '' : ` Default: ${type.format(fallback)}.`;
  return [`  ${ways}`, ...wrapped(meaning + defaultText)];
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(' ')) {
    if (line.length + word.length > WIDTH && line.trim() !== '') {
      lines.push(line.trimEnd());
      line = INDENT;
    }
    line += `${word} `;
  }
  lines.push(line.trimEnd());
  return lines;
}
