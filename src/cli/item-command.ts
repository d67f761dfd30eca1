/**
 * What the writing commands share: JSON in, a table or lines of JSON out, one row per item. Exit code 1 when an item
 * failed; its row then says which error, whether asking again can help, and by which client_message_id.
 */
import { formatHex, formatUuid } from '../domain/ids.js';
import { HEADS_CLOSE_MS, SEQ_WINDOW } from '../domain/limits.js';
import type { MessageTarget } from '../write/row-change.js';
import type { Writer } from '../write/writer.js';
import {
  BROKER_SETTINGS,
  type Command,
  CQL_SETTINGS,
  ExitCode,
  type Invocation,
  JSON_OPTION,
} from './command.js';
import type { CommandOption } from './command-line.js';
import { ItemOutput, type ItemRows, type Row } from './item-output.js';
import type { JsonField } from './json-fields.js';
import { openWriter } from './open-writer.js';
import { type InputItem, readInput } from './read-input.js';
import type { SettingName } from './settings.js';
import { stopSignal } from './stop-signal.js';
import { UsageError } from './usage-error.js';
import { type OfConversation, type SortedItems, sortItems, writeItems } from './write-items.js';

/** Settings of everything that writes. */
export const WRITER_SETTINGS: readonly SettingName[] = [
  'config',
  'logLevel',
  'store',
  'dataDir',
  ...CQL_SETTINGS,
  'kekFile',
  'log',
  ...BROKER_SETTINGS,
  'topic',
  'record',
  'retentionFile',
];

const FILE_OPTION: CommandOption = {
  flag: 'file',
  placeholder: 'file',
  meaning: 'JSON: one object, a list, or one object per line. Unless given, standard input.',
};
const TARGET_OPERANDS = ['tenant_id', 'conversation_id', 'conversation_seq', 'message_id'];

export interface ItemCommandOf<T extends OfConversation, R> extends ItemRows<T, R> {
  readonly name: string;
  readonly summary: string;
  /** Flags whose values are fields of the one item that operands name, by flag. */
  readonly fieldFlags?: readonly (CommandOption & { readonly field: string })[];
  /** It changes messages that are there: one can be named by operands. */
  readonly takesOperands: boolean;
  /** What `parse` takes, for the help. */
  readonly fields: readonly JsonField[];
  readonly parse: (value: unknown) => T;
  readonly perform: (writer: Writer, item: T) => Promise<R>;
}

/** A command that takes one item by its operands, or any number as JSON. */
export function itemCommand<T extends OfConversation, R>(of: ItemCommandOf<T, R>): Command {
  const fieldFlags = of.fieldFlags ?? [];
  return {
    name: of.name,
    operands: of.takesOperands ? '[TENANT CONVERSATION SEQ MESSAGE_ID]' : '',
    operandCountMin: 0,
    operandCountMax: of.takesOperands ? TARGET_OPERANDS.length : 0,
    summary: of.summary,
    settings: WRITER_SETTINGS,
    options: [FILE_OPTION, ...fieldFlags, JSON_OPTION],
    fields: of.fields,
    run: (invocation) => runItems(of, invocation),
  };
}

async function runItems<T extends OfConversation, R>(
  of: ItemCommandOf<T, R>,
  invocation: Invocation,
): Promise<ExitCode> {
  const { log, options, print } = invocation;
  const items = sortItems(await itemsOf(of, invocation), of.parse);
  const asJson = options.has(JSON_OPTION.flag);
  const output = new ItemOutput(of, { asJson, print, log });
  const exitCode = await writeThem(of, invocation, items, output);
  if (output.failure !== undefined) throw output.failure;
  return exitCode;
}

async function writeThem<T extends OfConversation, R>(
  of: ItemCommandOf<T, R>,
  { settings, log }: Invocation,
  items: SortedItems<T>,
  output: ItemOutput<T, R>,
): Promise<ExitCode> {
  if (items.conversations.length === 0) {
    // Nothing to do, so no store is needed to say so.
    for (const { index, error } of items.refused) {
      output.add({ line: items.lines[index] as number, item: undefined, result: undefined, error });
    }
    output.end();
    return ExitCode.FAILED;
  }
  // What a process that ends soon reserves beyond its items would be holes.
  const windowSeqs = Math.min(items.longest, SEQ_WINDOW);
  const opened = await openWriter(settings, log, { windowSeqs, needsStore: of.takesOperands });
  const stop = stopSignal();
  try {
    const allDone = await writeItems<T, R>({
      items,
      perform: (item) => of.perform(opened.writer, item),
      onOutcome: (outcome) => output.add(outcome),
      signal: stop.signal,
    });
    return allDone ? ExitCode.OK : ExitCode.FAILED;
  } finally {
    output.end();
    const headsLeft = await opened.close(HEADS_CLOSE_MS);
    // Committed all the same (R5.1 step 7): the conversation's next message brings its head along.
    if (headsLeft > 0) log.write('warn', 'heads_left', { conversations: headsLeft });
    stop.release();
  }
}

async function itemsOf<T extends OfConversation, R>(
  of: ItemCommandOf<T, R>,
  { operands, options, input }: Invocation,
): Promise<readonly InputItem[]> {
  const file = options.get(FILE_OPTION.flag);
  const given = (of.fieldFlags ?? []).filter(({ flag }) => options.has(flag));
  if (operands.length === 0) {
    const [first] = given;
    if (first !== undefined) {
      throw new UsageError(
        `--${first.flag} goes with TENANT CONVERSATION SEQ MESSAGE_ID; in JSON it is "${first.field}"`,
      );
    }
    return readInput(file, input);
  }
  if (operands.length < TARGET_OPERANDS.length) {
    throw new UsageError(`expected: mailjoin ${of.name} TENANT CONVERSATION SEQ MESSAGE_ID, or JSON`);
  }
  if (file !== undefined) throw new UsageError('--file and operands cannot be given together');
  const fields = TARGET_OPERANDS.map((name, index) => [name, operands[index]] as const);
  // A switch's value is the text 'true'.
  const flags = given.map(({ flag, field, placeholder }) => [
    field,
    placeholder === undefined ? true : options.get(flag),
  ]);
  return [{ line: 1, value: Object.fromEntries([...fields, ...flags]), problem: undefined }];
}

/** The fields that name a message, as every command prints and takes them. */
export function targetRow({ tenantId, conversationId, seq, messageId }: MessageTarget): Row {
  return {
    tenant_id: formatUuid(tenantId),
    conversation_id: formatUuid(conversationId),
    conversation_seq: String(seq),
    message_id: formatHex(messageId),
  };
}
