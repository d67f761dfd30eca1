/**
 * The JSON that a person gives to a writing command, from a file or from standard input: one object, a list of objects,
 * or one object per line. A line that is no JSON is one item's failure, not the whole input's. Bounded: more than
 * INPUT_BYTES_MAX is refused before anything is written; what is larger belongs to the library or into several runs.
 */
import fs from 'node:fs';
import { MailjoinError } from '../domain/errors.js';
import { INPUT_BYTES_MAX } from '../domain/limits.js';
import type { Input } from './command.js';
import { UsageError } from './usage-error.js';

export interface InputItem {
  /** Its line in the input, from 1; in a list its position. */
  readonly line: number;
  /** Parsed JSON, or what is wrong with it. */
  readonly value: unknown;
  readonly problem: MailjoinError | undefined;
}

/** The items of `file`, or of standard input where there is none. CONFIG_INVALID, MESSAGE_TOO_LARGE or a usage error. */
export async function readInput(file: string | undefined, input: Input | undefined): Promise<InputItem[]> {
  const text = await textOf(file, input);
  const whole = parse(text);
  if (whole.ok) {
    const list: unknown[] = Array.isArray(whole.value) ? whole.value : [whole.value];
    if (list.length === 0) throw new UsageError('the input is an empty list');
    return list.map((value, index) => ({ line: index + 1, value, problem: undefined }));
  }
  const items: InputItem[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const parsed = parse(line);
    items.push(
      parsed.ok
        ? { line: index + 1, value: parsed.value, problem: undefined }
        : {
            line: index + 1,
            value: undefined,
            problem: new MailjoinError('MESSAGE_INVALID', 'it is no JSON'),
          },
    );
  }
  if (items.length === 0)
    throw new UsageError('the input is empty: give JSON with --file or on standard input');
  if (items.every(({ problem }) => problem !== undefined)) {
    throw new MailjoinError('MESSAGE_INVALID', 'the input is neither JSON nor lines of JSON');
  }
  return items;
}

async function textOf(file: string | undefined, input: Input | undefined): Promise<string> {
  if (file === undefined && (input === undefined || input.isTerminal)) {
    throw new UsageError('give JSON with --file or on standard input');
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === undefined ? (input as Input).chunks() : fs.createReadStream(file)) {
      bytes += chunk.length;
      if (bytes > INPUT_BYTES_MAX) {
        throw new MailjoinError('MESSAGE_TOO_LARGE', `an input has at most ${INPUT_BYTES_MAX} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof MailjoinError) throw error;
    throw new MailjoinError('CONFIG_INVALID', `${file ?? 'standard input'} cannot be read`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new MailjoinError('MESSAGE_INVALID', 'the input is no UTF-8');
  }
}

function parse(text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    // The error quotes the input, which is content.
    return { ok: false };
  }
}
