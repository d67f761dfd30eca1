/**
 * `mailjoin lookup`: where a message_id lies and what its row says, read from the store itself, without a sidecar (R2.2).
 * Content stays sealed unless --content asks for it, which alone needs the keys. Exit code 1 where the message, or the
 * content that was asked for, is not.
 */
import { MailjoinError } from '../domain/errors.js';
import { formatHex, formatUuid, idKeyAt, type MessageId, type TenantId } from '../domain/ids.js';
import { DEADLINE_MS_MAX } from '../domain/limits.js';
import type { Coordinates, MessageRecord, ReactionSummary } from '../domain/message.js';
import { ResultCode, resultName } from '../domain/result.js';
import { bucketOf } from '../domain/seq.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import type { CommandOption } from './command-line.js';
import { contentFields, type Fields, fieldTable, recordFields, summaryFields } from './message-fields.js';
import { type OpenedReader, openReader } from './open-reader.js';
import { openExistingStores, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';
import { requiredTenant, tenantOption } from './tenant-option.js';
import { typedMessageId } from './typed-id.js';

const CONTENT_OPTION: CommandOption = {
  flag: 'content',
  meaning: 'Open the content with its key and show it too.',
};

export const lookupCommand: Command = {
  name: 'lookup',
  operands: 'MESSAGE_ID',
  operandCountMin: 1,
  operandCountMax: 1,
  summary: 'Find a message by its id alone: where it lies, and what its row says.',
  settings: ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS, 'kekFile', 'allowUnsealed'],
  options: [tenantOption('message'), CONTENT_OPTION, JSON_OPTION],
  opensOnRequest: true,
  run: lookup,
};

/** What was found; `result` is a join's word for it, `row` is there with OK alone. */
interface Found {
  readonly where: Coordinates | undefined;
  readonly result: ResultCode;
  readonly row: MessageRecord | undefined;
  readonly summary: ReactionSummary | undefined;
}

async function lookup(invocation: Invocation): Promise<ExitCode> {
  const { settings, operands, options, log, print } = invocation;
  const tenantId = requiredTenant(options, 'lookup');
  const messageId = typedMessageId(operands[0], 'MESSAGE_ID');
  const reader = options.has(CONTENT_OPTION.flag) ? await openReader(settings, log) : undefined;
  const stores = reader?.stores ?? (await openExistingStores(settings, systemClock));
  try {
    const entry = await stores.writes.lookup(tenantId, messageId);
    const found = await look(stores, entry && { tenantId, ...entry }, messageId);
    const content = reader && (await contentOf(reader, found, messageId));
    const fields = { ...fieldsOf(tenantId, messageId, found), ...(content?.fields ?? {}) };
    const asJson = options.has(JSON_OPTION.flag);
    if (asJson) print(JSON.stringify(fields));
    else if (found.where !== undefined) print(fieldTable('message', fields, systemClock.epochMs()));
    requireFound(found);
    return content === undefined || content.isShown ? ExitCode.OK : ExitCode.FAILED;
  } finally {
    await (reader ?? stores).close();
  }
}

/** The content by the join's way: `content` says what became of it, as a join's result. */
async function contentOf(
  { details }: OpenedReader,
  { where, row }: Found,
  messageId: MessageId,
): Promise<{ readonly fields: Fields; readonly isShown: boolean } | undefined> {
  if (where === undefined || row === undefined) return undefined;
  const { result, body } = await details.detail({
    ...where,
    messageId,
    userId: undefined,
    reactors: undefined,
    deadlineMs: DEADLINE_MS_MAX,
  });
  const shown = body === undefined ? {} : contentFields(body);
  return { fields: { content: resultName(result), ...shown }, isShown: body !== undefined };
}

async function look(
  { messages }: Stores,
  where: Coordinates | undefined,
  messageId: MessageId,
): Promise<Found> {
  if (where === undefined) {
    return { where, result: ResultCode.NOT_FOUND, row: undefined, summary: undefined };
  }
  const { tenantId, conversationId, seq } = where;
  const { records, summaries } = await messages.readGroup({
    tenantId,
    conversationId,
    bucket: bucketOf(seq),
    statements: [{ shape: 'range', from: seq, to: seq }],
  });
  const [row] = records;
  if (row === undefined) return { where, result: ResultCode.NOT_FOUND, row, summary: undefined };
  if (idKeyAt(row.messageId, 0) !== idKeyAt(messageId, 0)) {
    return { where, result: ResultCode.MISMATCH, row: undefined, summary: undefined };
  }
  return { where, result: ResultCode.OK, row, summary: summaries[0] };
}

function fieldsOf(tenantId: TenantId, messageId: MessageId, { where, result, row, summary }: Found): Fields {
  return {
    found: where !== undefined,
    result: resultName(result),
    tenant_id: formatUuid(tenantId),
    message_id: formatHex(messageId),
    conversation_id: where && formatUuid(where.conversationId),
    conversation_seq: where?.seq.toString(),
    seq_bucket: where && String(bucketOf(where.seq)),
    ...(row === undefined ? {} : recordFields(row)),
    ...(summary === undefined ? {} : summaryFields(summary)),
  };
}

function requireFound({ where, result }: Found): void {
  if (where === undefined) {
    throw new MailjoinError('MESSAGE_NOT_FOUND', 'the tenant’s message_index has no such message_id');
  }
  if (result === ResultCode.NOT_FOUND) {
    throw new MailjoinError(
      'MESSAGE_NOT_FOUND',
      'message_index says where it belongs, but no row is there: it expired, or an archiver has yet to write it',
    );
  }
  if (result === ResultCode.MISMATCH) {
    throw new MailjoinError('MESSAGE_MISMATCH', 'message_index names a place that another message has');
  }
}
