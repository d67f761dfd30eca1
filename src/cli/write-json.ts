/**
 * What people write to the writing commands, as JSON with the names of proto/mailjoin.proto: one object is one message,
 * or one change of one. 64-bit numbers are decimal texts (or numbers below 2^53), uuids are text, message ids are 32
 * hexadecimal digits, bytes are name_text or name_base64. What `--json` prints names its message, so it can be given to
 * the commands that change one: the fields of an acknowledgement that they do not need are passed over. MESSAGE_INVALID.
 */
import { MailjoinError } from '../domain/errors.js';
import { RetentionClass } from '../domain/message.js';
import { isSeq } from '../domain/seq.js';
import type { EditRequest } from '../write/edit.js';
import type { LiftedClass } from '../write/holds.js';
import type { MessageToCommit } from '../write/message-to-commit.js';
import type { ReactionRequest } from '../write/reactions.js';
import type { RecallRequest } from '../write/recall.js';
import type { MessageTarget } from '../write/row-change.js';
import { toConversationId, toMessageId, toTenantId, toUserId } from './caller-ids.js';
import { mediaFromJson, mentionsFromJson } from './content-json.js';
import { type JsonField, JsonFields } from './json-fields.js';
import {
  CLASSES,
  COMMIT_FIELDS,
  EDIT_FIELDS,
  LIFT_FIELDS,
  REACTION_FIELDS,
  RECALL_FIELDS,
  TARGET_FIELDS,
} from './write-fields.js';

/** What the output of one command says beside the target, and the input of the next may still have. */
const PASSED_OVER = [
  'line',
  'client_message_id',
  'created_at',
  'event_conversation_seq',
  'last_activity_id',
  'summary_version',
  'counts',
];

/** `newId` names a message that has no client_message_id; a retry of it must then say it. */
export function commitFromJson(value: unknown, newId: () => string): MessageToCommit {
  const fields = fieldsOf(value, COMMIT_FIELDS);
  const device = fields.text('sender_device_id');
  const media = fields.value('media_metadata');
  const mentions = fields.value('mention_targets');
  return {
    tenantId: toTenantId(fields.requiredText('tenant_id')),
    conversationId: toConversationId(fields.requiredText('conversation_id')),
    senderId: toUserId(fields.requiredText('sender_id'), 'sender_id'),
    senderDeviceId: device === undefined ? undefined : toUserId(device, 'sender_device_id'),
    clientMessageId: fields.text('client_message_id') ?? newId(),
    messageType: fields.integer('message_type'),
    customType: fields.text('custom_type'),
    schemaVersion: fields.integer('schema_version'),
    payload: fields.requiredBytes('payload'),
    mediaMetadata: media === undefined ? undefined : mediaFromJson(media),
    mentionTargets: mentions === undefined ? undefined : mentionsFromJson(mentions),
    replyToSeq: fields.bigint('reply_to_conversation_seq'),
    retentionClass: classOf(fields),
    preview: fields.bytes('preview'),
  };
}

export function recallFromJson(value: unknown): RecallRequest {
  const fields = fieldsOf(value, RECALL_FIELDS, PASSED_OVER);
  return { ...targetOf(fields), placeholder: fields.bytes('placeholder') };
}

export function editFromJson(value: unknown): EditRequest {
  const fields = fieldsOf(value, EDIT_FIELDS, PASSED_OVER);
  return { ...targetOf(fields), payload: fields.requiredBytes('payload'), preview: fields.bytes('preview') };
}

/** reaction_key, or take_back: true. */
export function reactionFromJson(value: unknown): ReactionRequest {
  const fields = fieldsOf(value, REACTION_FIELDS, PASSED_OVER);
  const reactionKey = fields.text('reaction_key');
  const takesBack = fields.boolean('take_back') === true;
  if (takesBack === (reactionKey !== undefined)) {
    throw new MailjoinError('MESSAGE_INVALID', 'either reaction_key or take_back: true must be given');
  }
  return { ...targetOf(fields), userId: toUserId(fields.requiredText('user_id')), reactionKey };
}

export function holdFromJson(value: unknown): MessageTarget {
  return targetOf(fieldsOf(value, TARGET_FIELDS, PASSED_OVER));
}

export interface LiftRequest extends MessageTarget {
  readonly retentionClass: LiftedClass;
}

/** The table does not remember which class a held row had: it is said here, default where it is not. */
export function liftFromJson(value: unknown): LiftRequest {
  const fields = fieldsOf(value, LIFT_FIELDS, PASSED_OVER);
  const retentionClass = classOf(fields) ?? RetentionClass.DEFAULT;
  if (retentionClass === RetentionClass.COMPLIANCE_HOLD) {
    throw fields.problem('retention_class', 'is the hold that is to be lifted');
  }
  return { ...targetOf(fields), retentionClass };
}

function fieldsOf(
  value: unknown,
  table: readonly JsonField[],
  passedOver: readonly string[] = [],
): JsonFields {
  const fields = new JsonFields(value, [...table.flatMap(({ names }) => names), ...passedOver]);
  fields.requireAll(table);
  return fields;
}

function targetOf(fields: JsonFields): MessageTarget {
  const seq = fields.bigint('conversation_seq');
  if (seq === undefined) throw fields.problem('conversation_seq', 'is missing');
  if (!isSeq(seq)) throw new MailjoinError('SEQ_RANGE', 'conversation_seq');
  return {
    tenantId: toTenantId(fields.requiredText('tenant_id')),
    conversationId: toConversationId(fields.requiredText('conversation_id')),
    seq,
    messageId: toMessageId(fields.requiredText('message_id')),
  };
}

function classOf(fields: JsonFields): (typeof RetentionClass)[keyof typeof RetentionClass] | undefined {
  const name = fields.text('retention_class');
  if (name === undefined) return undefined;
  const value = CLASSES.get(name);
  if (value === undefined)
    throw fields.problem('retention_class', `is none of ${[...CLASSES.keys()].join(', ')}`);
  return value;
}
