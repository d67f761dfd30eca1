/**
 * `mailjoin lookup`: where a message_id lies and what its row says, read from the store itself, without a sidecar (R2.2).
 * Exit code 1 where the message is not.
 */
import { MailjoinError } from '../domain/errors.js';
import { formatHex, formatUuid, idKeyAt, type MessageId } from '../domain/ids.js';
import type { Coordinates, MessageRecord, ReactionSummary } from '../domain/message.js';
import { ResultCode, resultName } from '../domain/result.js';
import { bucketOf } from '../domain/seq.js';
import { toMessageId, toTenantId } from './caller-ids.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import type { CommandOption } from './command-line.js';
import { type Fields, fieldTable, recordFields, summaryFields } from './message-fields.js';
import { openExistingStores, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';
import { UsageError } from './usage-error.js';

const TENANT_OPTION: CommandOption = {
  flag: 'tenant',
  placeholder: 'uuid',
  meaning: 'The tenant whose message it is. Must be given.',
};

export const lookupCommand: Command = {
  name: 'lookup',
  operands: 'MESSAGE_ID',
  operandCountMin: 1,
  operandCountMax: 1,
  summary: 'Find a message by its id alone: where it lies, and what its row says.',
  settings: ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS],
  options: [TENANT_OPTION, JSON_OPTION],
  run: lookup,
};

/** What was found; `result` is a join's word for it, `row` is there with OK alone. */
interface Found {
  readonly where: Coordinates | undefined;
  readonly result: ResultCode;
  readonly row: MessageRecord | undefined;
  readonly summary: ReactionSummary | undefined;
}

async function lookup({ settings, operands, options, print }: Invocation): Promise<ExitCode> {
  const tenant = options.get(TENANT_OPTION.flag);
  if (tenant === undefined) throw new UsageError('lookup needs --tenant');
  const tenantId = toTenantId(tenant, '--tenant');
  const messageId = toMessageId(operands[0] ?? '', 'MESSAGE_ID');
  const stores = await openExistingStores(settings, systemClock);
  try {
    const entry = await stores.writes.lookup(tenantId, messageId);
    const found = await look(stores, entry && { tenantId, ...entry }, messageId);
    const fields = fieldsOf(tenant, messageId, found);
    const asJson = options.has(JSON_OPTION.flag);
    if (asJson) print(JSON.stringify(fields));
    else if (found.where !== undefined) print(fieldTable('message', fields, systemClock.epochMs()));
    requireFound(found);
    return ExitCode.OK;
  } finally {
    await stores.close();
  }
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

function fieldsOf(tenant: string, messageId: MessageId, { where, result, row, summary }: Found): Fields {
  return {
    found: where !== undefined,
    result: resultName(result),
    tenant_id: tenant.toLowerCase(),
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
