/**
 * `mailjoin commit | recall | edit | react | hold place | hold lift`: the write side for people (R5.1, R5.4, R5.5, R3.1).
 */
import { randomUUID } from 'node:crypto';
import { formatHex, formatUuid } from '../domain/ids.js';
import type { EventAcknowledgement } from '../write/recall.js';
import type { Command } from './command.js';
import { itemCommand, targetRow } from './item-command.js';
import type { Row } from './item-output.js';
import {
  COMMIT_FIELDS,
  EDIT_FIELDS,
  LIFT_FIELDS,
  REACTION_FIELDS,
  RECALL_FIELDS,
  TARGET_FIELDS,
} from './write-fields.js';
import {
  commitFromJson,
  editFromJson,
  holdFromJson,
  liftFromJson,
  reactionFromJson,
  recallFromJson,
} from './write-json.js';

export const writeCommands: readonly Command[] = [
  itemCommand({
    name: 'commit',
    summary: 'Commit messages from JSON; a conversation begins with its first message.',
    takesOperands: false,
    fields: COMMIT_FIELDS,
    parse: (value) => commitFromJson(value, randomUUID),
    perform: (writer, message) => writer.commit(message),
    itemRow: ({ tenantId, conversationId, clientMessageId }) => ({
      tenant_id: formatUuid(tenantId),
      conversation_id: formatUuid(conversationId),
      client_message_id: clientMessageId,
    }),
    resultRow: ({ seq, messageId, createdAtMs }) => ({
      conversation_seq: String(seq),
      message_id: formatHex(messageId),
      created_at: String(createdAtMs),
    }),
    done: 'committed',
  }),
  itemCommand({
    name: 'recall',
    summary: 'Recall messages: their content is shown to nobody any more.',
    takesOperands: true,
    fieldFlags: [
      {
        flag: 'placeholder',
        field: 'placeholder_text',
        placeholder: 'text',
        meaning: 'What the head’s preview shows instead; unless given, none.',
      },
    ],
    fields: RECALL_FIELDS,
    parse: recallFromJson,
    perform: (writer, request) => writer.recall(request),
    itemRow: targetRow,
    resultRow: eventRow,
    done: 'recalled',
  }),
  itemCommand({
    name: 'edit',
    summary: 'Replace the payload of messages; old versions are not kept.',
    takesOperands: true,
    fieldFlags: [
      { flag: 'text', field: 'payload_text', placeholder: 'text', meaning: 'The new payload.' },
      {
        flag: 'preview',
        field: 'preview_text',
        placeholder: 'text',
        meaning: 'The head’s preview while this is the last message; unless given, none.',
      },
    ],
    fields: EDIT_FIELDS,
    parse: editFromJson,
    perform: (writer, request) => writer.edit(request),
    itemRow: targetRow,
    resultRow: eventRow,
    done: 'edited',
  }),
  itemCommand({
    name: 'react',
    summary: 'Set or take back one user’s reaction to messages.',
    takesOperands: true,
    fieldFlags: [
      { flag: 'user', field: 'user_id', placeholder: 'uuid', meaning: 'Who reacts.' },
      {
        flag: 'key',
        field: 'reaction_key',
        placeholder: 'text',
        meaning: 'The reaction, such as 👍; it replaces the user’s former one.',
      },
      { flag: 'take-back', field: 'take_back', meaning: 'Take the user’s reaction back.' },
    ],
    fields: REACTION_FIELDS,
    parse: reactionFromJson,
    perform: (writer, request) => writer.react(request),
    itemRow: (request) => ({ ...targetRow(request), user_id: formatUuid(request.userId) }),
    resultRow: ({ summaryVersion, counts }) => ({
      summary_version: String(summaryVersion),
      // fromEntries defines own properties, so that a key like __proto__ is just a key (B47).
      counts: Object.fromEntries(counts),
    }),
    done: 'reacted',
  }),
  itemCommand({
    name: 'hold place',
    summary: 'Keep messages from expiring until the hold is lifted.',
    takesOperands: true,
    fields: TARGET_FIELDS,
    parse: holdFromJson,
    perform: async (writer, target) => {
      await writer.placeHold(target);
      return {};
    },
    itemRow: targetRow,
    resultRow: () => ({}),
    done: 'held',
  }),
  itemCommand({
    name: 'hold lift',
    summary: 'Let held messages expire by the policy of a class; one whose time is over is gone in a second.',
    takesOperands: true,
    fieldFlags: [
      {
        flag: 'class',
        field: 'retention_class',
        placeholder: 'name',
        meaning:
          'default, ephemeral_24h or tenant_custom: the row does not remember it. Unless given, default.',
      },
    ],
    fields: LIFT_FIELDS,
    parse: liftFromJson,
    perform: async (writer, { retentionClass, ...target }) => {
      await writer.liftHold(target, retentionClass);
      return {};
    },
    itemRow: targetRow,
    resultRow: () => ({}),
    done: 'lifted',
  }),
];

function eventRow({ eventSeq, lastActivityId }: EventAcknowledgement): Row {
  return { event_conversation_seq: String(eventSeq), last_activity_id: formatHex(lastActivityId) };
}
