/** The program as a person runs it, in this process, on an embedded store in a folder of its own: words and JSON in. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/program.js';
import { temporaryDirectory } from '../server/server-fixture.js';

export const TENANT = '00112233-4455-6677-8899-aabbccddeeff';

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly errors: string;
  /** Lines of `--json`. */
  readonly rows: readonly Row[];
}

export interface Row {
  readonly line: number;
  readonly conversation_id: string;
  readonly conversation_seq: string;
  readonly message_id: string;
  readonly [name: string]: unknown;
}

export interface ProgramUnderTest {
  readonly directory: string;
  readonly dataDir: string;
  run(words: readonly string[], input?: unknown): Promise<Ran>;
}

/** `input`: text as it is, anything else as JSON; none is a terminal. */
export function programUnderTest(): ProgramUnderTest {
  const directory = temporaryDirectory();
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  const dataDir = path.join(directory, 'data');
  const environment = { MAILJOIN_DATA_DIR: dataDir, MAILJOIN_LOG_LEVEL: 'error' };
  return { directory, dataDir, run: (words, input) => run(words, input, environment) };
}

export async function run(
  words: readonly string[],
  input: unknown,
  environment: Record<string, string>,
): Promise<Ran> {
  const out: string[] = [];
  const errors: string[] = [];
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const exitCode = await runProgram(words, {
    environment,
    input: {
      isTerminal: input === undefined,
      async *chunks() {
        yield Buffer.from(text);
      },
    },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
  });
  const isJson = words.includes('--json');
  const rows = isJson ? out.map((line) => JSON.parse(line)) : [];
  return { exitCode, out: out.join('\n'), errors: errors.join('\n'), rows };
}

/** A message that can be committed, in a conversation of its own unless one is given. */
export function messageJson(over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    tenant_id: TENANT,
    conversation_id: randomUUID(),
    sender_id: randomUUID(),
    client_message_id: randomUUID(),
    payload_text: 'hello',
    ...over,
  };
}

/** The operands that name the message of a row. */
export function operandsOf({ conversation_id, conversation_seq, message_id }: Row): string[] {
  return [TENANT, conversation_id, conversation_seq, message_id];
}
