#!/usr/bin/env node
/** Entry of the `mailjoin` program. */
import { LineOutput } from './line-output.js';
import { runProgram } from './program.js';
import { terminalOf } from './terminal.js';

const output = new LineOutput(process.stdout);
const errors = new LineOutput(process.stderr);
/** Who reads nothing of what went wrong has nothing to be told. */
const tell = (line: string): void => {
  try {
    errors.print(line);
  } catch {
    return;
  }
};
const exitCode = await runProgram(process.argv.slice(2), {
  environment: process.env,
  input: { isTerminal: process.stdin.isTTY === true, chunks: () => process.stdin },
  terminal: terminalOf(process.stdin, process.stdout),
  print: (line) => output.print(line),
  flushed: () => output.flushed(),
  printError: tell,
});
await errors.flushed().catch(() => undefined);
// Explicit, since a library's timer or thread must not keep an ended command alive.
process.exit(exitCode);
