/**
 * The `mailjoin` program: finds the command, its settings and operands, runs it, and turns whatever it throws into a
 * message and an exit code: 0 done, 1 failed, 2 not understood. Touches the process only through `Surroundings`.
 */
import fs from 'node:fs';
import { MailjoinError } from '../domain/errors.js';
import { advanceCommand } from './advance-command.js';
import { archiveCommand } from './archive-command.js';
import { calibrateCommand } from './calibrate-command.js';
import { capacityCommand } from './capacity-command.js';
import { type Command, ExitCode, type Input } from './command.js';
import { parseCommandLine } from './command-line.js';
import { demoCommand } from './demo-command.js';
import { headsCommand } from './heads-command.js';
import { commandHelp, programHelp } from './help.js';
import { historyCommand } from './history-command.js';
import { keysCommands } from './keys-commands.js';
import { OutputError } from './line-output.js';
import { loadSettings, strangeVariables } from './load-settings.js';
import { JsonLog } from './log.js';
import { lookupCommand } from './lookup-command.js';
import { recoverCommand } from './recover-command.js';
import { schemaCommands } from './schema-commands.js';
import { serveCommand } from './serve-command.js';
import { SettingsError } from './settings-error.js';
import { didYouMean } from './suggestion.js';
import type { Terminal } from './terminal.js';
import { topicCommand } from './topic-command.js';
import { UsageError } from './usage-error.js';
import { visibleText } from './visible-text.js';
import { writeCommands } from './write-commands.js';

export const COMMANDS: readonly Command[] = [
  serveCommand,
  ...schemaCommands,
  topicCommand,
  ...keysCommands,
  ...writeCommands,
  recoverCommand,
  headsCommand,
  historyCommand,
  lookupCommand,
  archiveCommand,
  advanceCommand,
  capacityCommand,
  calibrateCommand,
  demoCommand,
];

/** The process, as far as the program needs it. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly input?: Input;
  readonly terminal?: Terminal | undefined;
  /** May throw OutputError. */
  print(line: string): void;
  /** Resolves when all that was printed has been taken. May reject with OutputError. */
  flushed?(): Promise<void>;
  printError(line: string): void;
}

export async function runProgram(words: readonly string[], around: Surroundings): Promise<ExitCode> {
  let exitCode: ExitCode;
  try {
    exitCode = await dispatch(words, around);
  } catch (error) {
    exitCode = report(error, around);
  }
  try {
    await around.flushed?.();
    return exitCode;
  } catch (error) {
    return exitCode === ExitCode.OK ? report(error, around) : exitCode;
  }
}

function dispatch(words: readonly string[], around: Surroundings): Promise<ExitCode> {
  const [first] = words;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    around.print(programHelp(COMMANDS));
    return Promise.resolve(first === undefined ? ExitCode.USAGE : ExitCode.OK);
  }
  if (first === '--version' || first === '-V') {
    around.print(version());
    return Promise.resolve(ExitCode.OK);
  }
  const command = COMMANDS.find(({ name }) => {
    const names = name.split(' ');
    return names.every((part, index) => words[index] === part);
  });
  if (command === undefined) return Promise.resolve(unknownCommand(words, around));
  return runCommand(command, words.slice(command.name.split(' ').length), around);
}

function runCommand(command: Command, words: readonly string[], around: Surroundings): Promise<ExitCode> {
  if (words.includes('--help') || words.includes('-h')) {
    around.print(commandHelp(command));
    return Promise.resolve(ExitCode.OK);
  }
  const line = parseCommandLine(words, command.settings, command.options);
  const { operands, flags } = line;
  const settings = loadSettings({ flags, environment: around.environment, command }, line.problems);
  const { operandCountMin, operandCountMax } = command;
  if (operands.length < operandCountMin || operands.length > operandCountMax || operands.includes('')) {
    throw new UsageError(`expected: mailjoin ${command.name} ${command.operands}`.trimEnd());
  }
  const log = new JsonLog(settings.logLevel);
  for (const variable of strangeVariables(around.environment)) {
    log.write('warn', 'unknown_variable', { variable });
  }
  const { input, terminal, print, printError } = around;
  const { options } = line;
  const flushed = around.flushed ?? (() => Promise.resolve());
  return command.run({ settings, operands, options, log, input, terminal, print, flushed, tell: printError });
}

function unknownCommand(words: readonly string[], around: Surroundings): ExitCode {
  const [first = ''] = words;
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0) {
    const wantsHelp = words.includes('--help') || words.includes('-h');
    (wantsHelp ? around.print : around.printError)(programHelp(group));
    return wantsHelp ? ExitCode.OK : ExitCode.USAGE;
  }
  const names = [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))];
  throw new UsageError(`no such command: ${first}${didYouMean(first, names)}`);
}

function report(error: unknown, around: Surroundings): ExitCode {
  if (error instanceof OutputError) {
    if (error.isReaderGone) return ExitCode.OK;
    around.printError(`mailjoin: ${error.message}`);
    return ExitCode.FAILED;
  }
  if (error instanceof UsageError) {
    around.printError(`mailjoin: ${error.message}\nmailjoin --help tells what there is.`);
    return ExitCode.USAGE;
  }
  if (error instanceof MailjoinError) {
    // A message may name what somebody typed, or what lies in a store.
    around.printError(`mailjoin: ${error.code}: ${error.message.split('\n').map(visibleText).join('\n')}`);
    return error instanceof SettingsError ? ExitCode.USAGE : ExitCode.FAILED;
  }
  if (error instanceof Error && 'syscall' in error) {
    // The system's own code, call and path: a stack would add nothing for whoever reads it.
    around.printError(`mailjoin: ${visibleText(error.message)}`);
    return ExitCode.FAILED;
  }
  around.printError(`mailjoin: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return ExitCode.FAILED;
}

/** The package's version; its manifest lies beside both src and dist. */
function version(): string {
  const manifest: unknown = JSON.parse(
    fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
