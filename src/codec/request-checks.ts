/**
 * What the requests share that are about one thing (a page, a message, a look-up): what is wrong with such a question is
 * an error of the whole. Each throws the coded error that it is named for.
 */
import { MailjoinError } from '../domain/errors.js';
import {
  type ConversationId,
  conversationIdOf,
  type MessageId,
  messageIdOf,
  type TenantId,
  tenantIdOf,
  type UserId,
  userIdOf,
} from '../domain/ids.js';
import { CONTRACT_VERSION } from './join-request.js';
import type { Dialect } from './loose-request.js';
import { WireError, WireReader } from './wire.js';

/** Gives every field to `readField`, which puts it into `fields` or skips it. REQUEST_MALFORMED where there is no message. */
export function decodeFields<T>(
  bytes: Uint8Array,
  fields: T,
  readField: (reader: WireReader, tag: number, fields: T) => void,
): T {
  const reader = new WireReader(bytes);
  try {
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) readField(reader, tag, fields);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw malformed(error.message, error);
  }
  return fields;
}

/** CONTRACT_VERSION; 0 means 1. */
export function checkVersion(version: bigint): void {
  if (version !== 0n && version !== BigInt(CONTRACT_VERSION)) {
    throw new MailjoinError('CONTRACT_VERSION', String(version));
  }
}

/** TENANT_MISSING. */
export function requiredTenant(bytes: Uint8Array | undefined): TenantId {
  const tenantId = bytes && tenantIdOf(bytes);
  if (tenantId === undefined) throw new MailjoinError('TENANT_MISSING');
  return tenantId;
}

/** REQUEST_MALFORMED. */
export function requiredConversation(bytes: Uint8Array | undefined): ConversationId {
  const conversationId = bytes && conversationIdOf(bytes);
  if (conversationId === undefined) throw malformed('no conversation_id of 16 bytes');
  return conversationId;
}

/** REQUEST_MALFORMED. */
export function requiredMessage(bytes: Uint8Array | undefined): MessageId {
  const messageId = bytes && messageIdOf(bytes);
  if (messageId === undefined) throw malformed('no message_id of 16 bytes');
  return messageId;
}

/** REQUEST_MALFORMED when there is one of another length. */
export function optionalUser(bytes: Uint8Array | undefined, name: string): UserId | undefined {
  const userId = bytes && userIdOf(bytes);
  if (bytes !== undefined && userId === undefined) throw malformed(`${name} has not 16 bytes`);
  return userId;
}

/** An unsigned number of a self-describing media type; absent is 0. REQUEST_MALFORMED. */
export function unsignedOf(
  sent: { readonly [name: string]: unknown },
  name: string,
  dialect: Dialect,
): bigint {
  const integer = sent[name] === undefined ? 0n : dialect.integer(sent[name]);
  if (integer === undefined || integer < 0n) throw malformed(`${name} is no unsigned integer`);
  return integer;
}

/** 0 asks for the default; more than the maximum is lowered to it. */
export function lowered(value: bigint, whenZero: number, max: number): number {
  if (value === 0n) return whenZero;
  return value > BigInt(max) ? max : Number(value);
}

export function malformed(detail: string, cause?: unknown): MailjoinError {
  return new MailjoinError('REQUEST_MALFORMED', detail, cause === undefined ? undefined : { cause });
}
