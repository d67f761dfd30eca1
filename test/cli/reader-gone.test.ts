/** A reader that leaves, as `| head -2` does, keeps no item of a writing command from being written. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { OutputError } from '../../src/cli/line-output.js';
import { runProgram } from '../../src/cli/program.js';
import {
  messageJson,
  operandsOf,
  type ProgramUnderTest,
  programUnderTest,
  type Row,
} from './write-program.js';

const ITEMS = 60;

/** Runs with an output that takes `lines` lines and then fails. */
async function runTaking(
  program: ProgramUnderTest,
  lines: number,
  code: string,
  words: string[],
  input: unknown,
) {
  const [out, errors]: [string[], string[]] = [[], []];
  const failure = new OutputError(Object.assign(new Error(`write ${code}`), { code }));
  const exitCode = await runProgram(words, {
    environment: { MAILJOIN_DATA_DIR: program.dataDir, MAILJOIN_LOG_LEVEL: 'error' },
    input: {
      isTerminal: false,
      async *chunks() {
        yield Buffer.from(JSON.stringify(input));
      },
    },
    print: (line) => {
      if (out.length >= lines) throw failure;
      out.push(line);
    },
    flushed: () => (out.length >= lines ? Promise.reject(failure) : Promise.resolve()),
    printError: (line) => errors.push(line),
  });
  return { exitCode, out, errors: errors.join('\n') };
}

async function committed(program: ProgramUnderTest): Promise<readonly Row[]> {
  // Each in a conversation of its own: several are worked on side by side.
  const items = Array.from({ length: ITEMS }, () => messageJson({ conversation_id: randomUUID() }));
  return (await program.run(['commit', '--json'], items)).rows;
}

async function states(program: ProgramUnderTest, rows: readonly Row[]): Promise<Set<unknown>> {
  const found = new Set<unknown>();
  for (const row of rows) {
    const [tenant = '', , , messageId = ''] = operandsOf(row);
    found.add(JSON.parse((await program.run(['lookup', messageId, '--tenant', tenant, '--json'])).out).state);
  }
  return found;
}

describe('a writing command whose reader left', () => {
  it.each([
    ['lines of JSON', ['recall', '--json'], 2],
    ['a table', ['recall'], 0],
  ])(
    'goes on with every item (%s): exit code 0 when all succeeded',
    async (_, words, lines) => {
      const program = programUnderTest();
      const rows = await committed(program);
      const { exitCode, out, errors } = await runTaking(program, lines, 'EPIPE', words, rows);
      expect([exitCode, out.length, errors]).toEqual([0, lines, '']);
      expect(await states(program, rows)).toEqual(new Set(['RECALLED']));
    },
    60_000,
  );

  it('ends with 1 when an item failed that nobody read of', async () => {
    const program = programUnderTest();
    const rows = await committed(program);
    const lost = { ...rows.at(-1), message_id: '0'.repeat(32) };
    const given = [...rows.slice(0, -1), lost];
    expect((await runTaking(program, 2, 'EPIPE', ['recall', '--json'], given)).exitCode).toBe(1);
    expect(await states(program, rows.slice(0, -1))).toEqual(new Set(['RECALLED']));
    const refused = await runTaking(program, 1, 'EPIPE', ['recall', '--json'], [{}, {}, {}]);
    expect(refused.exitCode).toBe(1);
  }, 60_000);

  it('on a full disk every item is written as well, and what is missing in the output is told', async () => {
    const program = programUnderTest();
    const rows = await committed(program);
    const { exitCode, errors } = await runTaking(program, 2, 'ENOSPC', ['recall', '--json'], rows);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('the output cannot be written')]);
    expect(await states(program, rows)).toEqual(new Set(['RECALLED']));
  }, 60_000);
});

it('a reading command ends early, and well', async () => {
  const program = programUnderTest();
  const [row] = await committed(program);
  const [tenant = '', , , messageId = ''] = operandsOf(row as Row);
  const words = ['lookup', messageId, '--tenant', tenant, '--json'];
  expect(await runTaking(program, 0, 'EPIPE', words, undefined)).toMatchObject({ exitCode: 0, errors: '' });
});
