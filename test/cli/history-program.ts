/** What tests of `mailjoin history` share: conversations on the embedded store, terminals, and what was printed. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { runProgram } from '../../src/cli/program.js';
import { systemClock } from '../../src/cli/system-clock.js';
import type { Terminal } from '../../src/cli/terminal.js';
import { conversationIdOf, parseUuid, tenantIdOf } from '../../src/domain/ids.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { activity, bareRecord, life, message, user } from '../stores/fixtures.js';
import { messageJson, type ProgramUnderTest, TENANT } from './write-program.js';

export const OF_TENANT = ['--tenant', TENANT];

export async function committed(program: ProgramUnderTest, conversation: string, texts: readonly string[]) {
  const items = texts.map((payload_text) => messageJson({ conversation_id: conversation, payload_text }));
  const { rows, errors } = await program.run(['commit', '--json'], items);
  if (rows.length !== texts.length) throw new Error(errors);
  return rows;
}

export const letters = (count: number) => Array.from({ length: count }, (_, at) => `text-${at + 1}`);
export const seqsIn = (out: string) => [...out.matchAll(/^(\d+) {2}/gm)].map(([, seq]) => Number(seq));

/** Rows without content, at these rising seqs of a new conversation of TENANT, and its head. */
export async function rowsAt(program: ProgramUnderTest, seqs: readonly bigint[]): Promise<string> {
  const conversation = randomUUID();
  const tenantId = tenantIdOf(parseUuid(TENANT) as Uint8Array);
  const conversationId = conversationIdOf(parseUuid(conversation) as Uint8Array);
  if (tenantId === undefined || conversationId === undefined) throw new Error('no ids');
  // The first run makes the store and its key.
  if (!existsSync(program.dataDir)) await committed(program, randomUUID(), ['first']);
  const opened = await openEmbedded(program.dataDir, systemClock);
  for (const seq of seqs) {
    await opened.store.insertRecord({ tenantId, conversationId, seq }, bareRecord(seq), life());
  }
  await opened.writes.writeHead(tenantId, conversationId, {
    latestSeq: seqs.at(-1) as bigint,
    lastMessageId: message(),
    lastActivityId: activity(),
    lastSenderId: user(),
    preview: undefined,
    updatedAtMs: BigInt(Date.now()),
    fencingEpoch: 1n,
    headVersion: 1n,
  });
  await opened.close();
  return conversation;
}

/** The words of the next command, where one was printed last. */
export function nextWords(out: string): string[] | undefined {
  const found = /mailjoin (history .*)$/.exec(out);
  return found?.[1]?.split(' ');
}

export function terminalWith(answers: boolean[], columns = 200): Terminal & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    columns,
    asked,
    askToGoOn: async (line) => {
      asked.push(line);
      return answers.shift() ?? false;
    },
  };
}

export async function runOn(
  terminal: Terminal | undefined,
  { dataDir }: ProgramUnderTest,
  words: readonly string[],
  onLine: () => void = () => undefined,
) {
  const out: string[] = [];
  const exitCode = await runProgram(words, {
    environment: { MAILJOIN_DATA_DIR: dataDir, MAILJOIN_LOG_LEVEL: 'error' },
    terminal,
    print: (line) => {
      out.push(line);
      onLine();
    },
    printError: (line) => out.push(line),
  });
  return { exitCode, out: out.join('\n') };
}
