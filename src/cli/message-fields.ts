/**
 * What a row of message_record and its reactions say, field by field with the names of proto/mailjoin.proto: as JSON for
 * machines, as a table for people. Of the content only its sizes, unless the opened body is given. Pure.
 */
import { bodyJson } from '../codec/join-json.js';
import { formatHex, formatUuid } from '../domain/ids.js';
import {
  effectiveState,
  type MessageRecord,
  MessageState,
  type ReactionSummary,
  RetentionClass,
} from '../domain/message.js';
import { textTable } from './text-table.js';

/** Undefined = the row has no such column; 64-bit numbers are texts. */
export type Fields = Readonly<Record<string, unknown>>;

export function recordFields(record: MessageRecord): Fields {
  const { lastActivityId, senderId, senderDeviceId, editedAtActivityId, retentionClass } = record;
  return {
    state: nameOf(MessageState, effectiveState(record)),
    recall_event_conversation_seq: record.recallEventSeq?.toString(),
    edited_at_activity_id: editedAtActivityId && formatHex(editedAtActivityId),
    last_activity_id: lastActivityId && formatHex(lastActivityId),
    created_at: String(record.createdAtMs),
    retention_class:
      retentionClass === undefined ? undefined : nameOf(RetentionClass, retentionClass).toLowerCase(),
    ttl_seconds: record.ttlSeconds,
    dek_id: record.dekId && { ...record.dekId },
    sender_id: senderId && formatUuid(senderId),
    sender_device_id: senderDeviceId && formatUuid(senderDeviceId),
    client_message_id: record.clientMessageId,
    message_type: record.messageType,
    custom_type: record.customType,
    schema_version: record.schemaVersion,
    reply_to_conversation_seq: record.replyToSeq?.toString(),
    payload_bytes: record.payload?.length,
    media_metadata_bytes: record.mediaMetadata?.length,
    mention_targets_bytes: record.mentionTargets?.length,
  };
}

export function summaryFields({ counts, version }: ReactionSummary): Fields {
  // fromEntries defines own properties, so that a key like __proto__ is just a key (B47).
  return { reactions: Object.fromEntries(counts), summary_version: String(version) };
}

const CONTENT_NAMES = /^(payload|media_metadata|mention_targets)(_text|_base64)?$/;

/** What a message says, of its body as the JSON form shows it: text where it is text, else base64. */
export function contentFields(body: Uint8Array): Fields {
  return Object.fromEntries(Object.entries(bodyJson(body)).filter(([name]) => CONTENT_NAMES.test(name)));
}

/** For people: one line a field, absent ones left out, times also as dates. `nowMs`: since 1970, when the row was read. */
export function fieldTable(heading: string, fields: Fields, nowMs: number): string {
  const rows = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, cellText(name, value, nowMs)]],
  );
  return textTable([heading, ''], rows);
}

function cellText(name: string, value: unknown, nowMs: number): string {
  if (name === 'created_at') return `${value} (${dateText(Number(value))})`;
  if (name === 'ttl_seconds') return `${value} (${dateText(nowMs + Number(value) * 1000)})`;
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([key, each]) => `${key} ${typeof each === 'object' ? JSON.stringify(each) : each}`)
    .join(', ');
}

function dateText(epochMs: number): string {
  const date = new Date(epochMs);
  // Rows of foreign writers may hold any number.
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString();
}

function nameOf(names: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(names).find(([, number]) => number === value)?.[0] ?? String(value);
}
