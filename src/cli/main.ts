#!/usr/bin/env node
/** Entry of the `mailjoin` program. */
import { runProgram } from './program.js';
import { terminalOf } from './terminal.js';

const exitCode = await runProgram(process.argv.slice(2), {
  environment: process.env,
  input: { isTerminal: process.stdin.isTTY === true, chunks: () => process.stdin },
  terminal: terminalOf(process.stdin, process.stdout),
  print: (line) => process.stdout.write(`${line}\n`),
  printError: (line) => process.stderr.write(`${line}\n`),
});
// Explicit, since a library's timer or thread must not keep an ended command alive.
process.exit(exitCode);
