/** `mailjoin heads`: what conversation_head says of a conversation (R2). Its preview is content and stays sealed. */
import { MailjoinError } from '../domain/errors.js';
import { formatHex, formatUuid } from '../domain/ids.js';
import { type Command, CQL_SETTINGS, ExitCode, type Invocation, JSON_OPTION } from './command.js';
import { openExistingStores } from './stores.js';
import { systemClock } from './system-clock.js';
import { textTable } from './text-table.js';
import { typedConversationId, typedTenantId } from './typed-id.js';

export const headsCommand: Command = {
  name: 'heads',
  operands: 'TENANT CONVERSATION',
  operandCountMin: 2,
  operandCountMax: 2,
  summary: 'Show the head of a conversation: its latest and its earliest seq, and who wrote it.',
  settings: ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS],
  options: [JSON_OPTION],
  run: heads,
};

async function heads({ settings, operands, options, print }: Invocation): Promise<ExitCode> {
  const [tenant = '', conversation = ''] = operands;
  const tenantId = typedTenantId(tenant, 'TENANT');
  const conversationId = typedConversationId(conversation, 'CONVERSATION');
  const stores = await openExistingStores(settings, systemClock);
  try {
    const head = await stores.writes.readHead(tenantId, conversationId);
    if (head === undefined) throw new MailjoinError('MESSAGE_NOT_FOUND', 'the conversation has no head');
    const shown: Record<string, string | undefined> = {
      latest_conversation_seq: head.latestSeq?.toString(),
      earliest_available_conversation_seq: head.earliestAvailableSeq?.toString(),
      last_message_id: head.lastMessageId && formatHex(head.lastMessageId),
      last_activity_id: head.lastActivityId && formatHex(head.lastActivityId),
      last_sender_id: head.lastSenderId && formatUuid(head.lastSenderId),
      preview_bytes: head.preview?.length.toString(),
      member_count: head.memberCount?.toString(),
      updated_at: head.updatedAtMs?.toString(),
      fencing_epoch: head.fencingEpoch?.toString(),
      head_version: head.headVersion?.toString(),
    };
    if (options.has(JSON_OPTION.flag)) print(JSON.stringify(shown));
    else
      print(
        textTable(
          ['head', ''],
          Object.entries(shown).map(([name, value]) => [name, value ?? '']),
        ),
      );
    return ExitCode.OK;
  } finally {
    await stores.close();
  }
}
