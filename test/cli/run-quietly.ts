/** Runs the program in this process on a data directory, and takes down what it prints. */
import { runProgram } from '../../src/cli/program.js';

export async function runQuietly(dataDir: string, words: readonly string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const exitCode = await runProgram(words, {
    environment: { MAILJOIN_DATA_DIR: dataDir, MAILJOIN_LOG_LEVEL: 'error' },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
  });
  return { exitCode, out: out.join('\n'), errors: errors.join('\n') };
}
