/**
 * The fields of the JSON that the writing commands take, one table for each: what the parser (write-json.ts) accepts and
 * asks for, and what the help says, so that neither lags behind.
 */
import {
  CLIENT_MESSAGE_ID_BYTES_MAX,
  CUSTOM_TYPE_BYTES_MAX,
  PREVIEW_BYTES_MAX,
  REACTION_KEY_BYTES_MAX,
  THUMBNAIL_BYTES_MAX,
} from '../domain/limits.js';
import { RetentionClass } from '../domain/message.js';
import { MEDIA_NAMES, MENTION_NAMES } from './content-json.js';
import type { JsonField } from './json-fields.js';

/** Names of retention classes as they are written, with what the rows hold. */
export const CLASSES: ReadonlyMap<string, (typeof RetentionClass)[keyof typeof RetentionClass]> = new Map(
  Object.entries(RetentionClass).map(([name, value]) => [name.toLowerCase(), value]),
);

function required(name: string | readonly string[], meaning: string): JsonField {
  return { names: [name].flat(), isRequired: true, meaning };
}

function optional(name: string | readonly string[], meaning: string): JsonField {
  return { names: [name].flat(), isRequired: false, meaning };
}

const TENANT = required('tenant_id', 'Whose message it is: a uuid.');
const CONVERSATION = required('conversation_id', 'A uuid.');
const PAYLOAD_NAMES = ['payload_text', 'payload_base64'];
const PREVIEW = optional(
  ['preview_text', 'preview_base64'],
  `What the head shows while this is the last message, at most ${PREVIEW_BYTES_MAX} bytes. Unless given, nothing.`,
);

export const COMMIT_FIELDS: readonly JsonField[] = [
  TENANT,
  CONVERSATION,
  required('sender_id', 'Who sends it: a uuid.'),
  required(PAYLOAD_NAMES, 'What the message says, as text or as bytes in base64.'),
  optional(
    'client_message_id',
    `Names the message among its sender’s for two hours: a retry says the same one. At most ${CLIENT_MESSAGE_ID_BYTES_MAX} bytes. Unless given, one is made.`,
  ),
  PREVIEW,
  optional(
    'retention_class',
    `How long it is kept: ${[...CLASSES.keys()].join(', ')}. Unless given, default.`,
  ),
  optional('sender_device_id', 'A uuid.'),
  optional('message_type', 'A number from -128 to 127.'),
  optional('custom_type', `A text of at most ${CUSTOM_TYPE_BYTES_MAX} bytes.`),
  optional('schema_version', 'A number of 32 bits.'),
  optional('reply_to_conversation_seq', 'The seq of the message that it answers.'),
  optional(
    'media_metadata',
    `An object with ${MEDIA_NAMES.join(', ')}; object_id is required, thumbnail (at most ${THUMBNAIL_BYTES_MAX} bytes) and checksum are base64.`,
  ),
  optional('mention_targets', `An object with ${MENTION_NAMES.join(', ')}: a list of uuids, true or false.`),
];

export const TARGET_FIELDS: readonly JsonField[] = [
  TENANT,
  CONVERSATION,
  required('conversation_seq', 'Its place in the conversation, as commit tells it.'),
  required('message_id', '32 hexadecimal digits, as commit tells them.'),
];

export const RECALL_FIELDS: readonly JsonField[] = [
  ...TARGET_FIELDS,
  optional(['placeholder_text', 'placeholder_base64'], 'What the head’s preview shows instead.'),
];

export const EDIT_FIELDS: readonly JsonField[] = [
  ...TARGET_FIELDS,
  required(PAYLOAD_NAMES, 'What the message says from now on, as text or as bytes in base64.'),
  PREVIEW,
];

export const REACTION_FIELDS: readonly JsonField[] = [
  ...TARGET_FIELDS,
  required('user_id', 'Who reacts: a uuid.'),
  required(
    ['reaction_key', 'take_back'],
    `The reaction, such as 👍, at most ${REACTION_KEY_BYTES_MAX} bytes; or true, to take the user’s reaction back.`,
  ),
];

export const LIFT_FIELDS: readonly JsonField[] = [
  ...TARGET_FIELDS,
  optional(
    'retention_class',
    'What it is kept by from now on: default, ephemeral_24h or tenant_custom. Unless given, default.',
  ),
];
